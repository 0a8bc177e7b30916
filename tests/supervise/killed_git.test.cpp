// SPDX-License-Identifier: MIT
// Whoever keeps, restores or removes files may be killed at any call of git, which may fail.
#include "supervise/attic.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace fs = std::filesystem;

namespace {

// A `git` one of whose calls fails, or kills its caller before or after it.
class FaultyGit {
 public:
  FaultyGit() : path_(std::getenv("PATH")) {
    std::ofstream(folder_.file("git"))
        << "#!/bin/sh\nPATH='" << path_ << "'\n. '" << plan() << "'\n"
        << "call=$((call + 1)); echo \"call=$call at=$at how=$how\" >'" << plan() << "'\n"
        << "[ $call = $at ] || exec git \"$@\"\n[ $how = fails ] && exit 128\n"
        << "[ $how = before ] || git \"$@\"\nkill -KILL $PPID\n";
    fs::permissions(folder_.file("git"), fs::perms::owner_all);
  }
  // Whether the caller came so far.
  [[nodiscard]] bool strikes(int at, const std::string& how,
                             const std::function<bool()>& caller) const {
    std::ofstream(plan()) << "call=0 at=" << at << " how=" << how << "\n";
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
      ::_exit(caller() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (std::stoi(read_text(plan()).substr(std::strlen("call="))) >= at) return true;
    CHECK(status == 0);
    return false;
  }

 private:
  [[nodiscard]] std::string plan() const { return folder_.file("plan"); }

  std::string path_;
  TempFolder folder_{};
};

// `git gc` with the `git` of this folder.
Result<std::string> with_git_of(const Workshop& shop, const GitPlace& place) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (shop.file("") + ":" + path).c_str(), 1);
  auto printed = run_git(place, {"gc"});
  ::setenv("PATH", path.c_str(), 1);
  return printed;
}

