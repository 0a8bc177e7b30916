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
    0.00F,   // claims
    0.95F,   // answer
    0.00F,   // first_change
    0.00F,   // states
    0.00F,   // searches
    0.00F,   // futile
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
    1.07F,   // claims
    0.00F,   // answer
    1.63F,   // first_change
    0.00F,   // states
    0.00F,   // searches
    0.00F,   // futile
};
constexpr std::array<float, signal_count> under_leader{
    0.00F,   // off_task
    0.00F,   // restates_task
    -0.04F,  // order
    0.33F,   // raised
    0.00F,   // first_raised
    0.00F,   // raised_before
    0.71F,   // assumes
    0.00F,   // by_hand
    0.00F,   // asks
    -0.94F,  // idle
    0.00F,   // claims
    1.37F,   // answer
    0.00F,   // first_change
    0.64F,   // states
    0.45F,   // searches
    1.57F,   // futile
};
constexpr std::array<TalkWeights, talk_kinds> weights{
    {{among_agents, 1.30F}, {in_service, 0.95F}, {under_leader, 1.00F}}};

}  // namespace

const TalkWeights& built_in_talk_weights(TalkKind kind) noexcept {
  return weights[static_cast<std::size_t>(kind)];
}

}  // namespace triage::inline v0_1::detail
