// SPDX-License-Identifier: MIT
// on_escalate and effects in doubt.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("on_escalate is asked about a doubt that comes up inside an effect", "[effect][hooks]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.options() : kit.bare();
  int asked = 0;
  std::optional<RecoveryAction> instead;
  options.hooks.on_escalate = [&](const FailureContext& context) {
    ++asked;
    CHECK(context.classification.reason == "effect_in_doubt");
    CHECK_THAT(context.text, ContainsSubstring("mail"));
    return std::exchange(instead, std::nullopt);
  };
  bool sent = false;
  int effects = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            return attempt.effect("mail",
                                                  [&]() -> int {
                                                    ++effects;
                                                    throw std::runtime_error("no answer");
                                                  },
                                                  {.reconcile = [&] {
                                                    return sent ? Reconciled::done(7)
                                                                : Reconciled::unknown("not yet");
                                                  }});
                          },
                          answers({RecoveryAction::retry()}), options};
  SECTION("no answer: the run ends in doubt, as without the hook") {
    CHECK_ERRC(Errc::in_doubt, agent.run("x"));
    CHECK(asked == 1);
    CHECK(effects == 1);
    CHECK(kit.log->count(EventKind::run_escalated) == 1);
  }
  SECTION("trying again asks again what is in doubt, and repeats nothing") {
    instead = RecoveryAction::retry("it may be known now");
    CHECK_ERRC(Errc::in_doubt, agent.run("x"));
    CHECK(asked == 2);  // The second attempt's doubt is another escalation.
    CHECK(effects == 1);
  }
  SECTION("once it is known, the run goes on") {
    instead = RecoveryAction::retry("it is known now", std::chrono::seconds(1));
    kit.clock->on_sleep = [&](TimePoint) { sent = true; };
    CHECK(agent.run("x").value() == 7);
    CHECK(effects == 1);
  }
  SECTION("another end may be chosen") {
    instead = RecoveryAction::fallback(3);
    CHECK(agent.run("x").value() == 3);
  }
}

TEST_CASE("an error says each thing once", "[run]") {
  const auto detail_with = [](FailurePolicy policy) {
    const TriageAgent agent{[](int, Attempt& attempt) -> Result<int> {
                              return attempt.fail({.text = "the printer is on fire"});
                            },
                            std::move(policy), Kit().bare()};
    const std::string detail = agent.run(1).error().detail;
    std::size_t times = 0;
    for (std::size_t at = 0; (at = detail.find("on fire", at)) != std::string::npos; ++at) ++times;
    CHECK(times == 1);
    return detail;
  };
  const auto act = [](RecoveryAction action) {
    return FailurePolicy().otherwise([action](const FailureContext&) { return action; });
  };
  CHECK_THAT(detail_with(act(RecoveryAction::escalate())), !ContainsSubstring("escalated"));
  CHECK_THAT(detail_with(act(RecoveryAction::escalate("look: the printer is on fire"))),
             ContainsSubstring("look"));
}

TEST_CASE("an error tells its failure once and escaped, however short or odd its text is",
          "[run]") {
  const auto detail_with = [](std::string text, FailurePolicy policy) {
    const TriageAgent agent{
        [text](int, Attempt& attempt) -> Result<int> { return attempt.fail({.text = text}); },
        std::move(policy), Kit().bare()};
    return agent.run(1).error().detail;
  };
  const auto by = [](Strategy strategy) { return FailurePolicy().otherwise(std::move(strategy)); };
  const FailurePolicy plain = by(escalate());
  CHECK(detail_with("first line\nsecond line", plain) ==
        "escalated: unknown of attempt 1: first line\\nsecond line");
  CHECK(detail_with("\x1b[31mred", plain) == "escalated: unknown of attempt 1: \\x1b[31mred");
  const FailurePolicy once = by(retry({.max_attempts = 1}));
  CHECK_THAT(detail_with("max", once), ContainsSubstring("; the failure was: max"));
  CHECK_THAT(detail_with("x", once), ContainsSubstring("; the failure was: x"));
  CHECK_THAT(detail_with("a\nb", by(escalate("look"))),
             ContainsSubstring("the failure was: a\\nb"));
}