// Whose time does not pass until it is told to: then an hour whenever somebody asks, for a year.
class LeapingClock final : public Clock {
 public:
  explicit LeapingClock(std::function<bool()> leaps) : leaps_(std::move(leaps)) {}
  TimePoint now() override {
    if (leaps_() && now_ < TimePoint(std::chrono::hours(8'766))) now_ += std::chrono::hours(1);
    return now_;
  }
  WallTime wall_now() override { return {}; }
  bool sleep_until(TimePoint, std::stop_token) override { return true; }

 private:
  std::function<bool()> leaps_;
  TimePoint now_{};
};

}  // namespace

TEST_CASE("a restoration that is cut off at any call of git is completed, and loses nothing",
          "[workspace]") {
  const FaultyGit git;
  const std::string how = GENERATE("before", "after", "fails");
  for (int at = 1, struck = 1; struck != 0; ++at) {
    INFO(how << " call " << at);
    const Attic attic;
    attic.write(".gitignore", "ignored\n");
    attic.write("d/f", "then");
    attic.write("g", "then");
    attic.write("way", "then");
    attic.write("pipe", "then");
    FilesId then;
    {
      Workspace files = attic.open_as("r");
      then = files.keep().value();
      attic.write("g", "by the program");
      attic.write("new", "by the program");
      fs::remove_all(attic.at("d"));
      fs::remove(attic.at("way"));
      fs::remove(attic.at("pipe"));
      REQUIRE(::mkfifo(attic.at("pipe").c_str(), 0600) == 0);
      REQUIRE(files.keep());
    }
    attic.write("g", "by somebody else");
    attic.write("theirs", "by somebody else");
    attic.write("way/ignored", "precious");
    const auto restored = [&] {
      auto files = attic.try_open("r", "here");
      return files && files.value().restore(then);
    };
    struck = git.strikes(at, how, restored) ? 1 : 0;
    REQUIRE(restored());
    for (const char* name : {"d/f", "g", "way", "pipe"}) CHECK(attic.read(name) == "then");
    CHECK_FALSE(fs::exists(attic.at("new")));
    CHECK_FALSE(fs::exists(attic.at("theirs")));
    CHECK(attic.read("g.triage-conflict") == "by somebody else");
    CHECK(attic.read("theirs.triage-conflict") == "by somebody else");
    CHECK(attic.read("way.triage-conflict/ignored") == "precious");
    CHECK(fs::is_fifo(attic.at("pipe.triage-conflict")));
  }
}

TEST_CASE("a checkpoint that is cut off at any call of git is made anew", "[workspace]") {
  const FaultyGit git;
  const std::string how = GENERATE("before", "after", "fails");
  const bool collected = GENERATE(true, false);
  for (int at = 1, struck = 1; struck != 0; ++at) {
    INFO(how << " call " << at);
    const Attic attic;
    attic.old_run("gone");
    const FilesId then = attic.open_as("r").keep().value();
    attic.write("a.txt", "two\n");
    attic.write("ignored/.gitignore", "*\n");
    const auto kept = [&] {
      auto files = attic.try_open("r", "here");
      return files && files.value().keep();
    };
    struck = git.strikes(at, how, kept) ? 1 : 0;
    if (collected) {
      attic.grow_old();
      CHECK(attic.forget({"gone"}).problems.empty());
    }
    Workspace files = attic.open_as("r");
    const FilesId now = files.keep().value();
    REQUIRE(files.restore(then));
    CHECK(attic.read("a.txt") == "one\n");
    REQUIRE(files.restore(now));
    CHECK(attic.read("a.txt") == "two\n");
  }
}

TEST_CASE("what others changed between two attempts outlives any call of git that is cut off",
          "[workspace]") {
  const FaultyGit git;
  const std::string how = GENERATE("before", "after", "fails");
  for (int at = 1, struck = 1; struck != 0; ++at) {
    INFO(how << " call " << at);
    const Attic attic;
    FilesId then;
    {
      Workspace files = attic.open_as("r");
      then = files.keep().value();
      attic.write("b.txt", "by the program");
      REQUIRE(files.keep());
      REQUIRE(files.set_at_rest(true));
    }
    attic.write("a.txt", "by somebody else");
    attic.write("theirs", "by somebody else");
    const auto begun = [&] {
      auto files = attic.try_open("r", "here");
      return files && files.value().keep() && files.value().set_at_rest(false);
    };
    struck = git.strikes(at, how, begun) ? 1 : 0;
    REQUIRE(begun());
    attic.write("b.txt", "by the program, again");
    Workspace files = attic.open_as("r");
    REQUIRE(files.keep());
    CHECK(files.restore(then).value().conflicts.size() == 2);
    CHECK(attic.read("a.txt.triage-conflict") == "by somebody else");
    CHECK(attic.read("theirs.triage-conflict") == "by somebody else");
    CHECK_FALSE(fs::exists(attic.at("b.txt")));
  }
}

TEST_CASE("a removal that is cut off at any call of git leaves what others need", "[workspace]") {
  const FaultyGit git;
  const std::string how = GENERATE("before", "after", "fails");
  for (int at = 1, struck = 1; struck != 0; ++at) {
    INFO(how << " call " << at);
    const Attic attic;
    const auto ids = attic.old_run("live");
    attic.old_run("gone");
    attic.grow_old();
    const auto forgotten = [&] { return attic.forget({"gone"}).problems.empty(); };
    struck = git.strikes(at, how, forgotten) ? 1 : 0;
    attic.grow_old();
    CHECK(attic.forget({}).problems.empty());
    Workspace live = attic.open_as("live");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      REQUIRE(live.restore(ids[i]));
      CHECK(attic.read("of live") == Attic::noise("live" + std::to_string(i)));
    }
    Workspace again = attic.open_as("gone");
    CHECK(again.keep());
    // Nothing is left that nobody needs, unless the removal was killed before it began.
    if (at > 2) CHECK(attic.bytes() < 70'000);
  }
}

TEST_CASE("locks that a killed git has left hold up nobody", "[workspace]") {
  const Attic attic;
  attic.old_run("gone");
  const FilesId then = attic.open_as("r").keep().value();
  const std::string references = attic.repository() + "/" + references_of(shadow_name("r"));
  for (const std::string& lock :
       {attic.index("r") + ".lock", references + "kept.lock", references + "newest.lock",
        references + "before.lock", attic.repository() + "/packed-refs.lock",
        attic.repository() + "/packed-refs.new", attic.repository() + "/config.lock",
        attic.repository() + "/HEAD.lock"}) {
    std::ofstream(lock) << "half";
  }
  SECTION("when the run goes on") {
    Workspace files = attic.open_as("r");
    attic.write("a.txt", "two\n");
    REQUIRE(files.keep());
    attic.write("a.txt", "by somebody else\n");
    CHECK(files.restore(then).value().conflicts.size() == 1);
    CHECK(attic.read("a.txt") == "one\n");
  }
  SECTION("while the first run of a folder began") {
    fs::remove(attic.repository() + "/info/attributes");
    CHECK(attic.open_as("new").keep());
  }
  SECTION("when runs are removed") {
    std::ofstream(attic.repository() + "/gc.pid") << ::getpid() << " "
                                                  << "host";
    std::ofstream(attic.repository() + "/refs/" + shadow_name("gone") + "/kept.lock");
    attic.grow_old();
    const Forgotten forgotten = attic.forget({"gone"});
    for (const Error& problem : forgotten.problems) FAIL_CHECK(problem.detail);
    CHECK(forgotten.runs.size() == 1);
    CHECK(attic.bytes() < 5'000);
  }
}

TEST_CASE("an error says which signal has ended git", "[workspace]") {
  const Workshop shop;
  shop.script("git", "kill -KILL $$");
  const auto printed = with_git_of(shop, {.repository = shop.file("r"), .index = shop.file("i")});
  REQUIRE_FALSE(printed);
  CHECK(printed.error().detail == "git gc failed: signal 9 has ended it");
}

TEST_CASE("a git that hangs is ended, with all it has started", "[workspace]") {
  const Workshop shop;
  const std::string pid = shop.file("pid");
  fs::create_directories(shop.file("tree"));
  // What it prints lets its caller look at the clock.
  shop.script("git", "sleep 1000 &\necho $! > $W/started && mv $W/started $W/pid\necho; wait");
  const auto clock = std::make_shared<LeapingClock>([&] { return fs::exists(pid); });
  const auto printed = with_git_of(shop, {.repository = shop.file("r"),
                                          .index = shop.file("i"),
                                          .tree = shop.file("tree"),
                                          .watch = {.clock = clock}});
  REQUIRE_FALSE(printed);
  CHECK(printed.error().code == Errc::io);
  CHECK(printed.error().detail ==
        "git gc was ended, since it had not finished after 30m, which is as long as it may take");
  std::string left = read_text(pid);
  left.pop_back();  // The end of the line.
  CHECK((!lives(left) || is_being_killed(left)));
}

TEST_CASE("a pipe with the name of a file that git reads is named instead of waited for",
          "[workspace]") {
  const Room room;
  const std::string name = GENERATE(".gitignore", "sub/.gitignore", "sub/.gitattributes");
  room.write("sub/b.txt", "two\n");
  WorkspaceOptions options = room.options();
  bool leaps = false;
  options.watch.clock = std::make_shared<LeapingClock>([&] { return leaps; });
  Workspace files = Workspace::open(options).value();
  const FilesId then = files.keep().value();
  REQUIRE(::mkfifo(room.at(name).c_str(), 0600) == 0);
  room.write("sub/b.txt", "three\n");
  leaps = true;
  const auto kept = files.keep();
  REQUIRE_FALSE(kept);
  CHECK_THAT(kept.error().detail,
             ContainsSubstring("would wait for ever for ") && ContainsSubstring(name) &&
                 ContainsSubstring(", which is a pipe; of that name only a file is allowed"));
  leaps = false;
  fs::remove(room.at(name));
  CHECK(files.keep().value() != then);
}
