// SPDX-License-Identifier: MIT
// Nothing goes with the files of removed runs that another run may need.
#include "supervise/attic.hpp"

#include "support/catch.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

TEST_CASE("what another run has kept comes back after runs are removed", "[workspace]") {
  const Attic attic;
  attic.write(".gitignore", "ignored/\n");
  attic.write("ignored/old", "old");
  Workspace live = attic.open_as("live");
  std::vector<std::pair<FilesId, std::map<std::string, std::string>>> states;
  const auto keep = [&] { states.emplace_back(live.keep().value(), attic.look()); };
  attic.write("f", "1");
  keep();
  attic.old_run("gone 1");
  attic.write("f", "2");
  attic.write("g", "2");
  fs::create_directories(attic.at("empty/folder"));
  keep();
  attic.write("a.txt", "by somebody else");
  const FilesId first = states[0].first;
  REQUIRE(live.restore(first).value().conflicts.size() == 1);
  fs::remove(attic.at("a.txt.triage-conflict"));
  fs::remove_all(attic.at("empty"));  // It would stay.
  attic.old_run("gone 2");
  CHECK(live.keep().value() == first);
  attic.write("f", "3");
  attic.write("ignored 2/.gitignore", "*\n");
  keep();
  fs::remove_all(attic.at("ignored 2"));
  attic.write("f", "4");
  fs::create_directories(attic.at("other folder"));
  keep();
  SECTION("while it goes on") {}
  SECTION("before it goes on") { live = attic.open_as("live"); }
  SECTION("after it was rolled back") {
    REQUIRE(live.restore(states[1].first));
    SECTION("and goes on at once") {}
    SECTION("and goes on later") {
      fs::remove(attic.at("other folder"));
      live = attic.open_as("live");
      CHECK(live.keep().value() == states[1].first);
    }
  }
  attic.grow_old();
  CHECK(attic.forget({"gone 1", "gone 2"}).runs.size() == 2);
  attic.collect_all();
  // Only what can be reached from it is there.
  CHECK_THAT(attic.git_in({"fsck", "--unreachable"}), !ContainsSubstring("unreachable"));
  for (int round = 0; round < 2; ++round) {
    for (const auto& [id, files] : states) {
      REQUIRE(live.restore(id));
      // Folders that are empty stay, and what its own folder ignored is not kept.
      const auto now = attic.look();
      for (const auto& [path, text] : files) {
        INFO(path);
        if (!path.starts_with("ignored 2")) CHECK((now.contains(path) && now.at(path) == text));
      }
      for (const auto& [path, text] : now) {
        INFO(path);
        CHECK((files.contains(path) || text == "(none)"));
      }
      CHECK(attic.git_in({"rev-parse", live.keep().value() + "^{tree}"}) ==
            attic.git_in({"rev-parse", id + "^{tree}"}));
    }
    attic.write("f", "between");
    REQUIRE(live.keep());
  }
}

TEST_CASE("a branch has the files of its origin, also when the origin is removed", "[workspace]") {
  const Attic attic;
  attic.write(".gitignore", "ignored/\n");
  attic.write("ignored/theirs", "theirs");
  Workspace origin = attic.open_as("origin");
  attic.write("f", "then");
  const FilesId then = origin.keep().value();
  attic.write("f", Attic::noise("between"));
  const FilesId between = origin.keep().value();
  attic.write("f", "later");
  attic.write(".gitignore", "");
  REQUIRE(origin.keep());
  const std::string large = attic.git_in({"rev-parse", between + ":f"}).substr(0, 40);
  Workspace branch = attic.open_as("branch");
  REQUIRE(branch.restore(then, "origin"));
  const FilesId start = branch.keep().value();
  REQUIRE(branch.name("start", start));
  attic.write("f", "by the branch");
  const FilesId newest = branch.keep().value();
  REQUIRE(branch.leave_to("origin", newest));
  attic.grow_old();
  REQUIRE(attic.has(large));

  SECTION("the origin") {
    CHECK(attic.forget({"origin"}).runs.size() == 1);
    attic.collect_all();
    CHECK_FALSE(attic.has(large));  // The branch does not need it.
    SECTION("and the branch goes on") {}
    SECTION("and the branch goes on later") { branch = attic.open_as("branch"); }
    SECTION("and a restoration of it is completed") {
      std::ofstream(attic.index("branch") + ".restoring") << start << "\n";
      branch = attic.open_as("branch");
      CHECK(attic.read("f") == "then");
    }
    attic.write(".gitignore", "");
    REQUIRE(branch.keep());
    REQUIRE(branch.restore(start));
    CHECK(attic.read("f") == "then");
    CHECK(attic.read("ignored/theirs") == "theirs");
    CHECK(attic.read(".gitignore") == "ignored/\n");
    // Names nothing for a run that is gone.
    REQUIRE(branch.leave_to("origin", newest));
    CHECK_THAT(attic.git_in({"for-each-ref"}), !ContainsSubstring(shadow_name("origin")));
  }
  SECTION("the branch") {
    CHECK(attic.forget({"branch"}).runs.size() == 1);
    attic.collect_all();
    CHECK_FALSE(attic.has(start));
    // What it has left is still no change by others, and no state of the origin's.
    Workspace second = attic.open_as("second");
    CHECK(second.restore(then, "origin").value().conflicts.empty());
    CHECK(attic.read("f") == "then");
    origin = attic.open_as("origin");
    const FilesId now = origin.keep().value();
    attic.write("f", "more");
    REQUIRE(origin.keep());
    attic.grow_old();
    CHECK(attic.forget({"second"}).runs.size() == 1);
    attic.collect_all();
    REQUIRE(origin.restore(now));
    CHECK(attic.read("f") == "then");
    REQUIRE(origin.restore(between));
    CHECK(attic.read("f") == Attic::noise("between"));
  }
}

