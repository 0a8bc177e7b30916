// SPDX-License-Identifier: MIT
// `triage correct` and `triage train`: from a mislabelled run to a better model.
#include "cli/stores.hpp"
#include "triage/corrections.hpp"

#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

// Eight origins that report the same two failures in nearly the same words.
std::string make_corpus(const TempFolder& folder) {
  std::filesystem::create_directory(folder.file("corpus"));
  std::ofstream file(folder.file("corpus") + "/rows.jsonl");
  const auto row = [&](const std::string& text, const std::string& origin,
                       const std::string& label) {
    file << Json{{"text", text}, {"origin", origin}, {"label", label}, {"kind", "written"}}.dump()
         << "\n";
  };
  for (const std::string origin : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    row("peer " + origin + " reset the connection", origin, "external_fault");
    row("the request to " + origin + " timed out", origin, "timeout");
    row("nothing to say of " + origin, origin, "unknown");
    row("the flurb of order " + origin + " was shipped", origin, "unknown");
  }
  return folder.file("corpus");
}

void add_flurbs(const std::string& path) {
  for (const std::string what : {"order", "basket", "route", "plan", "table", "letter", "window",
                                 "garden", "lamp", "bottle", "ticket", "bridge"}) {
    REQUIRE_OK(Corrections(path).append({.failure = {.text = "flurb grommet refuses the " + what},
                                         .type = FailureType::refused,
                                         .origin = "mine"}));
  }
}

}  // namespace

TEST_CASE("correct appends the failure of a run with its label", "[cli][correct]") {
  const TempFolder folder;
  make_store(folder.file("s.db"));
  const std::string path = folder.file("c.jsonl");
  const Printed printed =
      triage_command({"correct", "good", "--type", "quota_exhausted", "--reason", "monthly_limit",
                      "--store", folder.file("s.db"), "--corrections", path, "--who", "ana"});
  CHECK(printed.error == "");
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out, ContainsSubstring("was taken for external_fault and is quota_exhausted"));
  const auto reading = Corrections(path).read();
  REQUIRE_OK(reading);
  REQUIRE(reading.value().rows.size() == 1);
  const Correction& one = reading.value().rows[0].correction;
  CHECK(one.failure.text == "HTTP 429: too many requests");
  CHECK(one.failure.http_status == 429);
  CHECK(one.type == FailureType::quota_exhausted);
  CHECK(one.given == FailureType::external_fault);
  CHECK(one.reason == "monthly_limit");
  CHECK(one.origin == "crawler");
  CHECK(one.who == "ana");
  CHECK(one.run == "good");
  CHECK(one.when > WallTime{});
}

TEST_CASE("correct says what is wrong with its arguments, and adds nothing", "[cli][correct]") {
  const TempFolder folder;
  const std::string store = folder.file("s.db");
  make_store(store);
  const std::string path = folder.file("c.jsonl");
  const auto correct = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "correct");
    arguments.insert(arguments.end(), {"--corrections", path});
    return triage_command(arguments);
  };
  const Printed type = correct({"good", "--type", "broken", "--store", store});
  CHECK(type.status == 2);
  CHECK_THAT(type.error, ContainsSubstring("\"broken\"; allowed are wrong_tool_called"));
  const Printed reason =
      correct({"good", "--type", "crashed", "--store", store, "--reason", "Bad Reason"});
  CHECK(reason.status == 2);
  CHECK_THAT(reason.error, ContainsSubstring("--reason is \"Bad Reason\"; allowed are a-z"));
  const Printed run = correct({"bad", "--type", "crashed", "--store", store});
  CHECK(run.status == 1);
  CHECK_THAT(run.error, ContainsSubstring("bad"));
  const Printed failure =
      correct({"good", "--type", "crashed", "--store", store, "--failure", "2"});
  CHECK(failure.status == 1);
  CHECK_THAT(failure.error, ContainsSubstring("allowed are 1 to 1"));
  const Printed no_store =
      correct({"good", "--type", "crashed", "--store", folder.file("none.db")});
  CHECK(no_store.status == 1);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("train learns from corrections, reports the gain, and classify uses its model",
          "[cli][correct]") {
  const TempFolder folder;
  const std::string corpus = make_corpus(folder);
  const std::string path = folder.file("c.jsonl");
  add_flurbs(path);
  std::ofstream(path, std::ios::app) << R"({"text": "x", "origin": "a"})"
                                     << "\n";
  const auto train = [&](const std::string& out) {
    return triage_command({"train", "--corrections", path, "--corpus", corpus, "--folds", "3",
                           "--json", "--out", folder.file(out)});
  };
  const Printed printed = train("one.bin");
  CHECK(printed.status == 4);
  CHECK_THAT(printed.error, ContainsSubstring("line 13: has no label; allowed are"));
  const Json report = json_of(printed);
  CHECK(report["corrections"] == 12);
  CHECK(report["corpus_rows"] == 32);
  CHECK(report["unreadable_lines"] == 1);
  CHECK(report["corrections_by_wording"]["before"]["right"] == 0);
  CHECK(report["corrections_by_wording"]["after"]["right"] >= 6);
  CHECK(report["corpus"]["after"]["rows"] == 32);
  static_cast<void>(train("two.bin"));
  CHECK(read_text(folder.file("one.bin")) == read_text(folder.file("two.bin")));
  CHECK_FALSE(std::filesystem::exists(folder.file("one.bin.unfinished")));

  const auto classify = [&](const std::string& model) {
    return run_program({"/bin/sh", "-c",
                        std::string("echo '{\"error\": \"flurb grommet refuses the table\"}' | '") +
                            TRIAGE_COMMAND + "' classify --model '" + folder.file(model) + "'"});
  };
  CHECK(Json::parse(classify("one.bin").out)["type"] == "refused");
  std::string bytes = read_text(folder.file("one.bin"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  std::ofstream(folder.file("flipped.bin"), std::ios::binary) << bytes;
  const Printed refused = classify("flipped.bin");
  CHECK(refused.status == 3);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.error, ContainsSubstring("flipped.bin"));
}

TEST_CASE("train says what it did, and that no model was written", "[cli][correct]") {
  const TempFolder folder;
  const std::string path = folder.file("c.jsonl");
  add_flurbs(path);
  const Printed printed = triage_command(
      {"train", "--corrections", path, "--corpus", make_corpus(folder), "--folds", "2"});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out, ContainsSubstring("12 corrections (12 wordings) of 9 origins"));
  CHECK_THAT(printed.out, ContainsSubstring("the origins of 2 groups in turn"));
  CHECK_THAT(printed.out, ContainsSubstring("No model was written"));
}

TEST_CASE("train says which file it needs", "[cli][correct]") {
  const TempFolder folder;
  const Printed none =
      triage_command({"train", "--corrections", folder.file("none"), "--corpus", "/nowhere"});
  CHECK(none.status == 1);
  CHECK_THAT(none.error, ContainsSubstring("none"));
  const std::string path = folder.file("c.jsonl");
  std::ofstream(path) << "\n";
  CHECK(triage_command({"train", "--corrections", path}).status == 2);
  add_flurbs(path);
  const Printed corpus = triage_command({"train", "--corrections", path, "--corpus", "/nowhere"});
  CHECK(corpus.status == 1);
  CHECK_THAT(corpus.error, ContainsSubstring("--corpus"));
  const Printed out =
      triage_command({"train", "--corrections", path, "--corpus", make_corpus(folder), "--folds",
                      "2", "--out", "/nowhere/model.bin"});
  CHECK(out.status == 9);
  CHECK_THAT(out.error, ContainsSubstring("/nowhere/model.bin"));
}
