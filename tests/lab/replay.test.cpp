// SPDX-License-Identifier: MIT
// A stored run against another policy.
#include "triage/lab/replay.hpp"

#include "triage/agent.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/failures.hpp"
#include "triage/testing/scripted_agent.hpp"
#include "triage/testing/simulated_clock.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <memory>
#include <string>

using namespace triage;
using namespace triage::testing;
using namespace std::chrono_literals;
using lab::Comparison;

namespace {

FailurePolicy waiting(Duration delay, int attempts = 4) {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry({.max_attempts = attempts, .delay = delay}))
      .otherwise(rollback({.or_start = true}));
  return policy;
}

// Two 503s, a wrong tool, and a success; 100 tokens per attempt.
ScriptedAgent two_faults_and_a_wrong_tool() {
  ScriptedAgent script;
  const Usage each{.input_tokens = 60, .output_tokens = 40};
  script.attempt().step({.action = "look"}).usage(each).fail(failures::http(503));
  script.attempt().step({.action = "look"}).usage(each).fail(failures::http(503));
  script.attempt().usage(each).fail(failures::wrong_tool("fetch_page"));
  script.attempt().usage(each).succeed("done");
  return script;
}

JournalReading stored(const ScriptedAgent& script, const FailurePolicy& policy,
                      AgentOptions options = {}) {
  const std::shared_ptr<CheckpointStore> store = MemoryStore::create();
  options.store = store;
  options.clock = std::make_shared<SimulatedClock>();
  options.random = seeded_random(7);
  const TriageAgent agent{script, policy, options};
  static_cast<void>(agent.run("task", {.run_id = "r"}));
  auto reading = store->read("r", {});
  REQUIRE_OK(reading);
  return std::move(reading).value();
}

lab::PolicyReplay replayed(const JournalReading& reading, const FailurePolicy& policy,
                           const lab::ReplayOptions& options = {}) {
  auto replay = lab::replay_policy(reading, policy, options);
  REQUIRE_OK(replay);
  return std::move(replay).value();
}

}  // namespace

TEST_CASE("the policy of a run would decide as it did", "[lab][replay]") {
  const FailurePolicy policies[] = {
      waiting(2s), FailurePolicy().otherwise(retry_with_backoff({.max_attempts = 9})),
      FailurePolicy().on(FailureType::external_fault, retry()).otherwise(escalate("Ask.")),
      // Without a target the run escalates, as it would again.
      FailurePolicy().otherwise(rollback({.label = "nowhere"})), waiting(0s, 50)};
  for (const FailurePolicy& policy : policies) {
    const auto reading = stored(two_faults_and_a_wrong_tool(), policy);
    const auto replay = replayed(reading, policy);
    INFO(lab::describe(replay));
    CHECK_FALSE(replay.decisions.empty());
    CHECK_FALSE(replay.first_difference);
    for (const auto& one : replay.decisions) CHECK(one.comparison == Comparison::same);
  }
}

TEST_CASE("a limit ends a replay where it ended the run", "[lab][replay]") {
  ScriptedAgent script;
  script.attempt().fail(failures::http(503));
  script.repeat_last();
  const FailurePolicy policy = waiting(1s, 100);
  const auto reading = stored(script, policy, {.limits = {.max_attempts = 3}});
  CHECK_FALSE(replayed(reading, policy, {.limits = {.max_attempts = 3}}).first_difference);
  const auto without = replayed(reading, policy);
  CHECK(without.first_difference == 2U);
  CHECK(without.decisions[2].comparison == Comparison::goes_on);
}

TEST_CASE("another wait is told with what it saves", "[lab][replay]") {
  const auto reading = stored(two_faults_and_a_wrong_tool(), waiting(10s));
  const auto replay = replayed(reading, waiting(4s));
  REQUIRE(replay.decisions.size() == 3);
  CHECK(replay.decisions[0].comparison == Comparison::other_wait);
  CHECK(replay.decisions[1].comparison == Comparison::other_wait);
  CHECK(replay.decisions[2].comparison == Comparison::same);
  CHECK(replay.first_difference == 0U);
  CHECK_FALSE(replay.stops_at);
  CHECK(replay.waited == 20s);
  CHECK(replay.least_wait == 8s);
  CHECK(replay.most_wait == 8s);
}

