// SPDX-License-Identifier: MIT
// Attempts that only asked about a doubt, or were stopped: they use up nothing, and decide nothing.
#include "resume/durable.hpp"
#include "triage/operations.hpp"

#include <utility>

using namespace triage;
using namespace triage::test;

TEST_CASE("asking again about a doubt uses up no attempts", "[uncounted]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.limits.max_attempts = 3;
  const bool asks = GENERATE(true, false);
  if (asks) options.hooks.on_escalate = [](const FailureContext&) { return std::nullopt; };
  bool failed = false;
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            const int paid = attempt.effect("pay", []() -> int {
                              throw std::runtime_error("connection lost");
                            });
                            if (!std::exchange(failed, true)) {
                              return attempt.fail({.text = "timeout"});
                            }
                            return paid;
                          },
                          answers({RecoveryAction::retry()}), options};
  for (int i = 0; i < 6; ++i) CHECK_ERRC(Errc::in_doubt, agent.run_or_resume("r", 1));
  REQUIRE_OK(settle_effect(*kit.store, "r", "pay", {.happened = true, .result = 7}));
  CHECK(agent.run_or_resume("r", 1).value() == 7);
}

TEST_CASE("attempts that were stopped use up no attempts", "[uncounted]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.limits.max_attempts = 3;
  std::stop_source stop;
  int calls = 0;
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            if (++calls <= 6) stop.request_stop();
                            if (calls <= 7) return attempt.fail({.text = "timeout"});
                            return calls;
                          },
                          answers({RecoveryAction::retry()}), options};
  for (int i = 0; i < 6; ++i) {
    stop = std::stop_source();
    CHECK_ERRC(Errc::cancelled,
               agent.run_or_resume("r", 1, {.run = {.stop_token = stop.get_token()}}));
  }
  CHECK(agent.run_or_resume("r", 1).value() == 8);
}

TEST_CASE("a stop while a failure is being classified is no decision about it", "[uncounted]") {
  struct Stopping final : Classifier {
    std::stop_source stop{};
    Classification classify(const ClassifierInput&) override {
      stop.request_stop();  // As for a model that is asked over the network.
      return {};
    }
  };
  Kit kit;
  const auto classifier = std::make_shared<Stopping>();
  AgentOptions options = kit.options();
  options.classifier = classifier;
  int undone = 0;
  options.compensations["refund"] = [&](const EffectCall&) { ++undone; };
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            attempt.effect("pay", [] { return 1; }, {.compensate = "refund"});
                            if (attempt.number() == 1) return attempt.fail({.text = "no"});
                            return attempt.number();
                          },
                          answers({RecoveryAction::abort("no")}), options};
  const auto result = agent.run(1, {.run_id = "r", .stop_token = classifier->stop.get_token()});
  CHECK_ERRC(Errc::cancelled, result);
  CHECK(undone == 0);
  CHECK(agent.run_or_resume("r", 1).value() == 2);
}
