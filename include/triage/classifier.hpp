// SPDX-License-Identifier: MIT
#pragma once
// The seam between the core and whatever finds out why an attempt failed.

#include "triage/classification.hpp"
#include "triage/contract.hpp"
#include "triage/failure.hpp"
#include "triage/trajectory.hpp"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

namespace triage::inline v0_1 {

// What a classifier may look at. References are valid during the call only.
struct ClassifierInput {
  const Failure& failure;
  const Trajectory& trajectory;  // Of the failed attempt, restored steps included.
  std::string_view task{};
  std::size_t restored_steps =
      0;  // How many of them a rollback or resume restored: no new evidence.
  const AgentContract* contract = nullptr;
  // What the steps since restored_steps broke of it, in their order, if they were judged as they
  // were recorded. Null: the classifier judges the newest 256 of them itself.
  const std::vector<StepBreach>* breaches = nullptr;
  bool deadline_passed = false;  // Facts that the run loop knows.
  // The step before which the last attempt failed, if it was rolled back and its trajectory went on
  // from there: failing at the same step again is a repetition.
  std::optional<std::size_t> rolled_back_step{};
  std::uint64_t newest_call_tokens = 0;  // What the newest recorded call to a model took; 0: not
                                         // known.
  const Json* result = nullptr;          // What the callable returned, if it returned a value.
  // For classifiers that take their time: how much is left until the nearest deadline, and what
  // says that the run is cancelled.
  std::optional<Duration> remaining{};
  std::stop_token stop_token{};
  // Tells what time it is where a failure names a moment to wait for and has no Date header. Null:
  // such a moment is told in the evidence, and nothing else.
  Clock* clock = nullptr;
};

// Thread-safety: classify() may be called from several threads at once.
// A classifier that is not sure answers unknown. It may throw; the core reports that beside the
// failure and goes on with unknown.
class Classifier {
 public:
  virtual ~Classifier() = default;
  [[nodiscard]] virtual Classification classify(const ClassifierInput& input) = 0;
};

struct RulesOptions {
  // How often one period must repeat in a row before it is a loop. Range 2 to 100.
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

// What RulesClassifier finds, and a text model that reads what no rule knows: facts and the
// contract decide; then the model, which weighs the words, the codes and what the rules suggest,
// and abstains where it is not sure; then codes that mean one thing only. See
// docs/classification.md.
class EvidenceClassifier final : public Classifier {
 public:
  EvidenceClassifier();  // With the default options and the built-in model.
  // Errors: Errc::invalid_argument for options out of range.
  [[nodiscard]] static Result<std::shared_ptr<EvidenceClassifier>> create(
      const RulesOptions& options);
  // With a model that tools/train_classifier made. A file that is missing, damaged or of another
  // version is not used: the built-in model is, and every classification says so in its evidence
  // (source "model_file"). Errors: Errc::invalid_argument for options out of range.
  [[nodiscard]] static Result<std::shared_ptr<EvidenceClassifier>> load(
      const std::string& model_file, const RulesOptions& options = {});
  ~EvidenceClassifier() override;
  [[nodiscard]] Classification classify(const ClassifierInput& input) override;
  // Why the model file was not used; empty if it is, or if none was given.
  [[nodiscard]] const std::string& refused_model() const noexcept;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

// Answers unknown without looking, at no cost; a Failure with `type` set is still honoured.
[[nodiscard]] const std::shared_ptr<Classifier>& no_classifier();
// The EvidenceClassifier with default options; one shared object.
[[nodiscard]] const std::shared_ptr<Classifier>& default_classifier();

}  // namespace triage::inline v0_1
