// SPDX-License-Identifier: MIT
#pragma once
// Which step of a conversation is to blame, as far as can be told from what was said. Private.

#include "classifier/blame/signals.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// What the signals count for, learnt by tools/fit_blame; a softmax over the candidates.
struct TalkWeights {
  std::array<float, signal_count> among_agents{};
  std::array<float, signal_count> in_service{};
  float sharpness_among_agents = 1;  // Makes the probabilities right on runs not learnt from.
  float sharpness_in_service = 1;
};
[[nodiscard]] const TalkWeights& built_in_talk_weights() noexcept;

struct TalkGuess {
  std::size_t step = 0;               // In the trajectory.
  double confidence = 0;              // 0 to 1.
  std::string_view why{};             // Of static lifetime.
  std::vector<std::size_t> others{};  // The next best, at most two.
};

// How likely each candidate is to blame; they add up to 1.
[[nodiscard]] std::vector<double> likelihoods(const std::vector<Candidate>& candidates,
                                              const std::array<float, signal_count>& weights,
                                              double sharpness);

// Nothing if the run is no conversation, or nothing stands out in it.
[[nodiscard]] std::optional<TalkGuess> guess_in_talk(const ClassifierInput& input);
// Puts that guess, if there is one, into the classification and its evidence.
bool guess_step(const ClassifierInput& input, Classification& result);

}  // namespace triage::inline v0_1::detail
