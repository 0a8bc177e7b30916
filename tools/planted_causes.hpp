// SPDX-License-Identifier: MIT
#pragma once
// Made-up runs of several steps that fail for a reason that was planted in one of them.

#include "triage/contract.hpp"
#include "triage/failure.hpp"
#include "triage/trajectory.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace triage::evaluation {

// How a run goes wrong.
enum class Cause : std::uint8_t {
  outside_tool,  // A tool that the contract does not know, and the agent goes on without a result.
  swallowed_error,    // A step fails, nobody minds, and something later needs its result.
  odd_output,         // A result of another shape is passed on.
  wrong_value,        // A result names something that does not exist; it looks like the others.
  empty_result,       // Nothing was found, and a later step takes the first of it.
  loop,               // The same calls again and again.
  large_output,       // One result fills the context.
  broken_constraint,  // The model says what it must not say; a check at the end sees it.
  own_fault,          // The step that fails is the one to blame.
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

// The same seed gives the same run; cause number seed % cause_count. 6 to about 80 steps, with
// retries that succeed, calls that are mended, failures that do not matter, empty results that are
// right, steps of other items and other agents in between.
[[nodiscard]] PlantedRun plant(std::uint64_t seed);

}  // namespace triage::evaluation