TEST_CASE("waits that depend on chance are given as a range", "[lab][replay]") {
  const auto reading = stored(two_faults_and_a_wrong_tool(), waiting(10s));
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry_with_backoff({.max_attempts = 9}))
      .otherwise(rollback({.or_start = true}));
  const auto replay = replayed(reading, policy);
  CHECK(replay.decisions[0].least_wait < replay.decisions[0].most_wait);
  CHECK(replay.decisions[0].comparison == Comparison::other_wait);
}

TEST_CASE("a policy that gives up saves the rest of the run, and loses its result",
          "[lab][replay]") {
  const auto reading = stored(two_faults_and_a_wrong_tool(), waiting(10s));
  const auto replay = replayed(reading, waiting(10s, 2));
  CHECK(replay.stops_at == 1U);
  CHECK(replay.decisions[0].comparison == Comparison::same);
  CHECK(replay.decisions[1].comparison == Comparison::stops);
  CHECK(replay.attempts_spared == 2);
  CHECK(replay.spared.tokens() == 200);
  CHECK(replay.wait_spared == 10s);
  CHECK(replay.result_lost);
  const std::string text = lab::describe(replay);
  CHECK_THAT(text, ContainsSubstring("After attempt 2 the run would have ended: 2 attempts, 10s of "
                                     "waits and 200 tokens saved, and its result lost."));
  CHECK_THAT(text, ContainsSubstring("Assumed:\n  - Every failure comes as it came"));
  const Json json = lab::to_json(replay);
  CHECK(json["saved"]["output_tokens"] == 80);
  CHECK(json["decisions"][1]["comparison"] == "stops");
  CHECK(json["first_difference"] == 1);
}

TEST_CASE("a hint and a rollback's target count as differences", "[lab][replay]") {
  const auto reading = stored(two_faults_and_a_wrong_tool(), waiting(1s));
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry({.max_attempts = 4, .delay = 1s}))
      .otherwise(rollback({.latest = true}));
  const auto replay = replayed(reading, policy);
  CHECK(replay.first_difference == 2U);
  CHECK(replay.decisions[2].comparison == Comparison::other_words);
}

TEST_CASE("a replay is refused for a policy with a mistake and a run without a beginning",
          "[lab][replay]") {
  auto reading = stored(two_faults_and_a_wrong_tool(), waiting(1s));
  CHECK(lab::replay_policy(reading, waiting(1s, 0)).error().code == Errc::invalid_argument);
  CHECK(lab::replay_policy(reading, waiting(1s), {.limits = {.max_attempts = 0}}).error().code ==
        Errc::invalid_argument);
  reading.records.erase(reading.records.begin());
  CHECK(lab::replay_policy(reading, waiting(1s)).error().code == Errc::corrupt);
}

TEST_CASE("a run that nothing happened to has nothing to compare", "[lab][replay]") {
  ScriptedAgent script;
  script.attempt().succeed(1);
  const auto replay = replayed(stored(script, waiting(1s)), waiting(2s));
  CHECK(replay.decisions.empty());
  CHECK(lab::describe(replay) == "Run r: nothing failed, so no policy was asked.\n");
}

TEST_CASE("waits without end do not add up to less than nothing", "[replay]") {
  ScriptedAgent script;
  for (int i = 0; i < 3; ++i) {
    script.attempt().fail({.text = "busy", .http_status = 503, .retry_after = Duration::max()});
  }
  script.attempt().succeed("done");
  const JournalReading reading = stored(script, waiting(1s));
  FailurePolicy patient;
  patient.otherwise(retry_with_backoff({.max_attempts = 9}));
  const lab::PolicyReplay found = replayed(reading, patient);
  CHECK(found.most_wait == Duration::max());
  CHECK(lab::describe(found).find("-1") == std::string::npos);
}
