// SPDX-License-Identifier: MIT
// A table of whole runs: an example of a useful policy test.
#include "triage/testing/run_table.hpp"

#include "triage/policies/backoff.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/failures.hpp"

#include "support/catch.hpp"

#include <string>

using namespace triage;
using namespace triage::testing;
using namespace std::chrono_literals;

namespace {

FailurePolicy policy() {
  FailurePolicy policy;
  policy
      .on(FailureType::external_fault,
          retry_with_backoff({.max_attempts = 3, .jitter = Jitter::none}))
      .on(FailureType::refused, abort_run("no"))
      .otherwise(escalate());
  return policy;
}

}  // namespace

TEST_CASE("a policy is tested by a table of runs", "[testing][table]") {
  CHECK(run_table(policy(),
                  {{"two 503s are healed",
                    {failures::http(503), failures::http(503), "ok"},
                    {.value = "ok", .attempts = 3, .waits = {{500ms, 1s}}}},
                   {"a third one is not",
                    {failures::http(503)},
                    {.error = Errc::escalated, .attempts = 3, .waited_at_most = 2s}},
                   {"a refusal ends it",
                    {failures::refused()},
                    {.error = Errc::aborted, .type = FailureType::refused, .attempts = 1}}}) == "");
}

TEST_CASE("a row that does not hold says what was expected and what happened", "[testing][table]") {
  const std::string report = run_table(
      policy(), {{"hoped for", {failures::http(503)}, {.value = 1, .attempts = 1}},
                 {"holds", {7}, {.value = 7, .attempts = 1, .waits = std::vector<Duration>{}}}});
  CHECK_THAT(report, ContainsSubstring("\"hoped for\": expected success with 1, 1 attempt; got "
                                       "escalated (external_fault): ") &&
                         ContainsSubstring("3 attempts, waits: 0.5 s, 1 s"));
  CHECK_THAT(report, !ContainsSubstring("holds"));
}

TEST_CASE("one run is played without a script", "[testing][table]") {
  const PlayedRun run = play({failures::http(503), "ok"}, policy());
  CHECK(run.result.value() == "ok");
  CHECK(run.attempts == 2);
  CHECK(run.waits == std::vector<Duration>{500ms});
  CHECK(play({failures::refused()}, policy()).result.error().code == Errc::aborted);
}

TEST_CASE("a thousand scenarios are a thousand runs, and none sleeps", "[testing][table]") {
  std::vector<RunRow> rows;
  for (int i = 0; i < 1000; ++i) {
    rows.push_back({"row " + std::to_string(i),
                    {failures::http(503), failures::overloaded(), i},
                    {.value = i, .attempts = 3, .waited_at_most = 10s}});
  }
  CHECK(run_table(policy(), rows) == "");
}

TEST_CASE("rows that share a store are runs of their own", "[testing][table]") {
  const auto store = MemoryStore::create();
  CHECK(run_table(policy(),
                  {{"one", {failures::http(503), 1}, {.value = 1, .attempts = 2}},
                   {"another", {2}, {.value = 2, .attempts = 1}},
                   {"a refusal", {failures::refused()}, {.error = Errc::aborted}}},
                  {.store = store}) == "");
  CHECK(store->runs({}).value().size() == 3);
}

TEST_CASE("no row of a table feels what an earlier one did to a gate", "[testing][table]") {
  const auto limited = [] {
    return AgentOptions{.gates = {RateLimiter::create({.permits = 1, .period = 10s}).value()}};
  };
  const std::vector<RunRow> rows{{"one", {1}, {.value = 1, .waits = std::vector<Duration>{}}},
                                 {"another", {2}, {.value = 2, .waits = std::vector<Duration>{}}}};
  CHECK(run_table(policy(), rows, limited) == "");
  CHECK_THAT(run_table(policy(), rows, limited()),
             ContainsSubstring("pass a function that makes the options of one row"));
  CHECK_THAT(run_table(policy(), rows, {.budget = Budget::create({.max_calls = 9}).value()}),
             ContainsSubstring("the rows share gates or a budget"));
  CHECK(run_table(policy(), {rows[0]}, limited()) == "");
}

TEST_CASE("a run that never ran has no failure of type unknown", "[testing][table]") {
  const std::vector<RunRow> rows{
      {"never", {failures::mysterious()}, {.type = FailureType::unknown}}};
  CHECK(run_table(policy(), rows, {.limits = {.max_attempts = 9}}) == "");
  CHECK_THAT(run_table(policy(), rows, {.limits = {.max_attempts = -5}}),
             ContainsSubstring("limits.max_attempts is -5"));
}
