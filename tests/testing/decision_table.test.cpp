// SPDX-License-Identifier: MIT
#include "triage/testing/decision_table.hpp"

#include "support/catch.hpp"
#include "triage/testing/testing.hpp"
#include "triage/triage.hpp"

#include <memory>
#include <stdexcept>

using namespace triage;
using namespace triage::testing;
using namespace std::chrono_literals;
using Kind = RecoveryAction::Kind;

namespace {

FailurePolicy our_policy() { return FailurePolicy().otherwise(escalate()); }

}  // namespace

// docs/policies.md shows this test case; tests/policies/docs.test.cpp compares them.
TEST_CASE("a wrong password goes to a person") {
  ScriptedAgent script;
  script.attempt().fail(failures::access_denied());
  const TriageAgent agent{script, our_policy(), {.clock = std::make_shared<SimulatedClock>()}};
  CHECK_THAT(agent.run("task"), FailsWith(Errc::escalated, FailureType::access_denied));
  CHECK_THAT(our_policy(), Decides(context_for(FailureType::access_denied), Kind::escalate));
}

TEST_CASE("our policy decides as we agreed") {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry_with_backoff({.max_attempts = 3, .max_delay = 8s}))
      .otherwise(escalate());

  const DecisionTable table{
      {"a first overload is retried soon",
       context_for(FailureType::external_fault),
       {.action = Kind::retry, .delay_at_most = 500ms}},
      {"we wait as long as we are told to",
       context_for(FailureType::external_fault).after(1).retry_after(1min),
       {.action = Kind::retry, .delay_at_least = 1min}},
      {"the third overload goes to a person",
       context_for(FailureType::external_fault).after(2),
       {.action = Kind::escalate, .message_has = "max_attempts (3)"}},
      {"a wrong password is never retried",
       context_for(FailureType::access_denied),
       {.action = Kind::escalate}},
  };
  CHECK(table.report(policy) == "");
}

TEST_CASE("a row that does not hold is reported with its name, what was wanted and what came",
          "[testing][decision_table]") {
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 9, .delay = 2s, .hint = "slowly"}));
  const DecisionTable table{
      {"holds", context_for(FailureType::timeout), {.action = Kind::retry}},
      {"other action", context_for(FailureType::timeout).after(1), {.action = Kind::escalate}},
      {"everything",
       context_for(FailureType::timeout),
       {.action = Kind::retry,
        .delay = 1s,
        .delay_at_least = 3s,
        .delay_at_most = 1500ms,
        .hint_has = "fast",
        .message_has = "gone",
        .subgoal = "s",
        .target = RollbackTarget::Kind::label}},
  };
  const auto lines = table.mismatches(policy);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] ==
        "\"other action\" (timeout, failure 2 of its type, attempt 2): expected action "
        "escalate; got retry after 2 s (hint: slowly)");
  for (const char* part :
       {"\"everything\"", "delay 1 s", "at least 3 s", "at most 1.5 s", "hint with \"fast\"",
        "message with \"gone\"", "subgoal \"s\"", "labelled"}) {
    CHECK_THAT(lines[1], ContainsSubstring(part));
  }
  CHECK(table.report(policy) == lines[0] + "\n" + lines[1] + "\n");
}

TEST_CASE("bounds of a row include their ends", "[testing][decision_table]") {
  FailurePolicy policy;
  policy.otherwise(retry({.delay = 2s}));
  const DecisionTable table{
      {"exact",
       context_for(FailureType::timeout),
       {.action = Kind::retry, .delay = 2s, .delay_at_least = 2s, .delay_at_most = 2s}}};
  CHECK(table.mismatches(policy).empty());
}

TEST_CASE("a strategy that throws is a mismatch, not the end of the table",
          "[testing][decision_table]") {
  FailurePolicy policy;
  policy.on(FailureType::timeout,
            [](const FailureContext&) -> RecoveryAction { throw std::runtime_error("no idea"); });
  policy.on(FailureType::unknown, [](const FailureContext&) -> RecoveryAction { throw 42; });
  DecisionTable table;
  table.add({"one", context_for(FailureType::timeout), {.action = Kind::retry}})
      .add({"two", context_for(FailureType::unknown), {.action = Kind::retry}})
      .add({"three", context_for(FailureType::refused), {.action = Kind::escalate}});
  CHECK(table.size() == 3);
  const auto lines = table.mismatches(policy);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], ContainsSubstring("no idea"));
}

TEST_CASE("a context is the first failure of a run unless told otherwise", "[testing][context]") {
  const FailureContext plain = context_for(FailureType::timeout);
  CHECK(plain.type() == FailureType::timeout);
  CHECK(plain.attempt_number == 1);
  CHECK(plain.occurrence() == 1);
  CHECK_FALSE(plain.remaining.has_value());

  const FailureContext later = context_for(FailureType::timeout)
                                   .with_history({{FailureType::unknown, Kind::retry, {}}})
                                   .after(2)
                                   .after(1, FailureType::refused, Kind::replan);
  CHECK(later.history.size() == 4);
  CHECK(later.attempt_number == 5);
  CHECK(later.occurrence() == 3);
  CHECK(later.previous(FailureType::refused) == 1);
  CHECK(context_for(FailureType::timeout).after(2).attempt_number(9).build().attempt_number == 9);
}
