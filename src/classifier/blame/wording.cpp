// SPDX-License-Identifier: MIT
// What a step's wording, or the next speaker's, says about the step.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"

namespace triage::inline v0_1::detail {
namespace {

// The agent's next words or notes; null if there are none.
const TalkStep* next_words(const Talk& talk, std::size_t position) {
  for (std::size_t i = position + 1; i < talk.steps().size(); ++i) {
    const TalkStep& told = talk.steps()[i];
    if (told.part == Part::giver) return nullptr;
    if ((told.part == Part::words || told.part == Part::notes) && !told.brief) return &told;
  }
  return nullptr;
}

}  // namespace

void note_wording(const Talk& talk, std::vector<Candidate>& candidates) {
  bool first = true;
  for (Candidate& candidate : candidates) {
    const TalkStep& told = talk.steps()[candidate.position];
    if (told.part == Part::giver) continue;
    candidate[Signal::idle] = told.idle ? 1 : 0;
    if (told.part != Part::words) continue;
    // The opening plan mentions what may come, and a page is its author's text.
    const bool own = !first && !told.page;
    first = false;
    candidate[Signal::assumes] = own && speaks_of_assuming(told.text) ? 1 : 0;
    candidate[Signal::by_hand] = !told.page && does_by_hand(told.text) ? 1 : 0;
    candidate[Signal::asks] = told.asks ? 1 : 0;
    const TalkStep* next = next_words(talk, candidate.position);
    const bool notes = next != nullptr && next->part == Part::notes && !told.idle;
    candidate[Signal::stalled] = notes && notes_stall(next->text) ? 1 : 0;
  }
}

}  // namespace triage::inline v0_1::detail
