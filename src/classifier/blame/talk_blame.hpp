// SPDX-License-Identifier: MIT
#pragma once
// Guesses the step to blame in a conversation from what was said. Private.

#include "classifier/blame/signals.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The weights of the signals, fitted by tools/fit_blame; a softmax over the candidates.
struct TalkWeights {
  std::array<float, signal_count> of{};
  float sharpness = 1;  // Calibrates the probabilities on runs not fitted to.
};
[[nodiscard]] const TalkWeights& built_in_talk_weights(TalkKind kind) noexcept;

struct TalkGuess {
  std::size_t step = 0;               // In the trajectory.
  double confidence = 0;              // 0 to 1.
  std::string_view why{};             // Of static lifetime.
  std::vector<std::size_t> others{};  // The next most likely, at most two.
};

// Each candidate's probability of being to blame; they sum to 1.
[[nodiscard]] std::vector<double> likelihoods(const std::vector<Candidate>& candidates,
                                              const std::array<float, signal_count>& weights,
                                              double sharpness);

// Empty if the run is not a conversation or no step stands out.
[[nodiscard]] std::optional<TalkGuess> guess_in_talk(const ClassifierInput& input);
// Adds the guess, if any, to the classification and its evidence.
bool guess_step(const ClassifierInput& input, Classification& result);

}  // namespace triage::inline v0_1::detail
