// SPDX-License-Identifier: MIT
// What users of the reference library rely on, in our words: limits, classification, hooks,
// concurrency, logs. The numbers refer to tests/reference/README.md.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// Always fails, at a cost; each attempt takes a second.
struct Endless {
  std::shared_ptr<ManualClock> clock{};
  std::shared_ptr<int> calls = std::make_shared<int>(0);

  int operator()(const std::string&, Attempt& attempt) const {
    ++*calls;
    if (clock) clock->advance(std::chrono::seconds(1));
    attempt.record_usage({.input_tokens = 100, .cost_usd = 0.10});
    throw std::runtime_error("HTTP 503: external_fault");
  }
};

}  // namespace

TEST_CASE("reference 32, 33: attempts are limited, and the error knows the task", "[reference]") {
  AgentOptions options = Kit().bare();
  options.limits.max_attempts = 3;
  const Endless endless;
  const TriageAgent agent{endless, answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("the task");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(*endless.calls == 3);
  CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts"));
  CHECK(result.error().failure()->task == "the task");
}

TEST_CASE("reference 34: history starts empty, grows by type and action, and is a snapshot",
          "[reference]") {
  std::vector<FailureContext> seen;
  FailurePolicy policy;
  policy.otherwise([&](const FailureContext& context) {
    seen.push_back(context);
    return seen.size() < 3 ? RecoveryAction::replan() : RecoveryAction::escalate();
  });
  const TriageAgent agent{Endless{}, policy, Kit().bare()};
  CHECK_ERRC(Errc::escalated, agent.run("t"));
  REQUIRE(seen.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(seen[i].history.size() == i);
    for (const HistoryEntry& entry : seen[i].history) {
      CHECK(entry.type == FailureType::external_fault);
      CHECK(to_string(entry.action) == "replan");
    }
  }
}

TEST_CASE("reference 35: elapsed time is limited on the injected clock, and unlimited by default",
          "[reference]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.limits.max_elapsed = std::chrono::seconds(GENERATE(0, 4));
  const Endless endless{kit.clock};
  const TriageAgent agent{endless, answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("t");
  CHECK_ERRC(Errc::escalated, result);
  const bool limited = options.limits.max_elapsed != Duration::zero();
  CHECK(*endless.calls == (limited ? 4 : 10));
  if (limited) CHECK_THAT(result.error().detail, ContainsSubstring("max_elapsed"));
}

TEST_CASE("reference 36: tokens and money are limited", "[reference]") {
  AgentOptions options = Kit().bare();
  const bool tokens = GENERATE(true, false);
  if (tokens) {
    options.limits.max_tokens = 150;
  } else {
    options.limits.max_cost_usd = 0.15;
  }
  const Endless endless;
  const TriageAgent agent{endless, answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("t");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(*endless.calls == 2);
  CHECK_THAT(result.error().detail, ContainsSubstring(tokens ? "max_tokens" : "max_cost_usd"));
}

TEST_CASE("reference 38, 39: without any step the exception's own text is classified",
          "[reference]") {
  Kit kit;
  const TriageAgent agent{Endless{}, answers({RecoveryAction::escalate()}), kit.bare()};
  const auto result = agent.run("t");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->trajectory.empty());  // No step is invented.
  CHECK(result.error().failure()->type() == FailureType::external_fault);
  CHECK_THAT(result.error().failure()->text, ContainsSubstring("503"));
}

TEST_CASE("reference 40: each failure is classified once", "[reference]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.limits.max_attempts = 4;
  const TriageAgent agent{Endless{}, answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("t"));
  CHECK(kit.classifier->calls == 4);
}

TEST_CASE("reference 43, 44: a child's failure keeps its type in the parent, wrapped or not",
          "[reference]") {
  Kit kit;
  const TriageAgent child{
      [](const std::string&) -> int { throw std::runtime_error("quota_exhausted"); },
      answers({RecoveryAction::escalate()}), kit.bare()};
  const bool wrapped = GENERATE(true, false);
  const TriageAgent parent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                             auto result = child.run("c", {.parent = &attempt});
                             if (!wrapped) return result;
                             try {
                               return result.value();
                             } catch (...) {
                               std::throw_with_nested(std::runtime_error("the child failed"));
                             }
                           },
                           answers({RecoveryAction::escalate()}), kit.bare()};
  const auto result = parent.run("p");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::quota_exhausted);
}

TEST_CASE("reference 45: steps and failures are told in order, nothing more on success",
          "[reference]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "a"});
                            attempt.record_step({.action = "b"});
                          },
                          answers({RecoveryAction::retry()}), kit.bare()};
  REQUIRE_OK(agent.run("t"));
  std::string steps;
  const auto events = kit.log->entries();
  for (const auto& event : events) steps += event.step;
  CHECK(steps == "ab");
  CHECK(kit.log->count(EventKind::attempt_failed) == 0);
  CHECK(kit.log->count(EventKind::recovery_chosen) == 0);
}

TEST_CASE("reference 46: strict idempotency escalates and names the step; otherwise it is repeated",
          "[reference]") {
  AgentOptions options = Kit().bare();
  options.strict_idempotency = GENERATE(true, false);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "charge the card"});
                            if (++calls == 1) throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("t");
  CHECK(calls == (options.strict_idempotency ? 1 : 2));
  CHECK(result.has_error() == options.strict_idempotency);
  if (result.has_error()) {
    CHECK_THAT(result.error().detail, ContainsSubstring("charge the card"));
  }
}

TEST_CASE("reference 48: on_escalate may recover, and an answer of nothing escalates",
          "[reference]") {
  AgentOptions options = Kit().bare();
  const bool helps = GENERATE(true, false);
  options.hooks.on_escalate = [helps](const FailureContext&) -> std::optional<RecoveryAction> {
    if (helps) return RecoveryAction::retry();
    return std::nullopt;
  };
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("t").has_value() == helps);
}

TEST_CASE("reference 51, 52, 53: two runs at once recover apart, with meters of their own",
          "[reference]") {
  Kit kit;
  const TriageAgent agent{[](const std::string& task, Attempt& attempt) {
                            attempt.record_usage({.input_tokens = 10});
                            attempt.record_step({.action = task});
                            attempt.update_state({{"task", task}});
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return attempt.trajectory().size();
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  std::vector<std::thread> threads;
  for (const char* name : {"a", "b"}) {
    threads.emplace_back([&agent, name] {
      if (agent.run(name, {.run_id = name}).value() != 1) std::terminate();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* name : {"a", "b"}) {
    const Journal journal = stored_journal(*kit.store, name);
    CHECK(journal.attempts() == 2);
    CHECK(journal.usage().input_tokens == 20);
    CHECK(journal.state().value("task", std::string()) == name);
    CHECK(journal.trajectory()[0].action == name);
  }
}

TEST_CASE("reference 54: a failure's event has its type, a decision's its action", "[reference]") {
  Kit kit;
  FailureType type = FailureType::unknown;
  AgentOptions options = kit.bare();
  options.observer = observe([&](const Event& event) {
    if (event.kind == EventKind::failure_classified) type = event.failure->type();
    kit.log->on_event(event);
  });
  const TriageAgent agent{Endless{}, answers({RecoveryAction::abort()}), options};
  CHECK_ERRC(Errc::aborted, agent.run("t"));
  CHECK(type == FailureType::external_fault);
  CHECK(kit.log->last(EventKind::recovery_chosen).action == "abort");
}
