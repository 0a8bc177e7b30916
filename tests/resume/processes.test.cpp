// SPDX-License-Identifier: MIT
// Suspended runs in a file: other processes, and where the token must not appear.
#include "resume/claim.hpp"
#include "resume/durable.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/sqlite.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

using namespace triage;
using namespace triage::test;

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the token is nowhere in the file", "[suspension][processes]") {
  const TempFolder folder;
  const std::string path = folder.file("s.db");
  Kit kit;
  std::string token;
  {
    AgentOptions options = kit.with(SqliteStore::open(path).value());
    const TriageAgent agent{&fails_once, answers({asking()}), options};
    token = token_of(agent.run("x", {.run_id = "r"}));
    const std::string open = content_of(path) + content_of(path + "-wal");
    CHECK(open.find("may I?") != std::string::npos);
    CHECK(open.find(token) == std::string::npos);
    CHECK(open.find(token.substr(0, 16)) == std::string::npos);
    const auto keys = options.store->list("triage/suspensions", "").value();
    REQUIRE(keys.size() == 1);
    CHECK(keys[0] != token);
    CHECK(agent.decide(token, RecoveryAction::resume(), {.who = "ops"}).value() == 12);
    CHECK(options.store->list("triage/suspensions", "").value().empty());
  }
  const std::string closed = content_of(path) + content_of(path + "-wal");
  CHECK(closed.find("ops") != std::string::npos);
  CHECK(closed.find(token) == std::string::npos);
}

TEST_CASE("a process that has ended loses no suspended run", "[suspension][processes]") {
  const TempFolder folder;
  const std::string path = folder.file("s.db");
  const std::string token_file = folder.file("token");
  const pid_t child = ::fork();
  if (child == 0) {
    Kit kit;
    AgentOptions options = kit.with(SqliteStore::open(path).value());
    const TriageAgent agent{&fails_once, answers({asking()}), options};
    const auto result = agent.run("x", {.run_id = "r"});
    std::ofstream(token_file) << result.error().suspension()->token << std::flush;
    ::_exit(0);  // Without closing anything.
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  Kit kit;
  AgentOptions options = kit.with(SqliteStore::open(path).value());
  const TriageAgent agent{&fails_once, answers({asking()}), options};
  CHECK(agent.decide(content_of(token_file), RecoveryAction::resume()).value() == 12);
}

TEST_CASE("of several threads and processes that go on with one run exactly one wins",
          "[suspension][processes]") {
  const auto contenders =
      GENERATE(Contenders{.processes = 1, .threads = 2}, Contenders{.processes = 2, .threads = 1},
               Contenders{.processes = 2, .threads = 2},
               Contenders{.processes = 2, .threads = 1, .by_time = true},
               Contenders{.processes = 1, .threads = 2, .by_time = true});
  INFO(contenders.processes << " processes, " << contenders.threads << " threads each, by time "
                            << contenders.by_time);
  const TempFolder folder;
  const ClaimReport report = claim_race(folder.file("s.db"), 60, contenders);
  CHECK(report.rounds == 60);
  CHECK(report.winners == 60);
  CHECK(report.rounds_with_one_winner == 60);
  CHECK(report.calls == 60);
  CHECK(report.other_errors == 0);
}

TEST_CASE("a process that dies behind more and more state changes is never quarantined",
          "[poison][processes]") {
  const TempFolder folder;
  const std::string path = folder.file("s.db");
  for (int life = 0; life < 6; ++life) {
    const pid_t child = ::fork();
    if (child == 0) {
      Kit kit;
      AgentOptions options = kit.with(SqliteStore::open(path).value());
      options.write_mode = WriteMode::immediate;
      const TriageAgent agent{[](const std::string&, Attempt& attempt) -> int {
                                const int page = attempt.state().json().value("page", 0);
                                // So many that a snapshot supersedes the first ones.
                                for (int i = 1; i <= 150; ++i) {
                                  attempt.update_state({{"page", page + i}});
                                }
                                ::_exit(9);
                              },
                              answers({}), options};
      (void)agent.run_or_resume("r", "x");
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    INFO("life " << life);
    CHECK(WEXITSTATUS(status) == 9);
  }
  const auto store = SqliteStore::open(path).value();
  CHECK(store->run("r").value().status == RunStatus::running);
}
