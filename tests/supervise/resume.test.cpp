// SPDX-License-Identifier: MIT
// Runs whose supervisor is killed: no process of an earlier attempt survives into a new one.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

std::vector<std::string> words_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Makes progress, so that the run is not quarantined, starts processes in its group, in a separate
// session and with an empty environment, reports that, and hangs. An attempt that finds a process
// of an earlier one alive writes to "doubled".
constexpr const char* litter = R"(
for pid in $(cat $W/pids 2>/dev/null); do
  state=$(sed 's/.*) //;s/ .*//' /proc/$pid/stat 2>/dev/null)
  [ -n "$state" ] && [ "$state" != Z ] && echo $pid >> $W/doubled
done
[ -e $W/finish ] && exit 0
)" TRIAGE_COMMAND R"( effect attempt:$TRIAGE_ATTEMPT -- true
echo $$ >> $W/pids
sleep 1000 & echo $! >> $W/pids
setsid sleep 1000 & echo $! >> $W/pids
env -i sleep 1000 & echo $! >> $W/pids
echo ready > $W/told
wait
)";

// Suspends two runs whose first attempt fails until 2 ms later, which has passed when a script has
// run.
void put_aside(const Workshop& shop, const std::string& script) {
  const std::string policy = shop.file("policy.json");
  std::ofstream(policy) << R"({"default": {"strategy": "retry", "delay": "2ms"}})";
  for (const char* run : {"r1", "r2"}) {
    const Printed printed =
        shop.run({"--run", run, "--max-wait", "1ms", "--policy", policy}, {script});
    REQUIRE(printed.status == 75);
  }
}

}  // namespace

TEST_CASE("30 kills of the supervisor leave no process beside the next attempt", "[resume]") {
  const Workshop shop;
  const std::string script = shop.script("litter", litter);
  Beside first(shop.run_line({"--run", "r"}, {script}));
  REQUIRE(shop.next_word() == "ready");
  first.end_with(SIGKILL);
  for (int kill = 2; kill <= 30; ++kill) {
    Beside next({TRIAGE_COMMAND, "resume", "r", "--store", shop.store()}, "/dev/null",
                shop.file("said_" + std::to_string(kill)));
    REQUIRE(shop.next_word() == "ready");
    next.end_with(SIGKILL);
  }
  std::string said;
  for (int kill = 2; kill <= 30; ++kill) {
    said += std::to_string(kill) + ": " + read_text(shop.file("said_" + std::to_string(kill)));
  }
  INFO("said: " << said);
  std::ofstream(shop.file("finish")) << "now";
  CHECK(shop.triage({"resume", "--all"}).status == 0);
  INFO("doubled: " << read_text(shop.file("doubled"))
                   << "\npids: " << read_text(shop.file("pids")));
  INFO(shop.triage({"checkpoint", "list", "--run", "r", "--all", "--json"}).out);
  CHECK(words_of(shop.file("doubled")).empty());
  const auto pids = words_of(shop.file("pids"));
  CHECK(pids.size() == 120);
  for (const std::string& pid : pids) CHECK_FALSE(lives(pid));
}

TEST_CASE("what is executing a program at the moment of a resume is ended, too", "[resume]") {
  const Workshop shop;
  const std::string loops = shop.script("loops", "exec \"$0\"");
  const std::string script =
      shop.script("a", "[ -e $W/finish ] && exit 0\nsetsid " + loops +
                           " & echo $! >> $W/pids\necho ready > $W/told\nwait");
  for (int kill = 1; kill <= 8; ++kill) {
    Beside next(shop.run_line({"--run", "r" + std::to_string(kill)}, {script}));
    REQUIRE(shop.next_word() == "ready");
    next.end_with(SIGKILL);
  }
  std::ofstream(shop.file("finish")) << "now";
  CHECK(shop.triage({"resume", "--all"}).status == 0);
  const auto pids = words_of(shop.file("pids"));
  CHECK(pids.size() == 8);
  for (const std::string& pid : pids) CHECK_FALSE(lives(pid));
}

TEST_CASE("a run ends no process of a run that has its name in another store", "[resume]") {
  const Workshop here;
  const Workshop there;
  const auto waits = [](const Workshop& shop) {
    return shop.script("a",
                       "[ $TRIAGE_ATTEMPT -gt 1 ] && exit 0\n"
                       "setsid sleep 1000 & echo $! > $W/away\n"
                       "echo $$ > $W/child\necho ready > $W/told\nwait");
  };
  Beside other(there.run_line({"--run", "r"}, {waits(there)}));
  REQUIRE(there.next_word() == "ready");
  Beside mine(here.run_line({"--run", "r"}, {waits(here)}));
  REQUIRE(here.next_word() == "ready");
  mine.end_with(SIGKILL);
  // The same store by another name: leftover processes are found nevertheless.
  std::filesystem::create_symlink(here.store(), here.file("link.db"));
  CHECK(run_program({TRIAGE_COMMAND, "resume", "r", "--store", here.file("link.db")}).status == 0);
  for (const char* name : {"child", "away"}) {
    CHECK_FALSE(lives(words_of(here.file(name)).at(0)));
    CHECK(lives(words_of(there.file(name)).at(0)));
  }
  CHECK(other.end_with(SIGTERM) == 128 + SIGTERM);  // That ends what it has started.
}

