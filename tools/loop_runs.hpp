// SPDX-License-Identifier: MIT
#pragma once
// Generated runs with repetitions, legitimate or not.

#include "triage/trajectory.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace triage::evaluation {

// Legitimate repetitions.
enum class Clean : std::uint8_t {
  plain,           // One item after another, with thoughts in between.
  pages,           // The same tool for one page after another.
  polling,         // The same call until its changing answer says that the work is done.
  waiting,         // The same, with several identical "pending" results first.
  retries,         // The same call fails a few times, then succeeds.
  mending,         // Edit, test, edit, test: other edits, fewer failing tests.
  several_agents,  // Agents that work, test, poll and ping in turn.
};
inline constexpr std::array<std::string_view, 7> clean_names{"item by item",
                                                             "pages",
                                                             "polling with changing answers",
                                                             "waiting with equal answers",
                                                             "retries that succeed",
                                                             "edit and test",
                                                             "several agents"};

// Loops.
enum class Stuck : std::uint8_t {
  one_call,         // A-A-A
  in_turn,          // A-B-A-B, or with three
  without_results,  // The same, but without recorded results.
  failing,          // The same call, the same error.
  one_of_agents,    // One agent repeats itself while others make progress.
  back_and_forth,   // Agents hand the same work to each other.
  same_words,       // The model repeats itself without calling tools.
};
inline constexpr std::array<std::string_view, 7> stuck_names{
    "one call",       "calls in turn",         "results not recorded",
    "the same error", "one of several agents", "work handed back and forth",
    "the same words"};

// The same seed gives the same run; its kind is seed % 7. Ends when everything is done.
[[nodiscard]] Trajectory clean_run(std::uint64_t seed);
// Ends in a loop, after 3 to 6 repetitions.
[[nodiscard]] Trajectory stuck_run(std::uint64_t seed);

}  // namespace triage::evaluation