TEST_CASE("where an earlier version has kept files, nothing is removed but what names them",
          "[workspace]") {
  const Attic attic;
  attic.old_run("gone");
  const std::string run = shadow_name("early");
  const auto keep_early = [&](const std::string& text) {  // As it did.
    const std::string blob = attic.git_in({"hash-object", "-w", "--stdin"}, text).substr(0, 40);
    const std::string ignored =
        attic.git_in({"hash-object", "-w", "--stdin"}, std::string("?theirs\0", 8)).substr(0, 40);
    const std::string tree =
        attic.git_in({"mktree"}, "100644 blob " + blob + "\ta.txt\n").substr(0, 40);
    const std::string commit =
        attic.git_in({"commit-tree", tree}, R"({"not_kept":")" + ignored + R"("})").substr(0, 40);
    attic.git_in({"update-ref", "refs/" + run + "/newest", commit});
    attic.git_in({"read-tree", commit});
    fs::rename(attic.repository() + "/index", attic.index("early"));
    return commit;
  };
  const FilesId first = keep_early("first");
  const FilesId second = keep_early("second");
  attic.write("theirs", "theirs");
  const auto still_there = [&] {
    attic.grow_old();
    CHECK(attic.forget({"gone", "early"}).runs == std::set<std::string>{"gone"});
    CHECK_THAT(attic.git_in({"for-each-ref"}), !ContainsSubstring(shadow_name("gone")));
    CHECK((attic.has(first) && attic.has(second)));
  };
  SECTION("before it goes on") { still_there(); }
  SECTION("after it has gone on") {
    Workspace files = attic.open_as("early");
    const FilesId third = files.keep().value();
    attic.write("a.txt", "fourth");
    REQUIRE(files.keep());
    still_there();
    REQUIRE(files.restore(third));
    CHECK(attic.read("a.txt") == "one\n");
  }
  SECTION("after it has gone on with a run of this one") {
    const auto ids = attic.old_run("live");
    attic.git_in({"update-ref", "refs/" + shadow_name("live") + "/newest", first});
    attic.git_in({"update-ref", "-d", "refs/" + run + "/newest"});
    fs::remove(attic.index("early"));
    SECTION("that rests") {}
    SECTION("that goes on again") { REQUIRE(attic.open_as("live").keep()); }
    still_there();
  }
  Workspace files = attic.open_as("early");
  attic.write("more", "more");
  REQUIRE(files.restore(first));
  CHECK(attic.read("a.txt") == "first");
  CHECK(attic.read("theirs") == "theirs");
}

TEST_CASE("a checkpoint that was cut off is made anew, though its files were removed",
          "[workspace]") {
  const Attic attic;
  attic.old_run("gone");
  std::optional<FilesId> then;
  if (GENERATE(true, false)) then = attic.open_as("live").keep().value();
  attic.write("f", "by the program");
  // Git was killed after the first half.
  const GitPlace place{.repository = attic.repository(),
                       .index = attic.index("live"),
                       .tree = attic.options().folder};
  REQUIRE(run_git(place, {"update-index", "--add", "--", "f"}));
  const std::string blob = attic.git_in({"hash-object", "--stdin"}, "by the program").substr(0, 40);
  attic.grow_old();
  REQUIRE(attic.has(blob));
  CHECK(attic.forget({"gone"}).runs.size() == 1);
  REQUIRE_FALSE(attic.has(blob));
  Workspace files = attic.open_as("live");
  const FilesId now = files.keep().value();
  attic.write("f", "later");
  REQUIRE(files.keep());
  REQUIRE(files.restore(now));
  CHECK(attic.read("f") == "by the program");
  if (then) {
    REQUIRE(files.restore(*then));
    CHECK_FALSE(fs::exists(attic.at("f")));
  }
}
