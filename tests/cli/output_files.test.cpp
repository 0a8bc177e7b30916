// SPDX-License-Identifier: MIT
// Files that options name are not written over what somebody needs.
#include "cli/stores.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"
#include "triage/corrections.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The command ends with `status`, says why, and the file stays as it was.
void check_kept(const std::string& path, const std::vector<std::string>& words,
                const std::string& why, int status = 2) {
  INFO(path << " " << words.front());
  const std::string before = read_text(path);
  const Printed refused = triage_command(words);
  CHECK(refused.status == status);
  CHECK_THAT(refused.error, ContainsSubstring(why));
  CHECK(read_text(path) == before);
}

std::string make_experiment(const TempFolder& folder) {
  write_text(folder.file("policy.json"), R"({"default": "abort_run"})");
  write_text(folder.file("e.json"), R"({
    "experiment": "coins", "seeds": 2, "agent": {"steps": 1}, "policies": ["policy.json"],
    "faults": [{"tool trouble": [{"trouble": "wrong_tool_called", "share": 0.5}]}]})");
  return folder.file("e.json");
}

std::string make_corrections(const TempFolder& folder) {
  const std::string corrections = folder.file("c.jsonl");
  std::filesystem::create_directory(folder.file("corpus"));
  std::ofstream rows(folder.file("corpus/rows.jsonl"));
  for (const std::string origin : {"a", "b", "c"}) {
    REQUIRE_OK(Corrections(corrections)
                   .append({.failure = {.text = "flurb refuses the table of " + origin},
                            .type = FailureType::refused,
                            .origin = "mine"}));
    for (const std::string type : {"timeout", "unknown"}) {
      rows << show({{"text", type + " of " + origin},
                    {"origin", origin},
                    {"label", type},
                    {"kind", "written"}})
           << "\n";
    }
  }
  return corrections;
}

}  // namespace

TEST_CASE("no command writes its file over a store", "[cli][output]") {
  const TempFolder folder;
  const std::string store = folder.file("runs.db");
  make_store(store);
  const std::string experiment = make_experiment(folder);
  const std::string corrections = make_corrections(folder);
  const std::string what = "which is a SQLite database";
  check_kept(store, {"chaos", "--record", store, "--", "true"}, what);
  for (const char* option : {"--html", "--svg"}) {
    check_kept(store, {"experiment", experiment, "--store", folder.file("s.db"), option, store},
               std::string(option) + " is \"" + store + "\", " + what);
  }
  check_kept(
      store,
      {"train", "--corrections", corrections, "--corpus", folder.file("corpus"), "--out", store},
      what);
  check_kept(store,
             {"correct", "good", "--type", "timeout", "--store", store, "--corrections", store},
             what);
  CHECK_FALSE(std::filesystem::exists(folder.file("s.db")));
  for (const std::string ending : {"-wal", "-shm", "-journal"}) {
    const std::string log = store + ending;
    const bool made = !std::filesystem::exists(log);
    const std::vector<std::string> words{"checkpoint", "export", store, "--out", log};
    check_kept(log, words, "belongs to a SQLite database");
    if (made) CHECK_FALSE(std::filesystem::exists(log));
  }
  CHECK(triage_command({"checkpoint", "export", store, "--out", folder.file("other-wal")}).status ==
        0);
  // One of JSON files.
  const std::string lines = folder.file("runs.jsonl");
  const std::string files = "file:" + folder.file("files");
  REQUIRE(triage_command({"checkpoint", "export", store, "--out", lines}).status == 0);
  REQUIRE(triage_command({"checkpoint", "import", files, "--in", lines}).status == 0);
  check_kept(folder.file("files/runs/good.jsonl"),
             {"checkpoint", "export", files, "--out", folder.file("files/runs/good.jsonl")},
             "belongs to a store of JSON files");
  check_kept(folder.file("files/new.jsonl"),
             {"checkpoint", "export", files, "--out", folder.file("files/new.jsonl")},
             "belongs to a store of JSON files");
  for (const std::string part : {"tmp", "locks"}) {
    const std::string inside = folder.file("files/" + part + "/x.jsonl");
    check_kept(inside, {"checkpoint", "export", files, "--out", inside},
               "belongs to a store of JSON files");
  }
  std::filesystem::create_directory(folder.file("files/exports"));
  CHECK(
      triage_command({"checkpoint", "export", files, "--out", folder.file("files/exports/x.jsonl")})
          .status == 0);
}

TEST_CASE("whether a file can be replaced is for its folder to say", "[cli][output]") {
  using std::filesystem::perms;
  const TempFolder folder;
  const std::string store = folder.file("runs.db");
  make_store(store);
  std::filesystem::create_directory(folder.file("out"));
  const std::string file = folder.file("out/x.jsonl");
  const auto exported = [&] {
    return triage_command({"checkpoint", "export", store, "--out", file}).status;
  };
  write_text(file, "old");
  std::filesystem::permissions(file, perms::owner_read);
  CHECK(exported() == 0);
  CHECK(read_text(file) != "old");
  if (::geteuid() == 0) return;  // May write everywhere.
  std::filesystem::permissions(folder.file("out"), perms::owner_read | perms::owner_exec);
  CHECK(exported() == 9);
  std::filesystem::permissions(folder.file("out"), perms::owner_all);
}

