// SPDX-License-Identifier: MIT
#pragma once
// Made-up runs that repeat themselves, rightly or not.

#include "triage/trajectory.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace triage::evaluation {

// Right repetitions.
enum class Clean : std::uint8_t {
  plain,           // One item after the other, with thoughts in between.
  pages,           // The same tool, page by page.
  polling,         // The same call until its changing answer says that the work is done.
  waiting,         // The same, but "pending" again and again before that.
  retries,         // The same call fails some times, then succeeds.
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

// Wrong ones.
enum class Stuck : std::uint8_t {
  one_call,         // A-A-A
  in_turn,          // A-B-A-B, or with three
  without_results,  // The same, and the answers were not recorded.
  failing,          // The same call, the same error.
  one_of_agents,    // One agent repeats itself while others get on with their work.
  back_and_forth,   // Agents hand the same work to each other.
  same_words,       // The model says the same again; no tool is called.
};
inline constexpr std::array<std::string_view, 7> stuck_names{
    "one call",       "calls in turn",         "results not recorded",
    "the same error", "one of several agents", "work handed back and forth",
    "the same words"};

// The same seed gives the same run; kind number seed % 7. Ends where all is done.
[[nodiscard]] Trajectory clean_run(std::uint64_t seed);
// Ends in the loop, after 3 to 6 turns of it.
[[nodiscard]] Trajectory stuck_run(std::uint64_t seed);

}  // namespace triage::evaluation
