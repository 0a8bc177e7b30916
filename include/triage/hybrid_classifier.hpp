// SPDX-License-Identifier: MIT
#pragma once
// A classifier that asks a second one if the first is unsure, and trusts it only within limits.

#include "triage/classifier.hpp"
#include "triage/result.hpp"

#include <memory>

namespace triage::inline v0_1 {

// When the second classifier is asked, and when its answer counts.
struct HybridBand {
  // Minimum confidence of the base's leaning (Classification::leaning): 0.5 to 1. Below it there is
  // no evidence to confirm, and asking would invite a guess.
  double least_leaning = 0.5;
  // Minimum confidence of the second classifier in the same type: 0 to 1.
  double least_agreement = 0.5;
};

// Answers what `base` answers. Only if base says unknown but leans to a type, it asks `second`
// (usually an LlmClassifier), and answers that type if second names exactly the same one. So second
// can confirm what the evidence suggests, but never introduce a type: if it is always wrong, or was
// manipulated by the text it read, it does no more harm than the base's leaning would. Its
// confidence is capped at 0.9. Critical step, waits and evidence stay the base's; second's answer
// is added to the evidence.
//
// Thread-safety: as classify() of both.
class HybridClassifier final : public Classifier {
 public:
  // Errors: Errc::invalid_argument for a null classifier or a band out of range.
  [[nodiscard]] static Result<std::shared_ptr<HybridClassifier>> create(
      std::shared_ptr<Classifier> base, std::shared_ptr<Classifier> second,
      const HybridBand& band = {});

  // Exceptions from `second` become evidence; those from `base` are passed on.
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
