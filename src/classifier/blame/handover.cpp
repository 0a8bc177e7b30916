// SPDX-License-Identifier: MIT
// A hand-over that drops the request: an agent's first words do not mention the task.
#include "classifier/blame/signals.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

constexpr double least_share_kept = 0.35;  // Of the task's words; plans keep nearly all.
constexpr std::size_t least_words = 4;     // A shorter task is too vague to compare.

double share_in(const std::vector<std::uint64_t>& words, const std::vector<std::uint64_t>& text) {
  const auto kept = std::count_if(words.begin(), words.end(), [&](std::uint64_t word) {
    return std::binary_search(text.begin(), text.end(), word);
  });
  return static_cast<double>(kept) / static_cast<double>(words.size());
}

}  // namespace

void note_handover(const Talk& talk, std::vector<Candidate>& candidates) {
  const auto first =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        const Part part = talk.steps()[candidate.position].part;
        return part == Part::words || part == Part::notes;
      });
  if (first == candidates.end() || talk.task().size() < least_words) return;
  const bool kept = share_in(talk.task(), talk.steps()[first->position].words) >= least_share_kept;
  (*first)[kept ? Signal::restates_task : Signal::off_task] = 1;
}

}  // namespace triage::inline v0_1::detail
