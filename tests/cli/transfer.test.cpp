// SPDX-License-Identifier: MIT
// What `triage checkpoint export` and `import` read and write, and what they refuse.
#include "cli/stores.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// `triage checkpoint export … --format triage-agent`
Printed export_to_theirs(const std::string& store, const std::string& target) {
  return triage_command(
      {"checkpoint", "export", store, "--format", "triage-agent", "--out", target});
}

// Runs the script in the folder; $0 is the command.
Printed in_shell(const TempFolder& folder, const std::string& script) {
  return run_program(
      {"/bin/sh", "-c", "cd '" + folder.file("") + "' && " + script, TRIAGE_COMMAND});
}

}  // namespace

TEST_CASE("an import reads a pipe as it reads a file", "[cli][import]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const Printed piped = in_shell(
      folder, R"("$0" checkpoint export a.db | "$0" checkpoint import b.db --in /dev/stdin)");
  INFO(piped.error);
  CHECK(piped.status == 0);
  CHECK(triage_command({"checkpoint", "export", folder.file("b.db")}).out ==
        triage_command({"checkpoint", "export", folder.file("a.db")}).out);
  const Printed cut = in_shell(folder, R"("$0" checkpoint export a.db | head -c 2000 | )"
                                       R"("$0" checkpoint import c.db --in /dev/stdin)");
  CHECK(cut.status == 3);
  CHECK(in_shell(folder, R"(: | "$0" checkpoint import c.db --in /dev/stdin)").status == 3);
  CHECK_FALSE(std::filesystem::exists(folder.file("c.db")));
}

TEST_CASE("an import says that what it is to read is a folder", "[cli][import]") {
  const TempFolder folder;
  const Printed refused =
      triage_command({"checkpoint", "import", folder.file("b.db"), "--in", folder.file("")});
  CHECK(refused.status == 9);
  CHECK_THAT(refused.error, ContainsSubstring("Is a directory"));
}

TEST_CASE("runs to export are found by shortened ids, before anything is written",
          "[cli][export]") {
  const TempFolder folder;
  const std::string store = folder.file("a.db");
  make_store(store);
  const Printed full = triage_command({"checkpoint", "export", store, "--run", "good"});
  const Printed shortened = triage_command({"checkpoint", "export", store, "--run", "g…d"});
  CHECK(shortened.status == 0);
  CHECK(shortened.out == full.out);
  CHECK(triage_command({"checkpoint", "export", store, "--run", "g…d", "--format", "triage-agent",
                        "--out", folder.file("theirs.db")})
            .status == 0);
  for (const char* unknown : {"nobody", "n…y"}) {
    const Printed refused = triage_command({"checkpoint", "export", store, "--run", unknown});
    CHECK(refused.status == 1);
    CHECK(refused.out.empty());
  }
}

TEST_CASE("what is done to a run that was named by a shortened id names it in full", "[cli]") {
  const TempFolder folder;
  const std::string store = folder.file("a.db");
  make_store(store);
  CHECK(json_of(triage_command({"checkpoint", "compact", store, "g…d", "--json"}))["run"] ==
        "good");
  CHECK_THAT(triage_command({"checkpoint", "release", store, "g…d"}).out,
             ContainsSubstring("Run good "));
}

TEST_CASE("a refused import from triage-agent does not leave an empty store behind",
          "[cli][import]") {
  const TempFolder folder;
  make_store(folder.file("a.db"));
  const std::string theirs = folder.file("theirs.db");
  REQUIRE(export_to_theirs(folder.file("a.db"), theirs).status == 0);
  const auto into = [&](const std::string& store) {
    return triage_command(
               {"checkpoint", "import", store, "--format", "triage-agent", "--in", theirs})
        .status;
  };
  REQUIRE(into(folder.file("whole.db")) == 0);
  tamper(theirs, "UPDATE checkpoints SET state = '{bad' WHERE rowid = 1");
  CHECK(into(folder.file("new.db")) == 3);
  CHECK(into("file:" + folder.file("new")) == 3);
  CHECK_FALSE(std::filesystem::exists(folder.file("new.db")));
  CHECK_FALSE(std::filesystem::exists(folder.file("new")));
}

TEST_CASE("an export to triage-agent goes to a file that stays, and to no other store",
          "[cli][export]") {
  const TempFolder folder;
  const std::string store = folder.file("a.db");
  make_store(store);
  REQUIRE(in_shell(folder, R"("$0" checkpoint export a.db --out a.jsonl && )"
                           R"("$0" checkpoint import file:json --in a.jsonl)")
              .status == 0);
  for (const std::string target : {"json/runs/x.jsonl", "json/x.db"}) {
    const Printed refused = export_to_theirs(store, folder.file(target));
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring("a store of JSON files"));
    CHECK_FALSE(std::filesystem::exists(folder.file(target)));
  }
  CHECK(export_to_theirs(store, ":memory:").status == 2);
  CHECK(export_to_theirs(store, "sqlite::memory:").status == 2);
  for (const std::string target :
       {"memory:", "file:json", "file:z?mode=memory", "postgresql://localhost/db", "sqlite:"}) {
    const Printed refused = export_to_theirs(store, target);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.error, ContainsSubstring("redis://HOST"));
  }
}
