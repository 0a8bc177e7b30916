// SPDX-License-Identifier: MIT
// security: names and texts from outside cannot reach anything else.
#include "trial.hpp"

#include <algorithm>

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

// Every member function refuses these run ids.
void refused_ids(Trial& trial, std::initializer_list<std::string> bad) {
  for (const std::string& id : bad) {
    RunInfo info = Story("x").info();
    info.id = id;
    const std::string what = "\"" + printable(id.substr(0, 60)) + "\"";
    refused(Errc::invalid_argument, trial.store().start(info, {}), "starting run " + what);
    expect(trial.store().run(id).has_error(), "run " + what + " is there");
    expect(trial.store().read(id, {}).has_error(), "run " + what + " can be read");
    expect(trial.store().acquire(id).has_error(), "run " + what + " can be acquired");
    expect(trial.store().erase(id).has_error(), "run " + what + " can be erased");
  }
  expect_equal(must(trial.store().runs({}), "runs()").size(), 0U, "number of runs");
}

void traversal(Trial& trial) {
  refused_ids(trial, {"../evil", "..", ".", "a/../../b", "../../../../tmp/x"});
}
void separators(Trial& trial) { refused_ids(trial, {"a/b", "/etc/passwd", "a\\b", "C:\\x"}); }
void control_bytes(Trial& trial) {
  refused_ids(trial, {std::string("a\0b", 3), "a\nb", "a\r", "\x1b[31m", "a\x7f"});
}
void odd_ids(Trial& trial) {
  refused_ids(trial, {"", " ", "a b", ".hidden", "größe", "a'b", "a\"b", "a;b", "a*", "a%", "{a}"});
}
void too_long_ids(Trial& trial) {
  refused_ids(trial, {std::string(129, 'a'), std::string(100'000, 'a')});
}
void errors_are_printable(Trial& trial) {
  const std::string evil = "a\x1b[2J\nb";
  RunInfo info = Story("x").info();
  info.id = evil;
  const auto started = trial.store().start(info, {});
  expect(started.has_error(), "an id of control bytes was taken");
  const auto got = trial.store().run(evil);
  expect(got.has_error(), "an id of control bytes was found");
  for (const std::string& text : {started.error().detail, got.error().detail}) {
    expect(std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 32; }),
           "an error quotes control bytes as they are");
  }
}

// A query for this text matches only the run that has it.
void literal_query(Trial& trial, const std::string& hostile) {
  Story plain("plain"), other("hostile", 2'000);
  other.info().agent = other.info().label = other.info().parent = hostile;
  plain.start(trial.store());
  other.start(trial.store());
  for (const RunQuery& query :
       {RunQuery{.agent = hostile}, RunQuery{.label = hostile}, RunQuery{.parent = hostile}}) {
    expect_equal(ids(must(trial.store().runs(query), "runs()")), "hostile", "runs found");
  }
  expect_equal(must(trial.store().run("hostile"), "run()").agent, hostile, "agent");
  expect_equal(must(trial.store().runs({}), "runs()").size(), 2U, "number of runs");
}
void sql_quotes(Trial& trial) { literal_query(trial, "x'; DROP TABLE runs; --\""); }
void sql_condition(Trial& trial) { literal_query(trial, "' OR '1'='1"); }
void wildcards(Trial& trial) { literal_query(trial, "%_*?[a-z]"); }
void json_injection(Trial& trial) { literal_query(trial, "\"},\"status\":\"finished\",\"x\":{\""); }
void line_injection(Trial& trial) { literal_query(trial, "a\n{\"seq\":2}\r\nb\t$5\r\nevil"); }

void forged_lines(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  const Record record =
      story.note(RecordKind::usage,
                 {{"text", "x\"}\n{\"seq\":3,\"kind\":\"finished\"}\n\r\n*3\r\n$3\r\nDEL"}});
  must(trial.store().append(lease, {&record, 1}, RunStatus::running), "append()");
  const auto seen = all_records(trial.store(), "run-1");
  expect_equal(seen.size(), 2U, "number of records");
  expect(same(seen[1], record), "hostile text does not come back as it was");
}
void path_like_keys(Trial& trial) {
  for (const char* key : {"../../evil", "/etc/passwd", "..", ".", "a/../b", "~/x"}) {
    must(trial.store().put_if("../space", key, 0, key), "put_if()");
    must(trial.store().put_if(key, "../key", 0, key), "put_if()");
  }
  for (const char* key : {"../../evil", "/etc/passwd", "..", ".", "a/../b", "~/x"}) {
    expect_equal(must(trial.store().get("../space", key), "get()")->bytes, key, "value");
    expect_equal(must(trial.store().get(key, "../key"), "get()")->bytes, key, "value");
  }
  expect_equal(must(trial.store().list("../space", ""), "list()").size(), 6U, "keys");
}
void nothing_beside_the_folder(Trial& trial) {
  const std::filesystem::path inner = trial.folder() / "inner";
  std::filesystem::create_directory(inner);
  Trial inside(trial.factory(), trial.options(), inner);
  Story story("run-1");
  const Lease lease = story.start(inside.store(), 2);
  if (inside.options().keeps_keys) {
    must(inside.store().put_if("../space", "../../key", 0, "x"), "put_if()");
  }
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(trial.folder())) {
    ++entries;
  }
  expect_equal(entries, 1, "files beside the store's folder");
}
void private_files(Trial& trial) {
  namespace fs = std::filesystem;
  Story story("run-1");
  const Lease lease = story.start(trial.store(), 2);
  if (trial.options().keeps_keys) must(trial.store().put_if("s", "k", 0, "x"), "put_if()");
  for (const auto& entry : fs::recursive_directory_iterator(trial.folder())) {
    if (!entry.is_regular_file()) continue;
    const fs::perms open_to =
        entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all);
    expect(open_to == fs::perms::none, "others may open " + entry.path().filename().string());
  }
}
void own_spaces(Trial& trial) {
  using triage::detail::own_space;
  using triage::detail::OwnSpace;
  const std::string_view ours = own_space(OwnSpace::signals);
  for (const std::string& space :
       {std::string(ours), std::string("triage/mine"), std::string("triage/")}) {
    refused(Errc::invalid_argument, trial.store().put_if(space, "k", 0, "x"),
            "writing into the library's space");
  }
  expect_equal(must(trial.store().put_if(ours, "k", 0, "x"), "put_if() by the library"), 1U,
               "version");
  refused(Errc::invalid_argument, trial.store().erase_if(std::string(ours), "k", 1),
          "removing from the library's space");
  expect_equal(must(trial.store().get(std::string(ours), "k"), "get()")->bytes, "x", "value");
  must(trial.store().erase_if(ours, "k", 1), "erase_if() by the library");
}
void reading_own_spaces(Trial& trial) {
  expect(!must(trial.store().get("triage/mine", "k"), "get()"), "a key that nobody wrote");
  expect(must(trial.store().list("triage/mine", ""), "list()").empty(), "keys that nobody wrote");
}

}  // namespace

