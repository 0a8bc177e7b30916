// SPDX-License-Identifier: MIT
// Runs that kill their process, with real processes and kill -9: quarantined, listed, and revived
// by hand.
#include "cli/stores.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace triage;
using namespace triage::test;

namespace {

// Reports through `ready` that it is being called, then waits to be killed; with -1 it finishes.
auto agent_on(const std::string& database, int ready) {
  return TriageAgent{[ready](const std::string&, Attempt& attempt) -> int {
                       attempt.record_step({.action = "work"});
                       if (ready < 0) return attempt.number();
                       if (::write(ready, "x", 1) != 1) ::_exit(1);
                       for (;;) ::pause();
                     },
                     FailurePolicy().otherwise(escalate()),
                     {.store = SqliteStore::open(database).value(),
                      .write_mode = WriteMode::deferred}};  // Writes nothing in the background.
}

enum class Begin { run, resume };

// Kills a process with SIGKILL while its callable runs. Returns whether the callable was called.
bool die_in_callable(const std::string& database, Begin begin) {
  int pipe[2] = {-1, -1};
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(pipe[0]);
    const auto agent = agent_on(database, pipe[1]);
    const auto result =
        begin == Begin::run ? agent.run("x", {.run_id = "r"}) : agent.resume_run("r");
    ::_exit(result ? 1 : 0);  // Without calling the callable.
  }
  ::close(pipe[1]);
  char byte = 0;
  const bool called = ::read(pipe[0], &byte, 1) == 1;
  ::close(pipe[0]);
  if (called) ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE((called ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : WIFEXITED(status)));
  return called;
}

std::vector<std::string> poisoned(const std::string& database) {
  std::vector<std::string> found;
  const Json document =
      json_of(triage_command({"checkpoint", "list", database, "--status", "poisoned", "--json"}));
  for (const Json& run : document["runs"]) found.push_back(run["id"]);
  return found;
}

}  // namespace

TEST_CASE("a run whose process is killed three times while it is resumed is quarantined",
          "[cli][poison]") {
  const TempFolder folder;
  const std::string database = folder.file("p.db");
  REQUIRE(die_in_callable(database, Begin::run));
  for (int kill = 1; kill <= 3; ++kill) {
    INFO("kill " << kill);
    CHECK(poisoned(database).empty());
    CHECK(die_in_callable(database, Begin::resume));
  }
  CHECK_FALSE(die_in_callable(database, Begin::resume));  // Refused, so there is nothing to kill.
  CHECK(poisoned(database) == std::vector<std::string>{"r"});
  CHECK_THAT(triage_command({"checkpoint", "list", database, "--status", "poisoned"}).out,
             ContainsSubstring("poisoned"));

  const auto agent = agent_on(database, -1);
  CHECK_ERRC(Errc::conflict, agent.resume_run("r"));
  CHECK_ERRC(Errc::conflict, agent.run_or_resume("r", "x"));
  CHECK(agent.resume_due().value().empty());
  CHECK(poisoned(database).size() == 1);
  CHECK(agent.resume_run("r", {.revive = true}).value() == 5);  // All attempts were counted.
  CHECK(poisoned(database).empty());
}

TEST_CASE("max_crashes says how many kills are too many", "[cli][poison]") {
  const TempFolder folder;
  const std::string database = folder.file("p.db");
  REQUIRE(die_in_callable(database, Begin::run));
  REQUIRE(die_in_callable(database, Begin::resume));
  const TriageAgent strict{[](const std::string&) { return 1; },
                           FailurePolicy().otherwise(escalate()),
                           {.store = SqliteStore::open(database).value(), .max_crashes = 1}};
  CHECK_ERRC(Errc::conflict, strict.resume_run("r"));
  CHECK(poisoned(database).size() == 1);
}
