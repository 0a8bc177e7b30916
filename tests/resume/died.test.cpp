// SPDX-License-Identifier: MIT
// Runs whose process died in the last attempt that their limits allow.
#include "resume/durable.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("attempts whose process died count against the limits, also when a run goes on",
          "[died]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.limits.max_attempts = 3;
  std::vector<std::string> asked;
  options.hooks.on_escalate = [&](const FailureContext& context) {
    asked.push_back(context.classification.reason);
    return std::nullopt;
  };
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) { return ++calls; },
                          answers({RecoveryAction::abort()}), options};
  begin_and_die(kit, "r");
  die_while_resumed(kit, "r");
  SECTION("as long as one is left, it is made") { CHECK(agent.resume_run("r").value() == 1); }
  SECTION("without one, the run escalates") {
    die_while_resumed(kit, "r");
    const auto ended = agent.run_or_resume("r", "x");
    CHECK_ERRC(Errc::escalated, ended);
    CHECK_THAT(ended.error().message(), ContainsSubstring("limits.max_attempts (3) reached"));
    CHECK(ended.error().failure()->classification.type == FailureType::crashed);
    CHECK(asked == std::vector<std::string>{"process_died"});
    CHECK(stored_journal(*kit.store, "r").attempts() == 3);
    CHECK(calls == 0);
    CHECK(agent.resume_run("r").value() == 1);  // Asked for by name, it is made all the same.
  }
  SECTION("unless the run is revived") {
    die_while_resumed(kit, "r");
    CHECK(agent.resume_run("r", {.revive = true}).value() == 1);
  }
  SECTION("unless the caller allows more") {
    die_while_resumed(kit, "r");
    CHECK(agent.resume_run("r", {.run = {.limits = Limits{.max_attempts = 4}}}).value() == 1);
  }
}
