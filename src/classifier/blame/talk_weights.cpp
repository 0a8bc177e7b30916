// SPDX-License-Identifier: MIT
// Written by tools/fit_blame; do not edit.
#include "classifier/blame/talk_blame.hpp"

namespace triage::inline v0_1::detail {
namespace {

constexpr std::array<float, signal_count> among_agents{
    1.35F,   // off_task
    -0.87F,  // restates_task
    -0.94F,  // order
    0.85F,   // raised
    1.14F,   // first_raised
    0.63F,   // raised_before
    0.82F,   // assumes
    0.81F,   // by_hand
    0.00F,   // asks
    -1.00F,  // idle
    1.00F,   // stalled
    0.00F,   // claims
    0.95F,   // answer
    0.00F,   // first_change
};
constexpr std::array<float, signal_count> in_service{
    0.00F,   // off_task
    0.00F,   // restates_task
    0.85F,   // order
    1.10F,   // raised
    0.00F,   // first_raised
    0.00F,   // raised_before
    0.00F,   // assumes
    0.00F,   // by_hand
    -1.19F,  // asks
    0.00F,   // idle
    0.00F,   // stalled
    1.07F,   // claims
    0.00F,   // answer
    1.63F,   // first_change
};
constexpr TalkWeights weights{among_agents, in_service, 1.30F, 0.95F};

}  // namespace

const TalkWeights& built_in_talk_weights() noexcept { return weights; }

}  // namespace triage::inline v0_1::detail
