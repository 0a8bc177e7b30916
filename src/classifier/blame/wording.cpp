// SPDX-License-Identifier: MIT
// What a step's wording says about it.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"

namespace triage::inline v0_1::detail {

void note_wording(const Talk& talk, std::vector<Candidate>& candidates) {
  bool first = true;
  bool ordered = false;  // Somebody has replied to an order.
  for (Candidate& candidate : candidates) {
    const TalkStep& told = talk.steps()[candidate.position];
    if (told.part == Part::giver) continue;
    candidate[Signal::idle] = told.idle ? 1 : 0;
    ordered = ordered || told.order;
    const bool leads = talk.is_led() && told.idle;
    if (leads) candidate[Signal::assumes] = ordered && speaks_of_guessing(told.text) ? 1 : 0;
    if (told.part != Part::words) continue;
    // The opening plan mentions what may come, and a page is its author's text.
    const bool own = !first && !told.page;
    first = false;
    if (!leads) candidate[Signal::assumes] = own && speaks_of_assuming(told.text) ? 1 : 0;
    candidate[Signal::by_hand] = !told.page && does_by_hand(told.text) ? 1 : 0;
    candidate[Signal::asks] = told.asks ? 1 : 0;
  }
}

}  // namespace triage::inline v0_1::detail
