// SPDX-License-Identifier: MIT
#pragma once
// Finds what repeats periodically without progress at the end of a trajectory. Private.

#include "triage/detail/step_chunk.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// How far back most questions about an attempt's steps look.
inline constexpr std::size_t newest_steps_read = 256;

// Calls visit(index, step) from the newest step down to index `oldest`, until it returns false.
// O(steps visited); indexing would cost O(size) per step.
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
  std::vector<std::size_t> steps{};  // Indexes of its first period, ascending.
  std::size_t calls = 0;             // Calls or model outputs in it.
  bool without_progress = false;     // Results were recorded and are the same too.
  bool only_fails = false;           // Each call failed: the same was tried again.
  bool words_only = false;           // No tool calls: the model repeats itself.
  std::string agent{};               // The agent that loops while others work; empty: all.
};

// The shortest period that the newest tool calls repeat at least `repetitions` times; if results
// were recorded, the first call of the last repetition suffices. Two calls are the same if tool,
// canonical input and result are the same: a repeated call with a different result is progress. A
// call with neither input nor result is known only by its tool's name, so it equals no other;
// directly after another agent's words, or words with code in them, those words are its input. Key
// order, the agent, and times and request ids in results do not matter. Steps without a tool and
// steps before `oldest` are skipped. If there is no such loop, looks for the same among one agent's
// calls interleaved with others', which must have results and two more repetitions; then for steps
// in which the model repeats itself. Hashes O(repetitions * longest_period) steps, and more only to
// follow a loop to its beginning.
[[nodiscard]] std::optional<Loop> find_loop(const Trajectory& trajectory, std::size_t oldest,
                                            std::size_t repetitions, std::size_t longest_period);

// Equal values have equal hashes; an integer equals a float of the same value.
[[nodiscard]] std::uint64_t canonical_hash(const Json& value);

}  // namespace triage::inline v0_1::detail