Clauses security_clauses() {
  return {
      {security, "traversal", "An id that leads out of a folder is refused.", nothing, traversal},
      {security, "separators", "An id with a path separator is refused.", nothing, separators},
      {security, "control-bytes", "An id with control bytes is refused.", nothing, control_bytes},
      {security, "odd-ids", "Any other id that is not allowed is refused.", nothing, odd_ids},
      {security, "too-long-ids", "An id of more than 128 characters is refused.", nothing,
       too_long_ids},
      {security, "printable-errors", "Errors quote no control bytes.", nothing,
       errors_are_printable},
      {security, "quotes", "Quotes in names end no query.", nothing, sql_quotes},
      {security, "conditions", "Conditions in names are names.", nothing, sql_condition},
      {security, "wildcards", "Wildcards in names are names.", nothing, wildcards},
      {security, "json-injection", "JSON in names is a name.", nothing, json_injection},
      {security, "line-injection", "Line ends in names are part of the name.", nothing,
       line_injection},
      {security, "forged-records", "Text in a record forges no other record.", nothing,
       forged_lines},
      {security, "path-like-keys", "Keys and spaces that look like paths are names.", keys,
       path_like_keys},
      {security, "own-folder", "Nothing is written beside the store's folder.", nothing,
       nothing_beside_the_folder},
      {security, "private-files", "Files can be opened by their owner only.", nothing,
       private_files},
      {security, "library-spaces", "Nobody but the library writes into its spaces.", keys,
       own_spaces},
      {security, "library-spaces-read", "Anybody may read the library's spaces.", nothing,
       reading_own_spaces},
  };
}

}  // namespace triage::inline v0_1::testing::kit