TEST_CASE("30 kills of the child are 30 attempts, and the run finishes", "[resume]") {
  const Workshop shop;
  const std::string script = shop.script(
      "dies", "[ $TRIAGE_ATTEMPT -gt 30 ] && exit 0\nsetsid sleep 1000 &\nkill -KILL $$");
  std::ofstream(shop.file("p.json")) << R"({"default": {"strategy": "retry", "max_attempts": 40}})";
  CHECK(shop.run({"--policy", shop.file("p.json"), "--quiet"}, {script}).status == 0);
}

TEST_CASE("two supervisors cannot own one run", "[resume]") {
  const Workshop shop;
  const std::string waits = shop.script("a", "echo ready > $W/told\nexec sleep 1000");
  Beside running(shop.run_line({"--run", "r"}, {waits}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(shop.triage({"resume", "r"}).status == 8);
  CHECK(shop.triage({"resume", "r…"}).status == 8);  // As shortened in lists.
  CHECK(shop.run({"--run", "r"}, {waits}).status == 8);
  CHECK(shop.triage({"resume", "--all"}).status == 0);  // It is not available to take.
}

TEST_CASE("resume says what it cannot go on with", "[resume]") {
  const Workshop shop;
  CHECK(shop.run({}, {"true"}).status == 0);
  CHECK(shop.triage({"resume", "nobody"}).status == 1);
  CHECK(shop.triage({"resume", "no…body"}).status == 1);
  CHECK(shop.triage({"resume"}).status == 2);
  CHECK(shop.triage({"resume", "r", "--due"}).status == 2);
  CHECK(shop.triage({"resume", "--due"}).status == 0);
}

TEST_CASE("going on with runs makes no store, at a misspelt path or by a timer", "[resume]") {
  const Workshop shop;
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"resume", "r"},
                                             {"resume", "--due"},
                                             {"resume", "--all"},
                                             {"decide", "token", "retry"}}) {
    const Printed refused = shop.triage(line);
    CHECK(refused.status == 1);
    CHECK_THAT(refused.error, ContainsSubstring(shop.store()));
  }
  CHECK_FALSE(std::filesystem::exists(shop.store()));
  const auto by_default = [&](const std::string& which) {
    return run_program(
        {"/usr/bin/env", "XDG_STATE_HOME=" + shop.file("state"), TRIAGE_COMMAND, "resume", which});
  };
  for (const char* which : {"--due", "--all"}) {
    const Printed printed = by_default(which);
    CHECK(printed.status == 0);
    CHECK(printed.error.empty());
  }
  CHECK(by_default("r").status == 1);
  CHECK_FALSE(std::filesystem::exists(shop.file("state")));
}

TEST_CASE("runs that are continued together are taken one at a time", "[resume]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  // The second attempt of whichever comes first waits for "go".
  const std::string rest = R"(
[ -e $W/free ] && echo $TRIAGE_RUN_ID >> $W/ran && exit 0
echo $TRIAGE_RUN_ID > $W/told
read word < $W/go
echo $TRIAGE_RUN_ID >> $W/ran
)";
  std::string option = "--all";
  SECTION("those whose supervisor is gone") {
    const std::string script = shop.script(
        "a", "[ $TRIAGE_ATTEMPT = 1 ] && echo begun > $W/told && exec sleep 1000\n" + rest);
    for (const char* run : {"r1", "r2"}) {
      Beside begun(shop.run_line({"--run", run}, {script}));
      REQUIRE(shop.next_word() == "begun");
      begun.end_with(SIGKILL);
    }
  }
  SECTION("those that are due") {
    option = "--due";
    const std::string script =
        shop.script("a", "[ $TRIAGE_ATTEMPT = 1 ] && echo 'HTTP 503' >&2 && exit 1\n" + rest);
    put_aside(shop, script);
  }
  Beside all({TRIAGE_COMMAND, "resume", option, "--store", shop.store()});
  const std::string first = shop.next_word();
  const std::string other = first == "r1" ? "r2" : "r1";
  std::ofstream(shop.file("free")) << "yes";
  CHECK(shop.triage({"resume", other}).status == 0);
  std::ofstream(shop.file("go")) << "go\n";
  CHECK(all.wait() == 0);
  CHECK(words_of(shop.file("ran")) == std::vector{other, first});
}

TEST_CASE("a stop ends the run in progress, and the due runs behind it still wait", "[resume]") {
  const Workshop shop;
  const std::string script =
      shop.script("a",
                  "[ $TRIAGE_ATTEMPT = 1 ] && echo 'HTTP 503' >&2 && exit 1\n"
                  "echo $TRIAGE_RUN_ID > $W/told\nexec sleep 1000");
  put_aside(shop, script);
  Beside all({TRIAGE_COMMAND, "resume", "--due", "--store", shop.store()});
  static_cast<void>(shop.next_word());
  CHECK(all.end_with(SIGTERM) == 128 + SIGTERM);
  CHECK(Json::parse(shop.triage({"suspended", "--json"}).out)["suspended"].size() == 1);
}
