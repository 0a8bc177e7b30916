// SPDX-License-Identifier: MIT
// The files of removed runs go.
#include "supervise/workspace/forget.hpp"
#include "supervise/attic.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

TEST_CASE("the files of a removed run go, and the space that they took is free", "[workspace]") {
  const Attic attic;
  attic.old_run("gone");
  Workspace live = attic.open_as("live");
  const FilesId then = live.keep().value();
  const std::uintmax_t before = attic.bytes();
  SECTION("as they were written") {}
  SECTION("from a pack") { attic.collect_all(); }
  attic.grow_old();
  const Forgotten forgotten = attic.forget({"gone", "never there"});
  CHECK(forgotten.runs == std::set<std::string>{"gone"});
  CHECK(forgotten.problems.empty());
  CHECK(before > 60'000);
  CHECK(attic.bytes() < 5'000);
  CHECK_FALSE(fs::exists(attic.index("gone")));
  CHECK_THAT(attic.git_in({"for-each-ref"}), !ContainsSubstring(shadow_name("gone")));
  CHECK(attic.forget({"gone"}).runs.empty());
  attic.write("a.txt", "two\n");
  REQUIRE(live.keep());
  REQUIRE(live.restore(then));
  CHECK(attic.read("a.txt") == "one\n");
  // Its name is free.
  attic.old_run("gone");
}

TEST_CASE("the files of a run stay if something may still need them", "[workspace]") {
  const Attic attic;
  const auto ids = attic.old_run("r");
  std::string store = "here";
  bool gone = true;
  std::optional<ShadowLock> in_use;
  std::size_t problems = 0;
  SECTION("a restoration was cut off") {
    std::ofstream(attic.index("r") + ".restoring") << ids[0] << "\n";
  }
  bool locked = false;
  SECTION("git works on its index") { locked = true; }
  SECTION("it is another store's") { store = "elsewhere"; }
  SECTION("another store has it, too") { REQUIRE(attic.open_as("r", "elsewhere").keep()); }
  SECTION("it was begun again meanwhile") { gone = false; }
  SECTION("nobody noted where it is stored") {
    fs::remove(stores_file(attic.repository(), shadow_name("r")));
    SECTION("at all") {}
    SECTION("before") { REQUIRE(attic.open_as("r").keep()); }
  }
  SECTION("the note of where it is stored was lost") {
    std::ofstream(stores_file(attic.repository(), shadow_name("r")), std::ios::trunc) << "";
  }
  SECTION("a checkpoint is being made") {
    in_use = ShadowLock::use(attic.repository()).value();
    problems = 1;
  }
  attic.grow_old();
  if (locked) std::ofstream(attic.index("r") + ".lock") << "half";
  const Forgotten forgotten = forget_files({.shadows = attic.options().shadows,
                                            .store = store,
                                            .runs = {"r"},
                                            .is_gone = [gone](const std::string&) { return gone; },
                                            .patience = std::chrono::milliseconds(20)});
  CHECK(forgotten.runs.empty());
  CHECK(forgotten.problems.size() == problems);
  if (problems > 0) CHECK(forgotten.problems[0].code == Errc::busy);
  in_use.reset();
  attic.collect_all();
  for (const FilesId& id : ids) CHECK(attic.has(id));
  // Neither git has worked so long.
  if (locked) {
    attic.grow_old();
    CHECK(attic.forget({"r"}).runs.size() == 1);
    CHECK_FALSE(fs::exists(attic.index("r") + ".lock"));
  }
  // If another store had it, it goes with the last one.
  if (attic.forget({"r"}, "elsewhere").runs.empty()) return;
  CHECK_THAT(attic.git_in({"for-each-ref"}), !ContainsSubstring(shadow_name("r")));
}

TEST_CASE("files that were kept a moment ago go with the next removal", "[workspace]") {
  const Attic attic;
  const FilesId young = attic.old_run("gone")[0];
  REQUIRE(attic.open_as("live").keep());
  CHECK(attic.forget({"gone"}).runs.size() == 1);
  CHECK(attic.has(young));
  CHECK(attic.forget({}).problems.empty());
  CHECK(attic.has(young));
  attic.grow_old();
  CHECK(attic.forget({}).problems.empty());
  CHECK_FALSE(attic.has(young));
}

TEST_CASE("nothing refers again to files that were removed", "[workspace]") {
  const Attic attic;
  Workspace files = attic.open_as("r");
  REQUIRE(files.keep());
  CHECK(attic.forget({"r"}).runs.size() == 1);  // Its objects are too young to be removed.
  attic.write("a.txt", "two");
  CHECK_FALSE(files.keep());
  CHECK(attic.git_in({"for-each-ref"}).empty());
  CHECK(attic.open_as("r").keep());
  attic.collect_all();
}

TEST_CASE("runs are removed while another one keeps the same files again and again",
          "[workspace]") {
  const Attic attic;
  constexpr int rounds = 6;
  const auto text = [](int round) { return Attic::noise("round " + std::to_string(round)); };
  std::vector<std::string> runs;
  for (int i = 0; i < rounds; ++i) {
    runs.push_back("gone " + std::to_string(i));
    Workspace files = attic.open_as(runs.back());
    attic.write("d/f", text(i));
    REQUIRE(files.keep());
  }
  attic.collect_all();
  attic.grow_old();
  std::atomic<bool> done{false};
  std::vector<std::pair<FilesId, int>> kept;
  std::string trouble;
  {
    std::jthread keeping([&] {
      Workspace live = attic.open_as("live");
      for (int i = 0; !done || i < rounds; ++i) {
        attic.write("d/f", text(i % rounds));
        const auto id = live.keep();
        if (!id) {
          trouble = id.error().detail;
          return;
        }
        kept.emplace_back(id.value(), i % rounds);
      }
    });
    for (const std::string& run : runs) {
      const Forgotten forgotten = attic.forget({run});
      CHECK(forgotten.runs.size() == 1);
      for (const Error& problem : forgotten.problems) FAIL_CHECK(problem.detail);
    }
    done = true;
  }
  CHECK(trouble == "");
  attic.collect_all();
  REQUIRE(kept.size() >= rounds);
  for (const auto& [id, round] : kept) {
    CHECK(attic.git_in({"cat-file", "blob", id + ":d/f"}) == text(round));
  }
}

TEST_CASE("who keeps files waits while others are removed", "[workspace]") {
  const Attic attic;
  Workspace live = attic.open_as("live");
  REQUIRE(live.keep());
  std::atomic<bool> kept{false};
  std::jthread keeping;
  {
    const auto removing = ShadowLock::remove(attic.repository(), std::chrono::seconds(1));
    REQUIRE(removing);
    attic.write("a.txt", "two\n");
    keeping = std::jthread([&] { kept = live.keep().has_value(); });
    // Longer than it takes to keep files.
    for (int i = 0; i < 40; ++i) static_cast<void>(attic.git_in({"for-each-ref"}));
    CHECK_FALSE(kept);
  }
  keeping.join();
  CHECK(kept);
}

TEST_CASE("two supervisors of one run keep files behind each other's", "[workspace]") {
  const Attic attic;
  Workspace first = attic.open_as("r");
  REQUIRE(first.keep());
  Workspace second = attic.open_as("r");
  attic.write("a.txt", "second\n");
  const auto seconds = second.keep();
  REQUIRE(seconds);
  attic.write("a.txt", "first\n");
  const auto firsts = first.keep();
  REQUIRE(firsts);
  attic.collect_all();
  CHECK(attic.git_in({"cat-file", "blob", seconds.value() + ":a.txt"}) == "second\n");
  CHECK(attic.git_in({"cat-file", "blob", firsts.value() + ":a.txt"}) == "first\n");
}

TEST_CASE("the command removes the files of the runs that it removes", "[workspace]") {
  const Room room;
  const Workshop shop;
  ::setenv("XDG_STATE_HOME", shop.file("state").c_str(), 1);
  const std::string program =
      shop.script("a", "cd '" + room.tree().string() + "'\nTRIAGE='" + TRIAGE_COMMAND +
                           "'\n[ -n \"$TRIAGE_RECOVERY\" ] && exec cat a.txt\n"
                           "echo $TRIAGE_RUN_ID > a.txt\n"
                           "$TRIAGE checkpoint label here || exit 9");
  for (const char* run : {"old", "new"}) {
    REQUIRE(shop.run({"--workspace", room.tree(), "--run", run}, {program}).status == 0);
  }
  const auto indices = [&] {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(shop.file("state"))) {
      if (entry.path().filename().string().starts_with("index-")) ++count;
    }
    return count;
  };
  CHECK(indices() == 2);
  const auto prune = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"checkpoint", "prune"});
    return shop.triage(std::move(words));
  };
  CHECK(prune({"--keep", "1", "--dry-run"}).out == "old\n");
  CHECK(indices() == 2);
  SECTION("as a sentence") {
    CHECK(prune({"--keep", "1"}).out == "1 run is removed, with the files of 1.\n");
  }
  SECTION("as JSON") {
    CHECK_THAT(prune({"--keep", "1", "--json"}).out,
               ContainsSubstring("\"removed\": 1") && ContainsSubstring("\"files_removed\": 1"));
  }
  SECTION("with a warning if that fails") {
    const Printed printed =
        run_program({"/usr/bin/env", "PATH=/nonexistent", TRIAGE_COMMAND, "checkpoint", "prune",
                     "--store", shop.store(), "--keep", "1"});
    CHECK(printed.status == 0);
    CHECK(printed.out == "1 run is removed.\n");
    CHECK_THAT(printed.error, ContainsSubstring("a workspace needs git, which is not installed"));
    ::unsetenv("XDG_STATE_HOME");
    return;
  }
  CHECK(indices() == 1);
  const auto all = SqliteStore::open(shop.store()).value()->checkpoints("new").value();
  const auto here = std::find_if(all.begin(), all.end(),
                                 [](const CheckpointInfo& one) { return one.label == "here"; });
  REQUIRE(here != all.end());
  const Printed branch = shop.triage({"fork", to_string(here->id)});
  INFO(branch.error);
  CHECK(branch.out == "new\n");
  CHECK(prune({"--keep", "0"}).out == "2 runs are removed, with the files of 2.\n");
  CHECK(indices() == 0);
  ::unsetenv("XDG_STATE_HOME");
}
