// SPDX-License-Identifier: MIT
// Statements without code, and a step's place in the order of the work.
#include "classifier/blame/signals.hpp"

#include <cmath>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t least_fresh_words = 5;  // Fewer new words only repeat what is known.

}  // namespace

void note_claims(const Talk& talk, std::vector<Candidate>& candidates) {
  bool first = true;
  std::size_t done = 0;  // Steps so far that did something.
  for (Candidate& candidate : candidates) {
    const TalkStep& told = talk.steps()[candidate.position];
    const bool agent = told.part != Part::giver;
    const bool does = agent && !first && !told.asks && !told.idle;
    if (agent) first = false;
    if (does) ++done;
    candidate[Signal::order] = static_cast<float>(std::log(1.0 + static_cast<double>(done)));
    const bool claims = does && told.part == Part::words && !told.code && !told.closes &&
                        told.fresh >= least_fresh_words;
    candidate[Signal::claims] = claims ? 1 : 0;
  }
}

}  // namespace triage::inline v0_1::detail
