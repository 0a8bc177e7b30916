// SPDX-License-Identifier: MIT
#pragma once
// Finds what repeats with a fixed period, and without progress, at the end of a trajectory.
// Private.

#include "triage/detail/step_chunk.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// What most questions about the steps of an attempt look back at.
inline constexpr std::size_t newest_steps_read = 256;

// Calls visit(index, step) from the newest step down to index `oldest`, until it returns false.
// O(steps visited), where indexing would be O(size) a step.
template <class Visit>
void visit_newest_first(const Trajectory& trajectory, std::size_t oldest, Visit visit) {
  std::size_t index = trajectory.size();
  for (const StepChunk* chunk = trajectory.tail().get(); chunk && index > oldest;
       chunk = chunk->previous().get()) {
    while (index > oldest && index > chunk->first()) {
      --index;
      if (!visit(index, chunk->at(static_cast<std::uint32_t>(index - chunk->first())))) return;
    }
  }
}

struct Loop {
  std::size_t first_step = 0;        // Where the repetition began.
  std::vector<std::size_t> steps{};  // Indexes of its first period, rising.
  std::size_t calls = 0;             // Calls, or words of the model, that belong to it.
  bool without_progress = false;     // Results were recorded, and they are the same, too.
  bool only_fails = false;           // Each of its calls failed: the same was tried again.
  bool words_only = false;           // No tool is called: the model says the same again.
  std::string agent{};               // Who repeats itself while others go on; empty: all there are.
};

// The shortest period that the newest tool calls repeat at least `repetitions` times; where results
// were recorded, the first call of the last repetition is enough. Two calls are the same if tool,
// canonical input and result are: a call that is asked again and answers something else makes
// progress. Of a call without input and result nothing is known but the name of its tool, so it is
// the same as no other; of one directly behind words of another agent, or with code in them, those
// words are the input. Order of keys, agent, and times and request ids in results do not count.
// Steps without a tool are passed over, and so are those before `oldest`. If there is none: the
// same among the calls of one agent that others interrupt, whose results must have been recorded,
// two repetitions more; then steps in which the model says the same. O(repetitions *
// longest_period) steps are hashed; more only to follow a loop to its beginning.
[[nodiscard]] std::optional<Loop> find_loop(const Trajectory& trajectory, std::size_t oldest,
                                            std::size_t repetitions, std::size_t longest_period);

// Equal for equal values; an integer and a float of the same value count as equal.
[[nodiscard]] std::uint64_t canonical_hash(const Json& value);

}  // namespace triage::inline v0_1::detail
