// SPDX-License-Identifier: MIT
// What of damaged runs an export leaves out, and that it says so.
#include "cli/stores.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Refused; with the flag it says how much is lost, and the file can be imported. Returns what the
// second export printed.
std::string check_left_out(const TempFolder& folder, const std::string& store) {
  const std::string file = folder.file("runs.jsonl");
  const Printed refused = triage_command({"checkpoint", "export", store, "--out", file});
  CHECK(refused.status == 3);
  CHECK_THAT(refused.error, ContainsSubstring("1 record is damaged or missing"));
  CHECK_FALSE(std::filesystem::exists(file));
  const Printed rest =
      triage_command({"checkpoint", "export", store, "--out", file, "--leave-out-damaged"});
  CHECK(rest.status == 3);
  CHECK_THAT(rest.error, ContainsSubstring("exported; 1 damaged or missing."));
  const Printed imported =
      triage_command({"checkpoint", "import", folder.file("other.db"), "--in", file});
  INFO(imported.error);
  CHECK(imported.status == 0);
  return rest.error;
}

// The same runs as a folder of JSON files.
std::string folder_store(const TempFolder& folder) {
  make_store(folder.file("a.db"));
  REQUIRE(triage_command({"checkpoint", "export", folder.file("a.db"), "--out", folder.file("a")})
              .status == 0);
  const std::string store = "file:" + folder.file("store");
  REQUIRE(triage_command({"checkpoint", "import", store, "--in", folder.file("a")}).status == 0);
  return store;
}

// A store of which a statement has damaged the first run.
std::string damaged_store(const TempFolder& folder, const std::string& statement) {
  const std::string store = folder.file("runs.db");
  make_store(store);
  tamper(store, statement);
  return store;
}

}  // namespace

TEST_CASE("an export says that a record is missing", "[cli][export]") {
  const TempFolder folder;
  const std::string store = damaged_store(folder, "DELETE FROM records WHERE run = 1 AND seq = 6");
  CHECK_THAT(check_left_out(folder, store), ContainsSubstring("2 runs"));
  CHECK(triage_command({"checkpoint", "export", store, "--format", "triage-agent", "--out",
                        folder.file("theirs.db")})
            .status == 3);
}

TEST_CASE("an export says that the row of a run is damaged", "[cli][export]") {
  const TempFolder folder;
  const std::string store = damaged_store(folder, "UPDATE runs SET status = 3 WHERE run = 1");
  CHECK_THAT(check_left_out(folder, store), ContainsSubstring("2 runs"));
}

TEST_CASE("a run of which nothing is intact is not exported as one that died", "[cli][export]") {
  const TempFolder folder;
  const std::string store = folder_store(folder);
  std::ofstream(folder.file("store/runs/lost.jsonl"), std::ios::trunc);
  CHECK_THAT(check_left_out(folder, store), ContainsSubstring("1 run,"));
}

TEST_CASE("what a repair has set aside does not hinder an export", "[cli][export]") {
  const TempFolder folder;
  const std::string store =
      damaged_store(folder, "UPDATE records SET time = time + 1 WHERE run = 1 AND seq = 6");
  tamper(store, "DELETE FROM records WHERE run = 1 AND seq = 7");
  CHECK(triage_command({"checkpoint", "show", store, "good"}).status == 4);
  REQUIRE(triage_command({"checkpoint", "verify", store, "--repair"}).status == 0);
  CHECK(triage_command({"checkpoint", "show", store, "good"}).status == 0);
  CHECK(triage_command({"explain", "good", "--store", store}).status == 0);
  const std::string file = folder.file("runs.jsonl");
  CHECK(triage_command({"checkpoint", "export", store, "--out", file}).status == 0);
  REQUIRE(triage_command({"checkpoint", "import", folder.file("b.db"), "--in", file}).status == 0);
  const Printed copy = triage_command({"checkpoint", "verify", folder.file("b.db")});
  CHECK(copy.status == 0);
  CHECK_THAT(copy.out, ContainsSubstring("intact but for 2 records set aside"));
}

TEST_CASE("a run that is named twice is exported once", "[cli][export]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Printed twice = triage_command(
      {"checkpoint", "export", folder.file("a.db"), "--run", "good", "--run", "good"});
  CHECK_THAT(twice.error, ContainsSubstring("1 run,"));
  CHECK(twice.out ==
        triage_command({"checkpoint", "export", folder.file("a.db"), "--run", "good"}).out);
}

TEST_CASE("an import from triage-agent that leaves checkpoints out has another status",
          "[cli][import]") {
  const TempFolder folder;
  const std::string theirs = folder.file("theirs.db");
  make_store(folder.file("a.db"));
  REQUIRE(triage_command({"checkpoint", "export", folder.file("a.db"), "--run", "good", "--format",
                          "triage-agent", "--out", theirs})
              .status == 0);
  tamper(theirs, "UPDATE checkpoints SET state = '[1' WHERE rowid = 1");
  const Printed done = triage_command({"checkpoint", "import", folder.file("b.db"), "--format",
                                       "triage-agent", "--in", theirs, "--leave-out-damaged"});
  CHECK(done.status == 4);
  CHECK_THAT(done.error, ContainsSubstring("imported; 1 damaged or missing."));
}

