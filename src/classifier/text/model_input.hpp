// SPDX-License-Identifier: MIT
#pragma once
// The input of the text model: features of the texts, and what codes and rules suggest. Private.

#include "classifier/text/features.hpp"
#include "evidence/findings.hpp"

#include <array>

namespace triage::inline v0_1::detail {

// One input for each kind of hint and each failure type: the highest confidence found.
inline constexpr std::size_t hint_kind_count = 3;  // Codes, exception types, phrases.
inline constexpr std::size_t hint_input_count = hint_kind_count * failure_type_count;

struct ModelInput {
  FeatureBuffer features{};
  std::array<float, hint_input_count> hints{};

  void clear() noexcept;
};

// Which inputs are read; only experiments on their worth leave some out.
struct ModelInputParts {
  bool text = true;   // Texts and exception type names.
  bool codes = true;  // Codes as features.
  bool hints = true;  // What codes and rules suggest.
};

// Fills `model_input` from a failure, its causes and the last failed step. known: the model's.
void collect_model_input(const ClassifierInput& input, const Findings& findings,
                         const ModelInputParts& parts, const KnownNames& known,
                         ModelInput& model_input);

}  // namespace triage::inline v0_1::detail
