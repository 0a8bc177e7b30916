// SPDX-License-Identifier: MIT
// Under a leader: whether a reply does what its order says, and whether an order can be followed.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"

namespace triage::inline v0_1::detail {

void note_orders(const Talk& talk, std::vector<Candidate>& candidates) {
  if (!talk.is_led()) return;
  const std::vector<TalkStep>& steps = talk.steps();
  for (Candidate& candidate : candidates) {
    const TalkStep& told = steps[candidate.position];
    if (told.idle) {
      const std::size_t next = candidate.position + 1;
      if (next < steps.size() && steps[next].order) {
        const TalkStep& reply = steps[next];
        candidate[Signal::futile] =
            had_nothing_to_do(reply.answer) || had_nothing_to_do(reply.text) ? 1 : 0;
      }
      continue;
    }
    if (!told.order || told.code) continue;
    const std::string& order = steps[*told.order].text;
    candidate[Signal::searches] = tells_to_open(order) && shows_search(told.text) ? 1 : 0;
    const bool states = says_of_its_own(told.text) && !had_nothing_to_do(told.text);
    candidate[Signal::states] = states ? 1 : 0;
  }
}

}  // namespace triage::inline v0_1::detail