TEST_CASE("verify misses the end of a run that has finished", "[cli][verify]") {
  const TempFolder folder;
  const std::string store = folder.file("runs.db");
  make_store(store);
  tamper(
      store,
      "DELETE FROM records WHERE run = 1 AND seq = (SELECT max(seq) FROM records WHERE run = 1)");
  const Printed verified = triage_command({"checkpoint", "verify", store});
  CHECK(verified.status == 3);
  CHECK_THAT(verified.out, ContainsSubstring("the record of that is missing"));
}

TEST_CASE("a run whose id is damaged does not hinder the export of the others", "[cli][export]") {
  const TempFolder folder;
  const std::string store = damaged_store(folder, "UPDATE runs SET run_id = 'go od' WHERE run = 1");
  const std::string file = folder.file("runs.jsonl");
  const Printed refused = triage_command({"checkpoint", "export", store, "--out", file});
  CHECK(refused.status == 3);
  CHECK_THAT(refused.error, ContainsSubstring("run \"go od\" cannot be read"));
  const Printed rest =
      triage_command({"checkpoint", "export", store, "--out", file, "--leave-out-damaged"});
  CHECK(rest.status == 3);
  CHECK_THAT(rest.error, ContainsSubstring("run \"go od\" cannot be read"));
  CHECK_THAT(rest.error, ContainsSubstring("exported; 1 damaged or missing."));
  CHECK(triage_command({"checkpoint", "import", folder.file("b.db"), "--in", file}).status == 0);
  CHECK(triage_command({"checkpoint", "show", folder.file("b.db"), "lost"}).status == 0);
  // An id that somebody has typed is a mistake of theirs.
  CHECK(triage_command({"checkpoint", "export", store, "--run", "go od"}).status == 2);
}

TEST_CASE("a run whose id is damaged does not keep others from being removed", "[cli][prune]") {
  const TempFolder folder;
  const std::string store = damaged_store(folder, "UPDATE runs SET run_id = 'go od' WHERE run = 1");
  std::vector<std::string> prune{"checkpoint", "prune", store, "--keep", "0", "--labelled"};
  prune.push_back("--dry-run");
  const Printed would = triage_command(prune);
  CHECK(would.status == 3);
  CHECK(would.out == "lost\n");
  prune.back() = "--keep-bytes=0";
  const Printed pruned = triage_command(prune);
  CHECK(pruned.status == 3);
  CHECK(pruned.out == "1 run is removed.\n");
  CHECK_THAT(pruned.error, ContainsSubstring("run \"go od\" is damaged and stays"));
  CHECK(triage_command({"checkpoint", "show", store, "lost"}).status == 1);
}

TEST_CASE("a file that cannot be read does not hinder the other runs of a folder",
          "[cli][export][verify]") {
  const TempFolder folder;
  const std::string store = folder_store(folder);
  // Its file can be opened, by anybody, and not read.
  std::filesystem::remove(folder.file("store/runs/good.jsonl"));
  std::filesystem::create_symlink("/proc/self/mem", folder.file("store/runs/good.jsonl"));
  const Printed listed = triage_command({"runs", store});
  CHECK(listed.status == 4);
  CHECK_THAT(listed.out, ContainsSubstring("mailer"));
  CHECK(triage_command({"checkpoint", "show", store, "lost"}).status == 0);
  CHECK(triage_command({"checkpoint", "show", store, "good"}).status == 9);
  const std::vector<std::string> export_rest{
      "checkpoint", "export", store, "--out", folder.file("rest"), "--leave-out-damaged"};
  const Printed rest = triage_command(export_rest);
  CHECK(rest.status == 3);
  CHECK_THAT(rest.error, ContainsSubstring("good.jsonl"));
  CHECK_THAT(rest.error, ContainsSubstring("exported; 1 damaged or missing."));
  CHECK(triage_command({"checkpoint", "prune", store, "--keep", "0"}).status == 3);
  // Nothing says that it is damaged.
  const Printed verified = triage_command({"checkpoint", "verify", store});
  CHECK(verified.status == 9);
  CHECK_THAT(verified.out, ContainsSubstring("all intact; 1 run could not be read"));
  CHECK_THAT(verified.error, ContainsSubstring("good.jsonl"));
}

TEST_CASE("verify calls nothing damaged that it may not read or write", "[cli][verify]") {
  const TempFolder folder;
  const std::string store = folder_store(folder);
  SECTION("the keys cannot be read") {
    std::filesystem::remove(folder.file("store/keys.jsonl"));
    std::filesystem::create_directory(folder.file("store/keys.jsonl"));
    CHECK(triage_command({"checkpoint", "verify", store}).status == 9);
  }
  SECTION("the keys cannot be locked for a repair") {
    std::filesystem::remove(folder.file("store/locks/keys"));
    std::filesystem::create_directory(folder.file("store/locks/keys"));
    CHECK(triage_command({"checkpoint", "verify", store, "--repair"}).status == 9);
  }
}
