// SPDX-License-Identifier: MIT
// Whether what a step wrote or called ended in an error.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"
#include "evidence/findings.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {

void note_outputs(const Talk& talk, std::vector<Candidate>& candidates) {
  int raised = 0;
  for (Candidate& candidate : candidates) {
    candidate[Signal::raised_before] = static_cast<float>(std::min(raised, 3));
    const TalkStep& told = talk.steps()[candidate.position];
    if (!told.output) continue;
    const TalkStep& output = talk.steps()[*told.output];
    if (step_failed(*output.step) || tells_raised(output.answer)) {
      candidate[Signal::raised] = 1;
      candidate[Signal::first_raised] = raised == 0 ? 1 : 0;
      ++raised;
    }
  }
}

}  // namespace triage::inline v0_1::detail
