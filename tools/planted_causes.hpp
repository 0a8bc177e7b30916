// SPDX-License-Identifier: MIT
#pragma once
// Generated runs of several steps that fail because of a cause planted in one step.

#include "triage/contract.hpp"
#include "triage/failure.hpp"
#include "triage/trajectory.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace triage::evaluation {

// How a run goes wrong.
enum class Cause : std::uint8_t {
  outside_tool,       // A tool unknown to the contract; the agent continues without a result.
  swallowed_error,    // A step fails unnoticed, and a later one needs its result.
  odd_output,         // A result of another shape is passed on.
  wrong_value,        // A result names something that does not exist, but looks like the others.
  empty_result,       // Nothing was found, and a later step takes its first element.
  loop,               // The same calls repeated.
  large_output,       // One result fills the context.
  broken_constraint,  // The model says something forbidden; a check at the end finds it.
  own_fault,          // The failing step itself is to blame.
};
inline constexpr std::size_t cause_count = 9;
inline constexpr std::array<std::string_view, cause_count> cause_names{
    "tool outside the manifest",
    "error that was swallowed",
    "result of another shape",
    "value that does not exist",
    "empty result",
    "loop",
    "result that fills the context",
    "constraint broken early",
    "the failing step itself"};

struct PlantedRun {
  Cause cause = Cause::own_fault;
  std::size_t cause_step = 0;
  Failure failure{};
  Trajectory trajectory{};
  AgentContract contract{};
};

// The same seed gives the same run; its cause is seed % cause_count. 6 to about 80 steps, among
// them retries that succeed, corrected calls, harmless failures, legitimately empty results, and
// steps of other items and other agents.
[[nodiscard]] PlantedRun plant(std::uint64_t seed);

}  // namespace triage::evaluation
