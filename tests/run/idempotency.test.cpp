// SPDX-License-Identifier: MIT
// strict_idempotency: what the callable did and did not mark as repeatable is not repeated.
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("strict_idempotency escalates before anything is done again, naming the step",
          "[limits]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.strict_idempotency = true;
  const auto action =
      GENERATE(as<RecoveryAction>{}, RecoveryAction::retry("", 10s), RecoveryAction::replan(),
               RecoveryAction::rollback(), RecoveryAction::resume());
  int calls = 0;
  bool idempotent = false;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "send mail", .idempotent = idempotent});
                            if (++calls < 3) throw std::runtime_error("timeout");
                          },
                          answers({action}), options};
  const auto refused = agent.run("x");
  CHECK_ERRC(Errc::escalated, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("send mail"));
  CHECK(calls == 1);
  CHECK(kit.clock->waits.empty());
  idempotent = true;
  REQUIRE_OK(agent.run("x"));
  CHECK(calls == 3);
}

TEST_CASE("strict_idempotency is about what the failed attempt did, not about what it was given",
          "[limits]") {
  Kit kit;
  AgentOptions options = kit.options();
  int calls = 0;
  const auto agent = [&](RecoveryAction action) {
    return TriageAgent{[&](const std::string&, Attempt& attempt) {
                         attempt.record_step({.action = "send mail", .idempotent = ++calls > 1});
                         if (calls < 4) throw std::runtime_error("timeout");
                       },
                       answers({action, action}), options};
  };
  CHECK_ERRC(Errc::escalated, agent(RecoveryAction::escalate()).run("x", {.run_id = "r"}));
  options.strict_idempotency = true;
  const auto resumed = agent(RecoveryAction::resume()).resume_run("r", {.accept_changed = true});
  REQUIRE_OK(resumed);
  CHECK(calls == 4);
}