TEST_CASE("no command writes its file over one that it reads", "[cli][output]") {
  const TempFolder folder;
  const std::string experiment = make_experiment(folder);
  const std::string corrections = make_corrections(folder);
  const std::string corpus = folder.file("corpus");
  const std::string store = folder.file("s.db");
  const std::string what = "which this command reads";
  std::filesystem::create_symlink("e.json", folder.file("link"));
  for (const std::string& file : {experiment, folder.file("policy.json"), folder.file("link")}) {
    check_kept(file, {"experiment", experiment, "--store", store, "--svg", file}, what);
  }
  check_kept(experiment, {"experiment", experiment, "--store", store, "--svg", store}, what);
  for (const std::string& file : {corrections, corpus + "/rows.jsonl"}) {
    check_kept(file, {"train", "--corrections", corrections, "--corpus", corpus, "--out", file},
               what);
  }
  write_text(folder.file("mix.json"), R"({"faults": [{"fault": "throws", "rate": 0.5}]})");
  check_kept(folder.file("mix.json"),
             {"chaos", "--mix", folder.file("mix.json"), "--record", folder.file("mix.json"), "--",
              "touch", folder.file("ran")},
             what);
  CHECK_FALSE(std::filesystem::exists(folder.file("ran")));
  CHECK_FALSE(std::filesystem::exists(store));
}

TEST_CASE("one file cannot be both of an experiment's reports, and an earlier one is replaced",
          "[cli][output]") {
  const TempFolder folder;
  const std::string experiment = make_experiment(folder);
  const std::string report = folder.file("report");
  const auto run = [&](const std::string& html, const std::string& svg) {
    return triage_command(
        {"experiment", experiment, "--store", folder.file("s.db"), "--html", html, "--svg", svg});
  };
  std::filesystem::create_directory_symlink(".", folder.file("here"));
  const Printed both = run(report, folder.file("here/report"));
  CHECK(both.status == 2);
  CHECK_THAT(both.error, ContainsSubstring("which is --html, too"));
  CHECK_FALSE(std::filesystem::exists(report));
  for (int time = 1; time <= 2; ++time) {
    const Printed done = run(report, folder.file("svg"));
    INFO(done.error);
    CHECK(done.status == 0);
    CHECK_THAT(read_text(folder.file("svg")), ContainsSubstring("<svg "));
  }
  CHECK(run("/dev/null", "/dev/null").status == 0);
}

TEST_CASE("train looks at where its model goes before it learns, and tells the scores anyway",
          "[cli][output]") {
  const TempFolder folder;
  const std::string corrections = make_corrections(folder);
  const auto train = [&](const std::string& out) {
    return triage_command({"train", "--corrections", corrections, "--corpus", folder.file("corpus"),
                           "--folds", "2", "--out", out});
  };
  const Printed nowhere = train("/nowhere/x.bin");
  CHECK(nowhere.status == 9);
  CHECK(nowhere.out.empty());
  CHECK_THAT(nowhere.error,
             ContainsSubstring("/nowhere/x.bin") && ContainsSubstring("No such file or directory"));
  CHECK(train(folder.path().string()).status == 9);
  // Only writing shows this one.
  const Printed full = train("/dev/full");
  CHECK(full.status == 9);
  CHECK_THAT(full.out, ContainsSubstring("the corpus: recall"));
  CHECK_THAT(full.error, ContainsSubstring("\"/dev/full\" cannot be written"));
  for (int time = 1; time <= 2; ++time) CHECK(train(folder.file("mine.bin")).status == 0);
}

TEST_CASE("a report is replaced as a whole, and who may read it stays", "[cli][output]") {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const std::string experiment = make_experiment(folder);
  const std::string report = folder.file("report.html");
  const std::string schedule = folder.file("faults.json");
  for (const std::string& file : {report, schedule}) {
    std::ofstream(file) << "before";
    fs::permissions(file, fs::perms(0444));
    fs::create_hard_link(file, file + ".kept");
  }
  CHECK(triage_command({"experiment", experiment, "--store", folder.file("s.db"), "--html", report})
            .status == 0);
  CHECK(triage_command({"chaos", "--record", schedule, "--", "true"}).status == 0);
  CHECK_THAT(read_text(report), ContainsSubstring("<html"));
  CHECK(read_text(schedule) == "[]\n");
  for (const std::string& file : {report, schedule}) {
    CHECK(read_text(file + ".kept") == "before");  // Not written into.
    CHECK(fs::status(file).permissions() == fs::perms(0444));
  }
  const std::string fresh = folder.file("fresh.json");
  const mode_t before = ::umask(027);
  CHECK(triage_command({"chaos", "--record", fresh, "--", "true"}).status == 0);
  ::umask(before);
  CHECK(fs::status(fresh).permissions() == fs::perms(0640));
}
