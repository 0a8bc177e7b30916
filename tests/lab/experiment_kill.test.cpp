// SPDX-License-Identifier: MIT
// An experiment whose process is killed at every record that it stores, and started again each
// time.
#include "crash/killing_store.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/lab/experiment.hpp"
#include "triage/stores/sqlite.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

using namespace triage;
using namespace triage::test;

namespace {

lab::Sample coin(const lab::Condition& condition, std::uint64_t seed) {
  const std::uint64_t thrown = seed * 2654435761U % 10;
  return {.success = thrown < (condition["side"] == "heads" ? 4U : 7U),
          .figures = {{"thrown", static_cast<double>(thrown) / 3}}};
}

lab::ExperimentOptions options(std::shared_ptr<CheckpointStore> store) {
  return {.factors = {{"side", {"heads", "tails"}}},
          .seeds = 97,
          .threads = 2,
          .store = std::move(store),
          .name = "coins"};
}

using Chosen = std::function<bool(const Record&)>;

// Runs the experiment in a process of its own: false if it was killed at the chosen record.
bool survives(const std::string& file, const Chosen& chosen, bool after_commit) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = SqliteStore::open(file);
    if (!store) ::_exit(9);
    const auto killing = std::make_shared<KillingStore>(store.value(), chosen, after_commit);
    ::_exit(lab::run_experiment(coin, options(killing)) ? 0 : 8);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) {
    REQUIRE(WEXITSTATUS(status) == 0);
    return true;
  }
  REQUIRE(WTERMSIG(status) == SIGKILL);
  return false;
}

// The n-th record of each process.
Chosen nth(int n) {
  return [n](const Record&) mutable { return --n == 0; };
}

}  // namespace

TEST_CASE("an experiment that is killed again and again comes to what an unbroken one does",
          "[lab][experiment]") {
  const auto whole = lab::run_experiment(coin, options(nullptr));
  REQUIRE_OK(whole);
  for (const bool after_commit : {false, true}) {
    const TempFolder folder;
    const std::string file = folder.file("runs.db");
    // Each life keeps a few blocks, and loses what was under way.
    int lives = 1;
    while (!survives(file, nth(6), after_commit) && lives < 100) ++lives;
    INFO("lives: " << lives);
    CHECK(lives > 15);
    CHECK(lives < 100);
    const auto store = SqliteStore::open(file);
    REQUIRE_OK(store);
    const auto report = lab::run_experiment(coin, options(store.value()));
    REQUIRE_OK(report);
    CHECK(report.value().resumed == 2 * 97);
    CHECK(report.value().csv() == whole.value().csv());
    CHECK(report.value().json() == whole.value().json());
  }
}

TEST_CASE("a kill before the result of an experiment is stored costs no trial",
          "[lab][experiment]") {
  const TempFolder folder;
  const std::string file = folder.file("runs.db");
  const auto at_the_result = [](const Record& record) {
    return record.kind() == RecordKind::finished;
  };
  REQUIRE_FALSE(survives(file, at_the_result, false));
  const auto store = SqliteStore::open(file);
  REQUIRE_OK(store);
  std::atomic<int> trials{0};
  const auto counted = [&trials](const lab::Condition& condition, std::uint64_t seed) {
    ++trials;
    return coin(condition, seed);
  };
  const auto report = lab::run_experiment(counted, options(store.value()));
  REQUIRE_OK(report);
  CHECK(trials == 0);
  CHECK(report.value().resumed == 2 * 97);
  CHECK(report.value().csv() == lab::run_experiment(coin, options(nullptr)).value().csv());
}
