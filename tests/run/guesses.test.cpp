// SPDX-License-Identifier: MIT
// A classifier may guess which step is to blame; a run discards progress only for a good guess.
#include "support/catch.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

#include <optional>

using namespace triage;
using namespace triage::test;

namespace {

class Guessing final : public Classifier {
 public:
  explicit Guessing(std::optional<double> confidence) : confidence_(confidence) {}
  Classification classify(const ClassifierInput&) override {
    return {.critical_step = 1, .critical_step_confidence = confidence_};
  }

 private:
  std::optional<double> confidence_;
};

// The blamed step as the policy sees it.
std::optional<std::size_t> blamed(std::optional<double> confidence, bool some_step_failed = false) {
  Kit kit;
  AgentOptions options = kit.bare();
  options.classifier = std::make_shared<Guessing>(confidence);
  std::optional<std::size_t> blamed;
  options.hooks.on_failure = [&](const FailureContext& context) {
    blamed = context.classification.critical_step;
  };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            for (int i = 0; i < 3; ++i) attempt.record_step({.action = "say"});
                            if (some_step_failed) {
                              attempt.record_step({.action = "call", .error = "no"});
                            }
                            return attempt.fail({.text = "wrong"});
                          },
                          FailurePolicy().otherwise(always(RecoveryAction::escalate())),
                          std::move(options)};
  CHECK_ERRC(Errc::escalated, agent.run("x"));
  return blamed;
}

}  // namespace

TEST_CASE("a run acts on a step that was guessed only if the guess is a good one", "[attempt]") {
  CHECK(blamed(0.49) == std::nullopt);
  CHECK(blamed(0.5) == 1U);
  CHECK(blamed(std::nullopt) == 1U);  // Decided, not guessed.
  CHECK(blamed(0.49, true) == 3U);    // The failed step, as without a guess.
}
