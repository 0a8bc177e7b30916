// SPDX-License-Identifier: MIT
#pragma once
// A classifier that asks a second one where the first is unsure, and trusts it only so far.

#include "triage/classifier.hpp"
#include "triage/result.hpp"

#include <memory>

namespace triage::inline v0_1 {

// Where the second opinion is asked, and what it must be to count.
struct HybridBand {
  // How much the base must lean to one type (Classification::leaning) before the second opinion is
  // asked: 0.5 to 1. Below it there is no evidence to confirm, and a question would invite a guess.
  double least_leaning = 0.69;
  // How sure the second opinion must be of the same type: 0 to 1.
  double least_agreement = 0.5;
};

// Answers what `base` answers. Only where base says unknown and yet leans to a type, `second`
// (usually an LlmClassifier) is asked, and only if it names the very same type, that is the answer.
// So the second opinion can confirm what the evidence suggests, and can never bring in a type of
// its own: an opinion that is always wrong, or was talked into something by the text it read, does
// no more harm than the base's leaning would. Its confidence counts as 0.9 at most.
// Critical step, waits and evidence stay the base's; what the second opinion said is added to them.
//
// Thread-safety: as classify() of both.
class HybridClassifier final : public Classifier {
 public:
  // Errors: Errc::invalid_argument for a null classifier or a band out of range.
  [[nodiscard]] static Result<std::shared_ptr<HybridClassifier>> create(
      std::shared_ptr<Classifier> base, std::shared_ptr<Classifier> second,
      const HybridBand& band = {});

  // What `second` throws becomes evidence; what `base` throws passes through.
  [[nodiscard]] Classification classify(const ClassifierInput& input) override;

 private:
  HybridClassifier(std::shared_ptr<Classifier> base, std::shared_ptr<Classifier> second,
                   const HybridBand& band)
      : base_(std::move(base)), second_(std::move(second)), band_(band) {}

  std::shared_ptr<Classifier> base_;
  std::shared_ptr<Classifier> second_;
  HybridBand band_;
};

}  // namespace triage::inline v0_1
