// SPDX-License-Identifier: MIT
#pragma once
// The interface between the core and a classifier: why did an attempt fail?

#include "triage/classification.hpp"
#include "triage/contract.hpp"
#include "triage/failure.hpp"
#include "triage/trajectory.hpp"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

namespace triage::inline v0_1 {

// The facts for a classifier. References are valid during the call only.
struct ClassifierInput {
  const Failure& failure;
  const Trajectory& trajectory;  // Of the failed attempt, restored steps included.
  std::string_view task{};
  // How many steps of the trajectory a rollback or resume restored: no new evidence.
  std::size_t restored_steps = 0;
  const AgentContract* contract = nullptr;
  // How the steps since restored_steps broke the contract, in their order, if they were judged when
  // recorded. Null: the classifier judges the newest 256 of them itself.
  const std::vector<StepBreach>* breaches = nullptr;
  bool deadline_passed = false;  // Known to the run loop.
  // Where the previous attempt failed, if that was rolled back and this trajectory continues from
  // there: the index of the step. Failing at the same step again is a repetition.
  std::optional<std::size_t> rolled_back_step{};
  std::uint64_t newest_call_tokens = 0;  // Tokens of the newest recorded call to a model; 0:
                                         // unknown.
  const Json* result = nullptr;          // What the callable returned, if a value.
  // For slow classifiers: the time left until the nearest deadline, and the token that cancels the
  // run.
  std::optional<Duration> remaining{};
  std::stop_token stop_token{};
  // The current time, for a failure that names a moment to wait for but has no Date header. Null:
  // such a moment only appears in the evidence.
  Clock* clock = nullptr;
};

// Thread-safety: classify() may be called from several threads at once.
// If it is not sure, a classifier answers unknown. It may throw; the core reports that beside the
// failure and uses unknown.
class Classifier {
 public:
  virtual ~Classifier() = default;
  [[nodiscard]] virtual Classification classify(const ClassifierInput& input) = 0;
};

struct RulesOptions {
  // A period repeated this often in a row is a loop. Range 2 to 100.
  int loop_window = 3;
  std::size_t longest_period = 8;  // Range 1 to 64.
};

// Evidence first, words last: what the library knows itself, the contract, codes, exception types,
// then phrases from data/rules.tsv, matched with RE2 in linear time.
class RulesClassifier final : public Classifier {
 public:
  RulesClassifier();  // With the default options.
  // Errors: Errc::invalid_argument for options out of range.
  [[nodiscard]] static Result<std::shared_ptr<RulesClassifier>> create(const RulesOptions& options);
  [[nodiscard]] Classification classify(const ClassifierInput& input) override;

 private:
  RulesOptions options_{};
};

// RulesClassifier plus a text model. Facts and the contract decide first; then the model, which
// weighs the words, the codes and the rules' suggestions, and abstains if it is not sure; then
// codes with only one meaning. See docs/classification.md.
class EvidenceClassifier final : public Classifier {
 public:
  EvidenceClassifier();  // With the default options and the built-in model.
  // Errors: Errc::invalid_argument for options out of range.
  [[nodiscard]] static Result<std::shared_ptr<EvidenceClassifier>> create(
      const RulesOptions& options);
  // With a model that `triage train` made. If the file is missing, damaged or of another
  // version, uses the built-in model and says so in the evidence of every classification (source
  // "model_file"). Errors: Errc::invalid_argument for options out of range.
  [[nodiscard]] static Result<std::shared_ptr<EvidenceClassifier>> load(
      const std::string& model_file, const RulesOptions& options = {});
  ~EvidenceClassifier() override;
  [[nodiscard]] Classification classify(const ClassifierInput& input) override;
  // Why the model file was not used; empty if it was, or if none was given.
  [[nodiscard]] const std::string& refused_model() const noexcept;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

// Always answers unknown, at no cost; a Failure with `type` set is still honoured.
[[nodiscard]] const std::shared_ptr<Classifier>& no_classifier();
// The EvidenceClassifier with default options; one shared object.
[[nodiscard]] const std::shared_ptr<Classifier>& default_classifier();

}  // namespace triage::inline v0_1
