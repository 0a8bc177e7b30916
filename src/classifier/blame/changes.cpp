// SPDX-License-Identifier: MIT
// Calls that change something: if nothing raised an error, the first of them is suspect.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"
#include "contract/step_breaches.hpp"

namespace triage::inline v0_1::detail {
namespace {

bool changes(const AgentContract* contract, const std::string& tool) {
  if (contract != nullptr) {
    const ToolContract* promised = find_tool(*contract, tool);
    if (promised != nullptr && promised->mutates) return *promised->mutates;
  }
  return name_says_change(tool);
}

}  // namespace

void note_changes(const Talk& talk, const AgentContract* contract,
                  std::vector<Candidate>& candidates) {
  if (!talk.is_service()) return;
  for (Candidate& candidate : candidates) {
    const TalkStep& told = talk.steps()[candidate.position];
    if (told.part != Part::call || !changes(contract, *told.step->tool_called)) continue;
    candidate[Signal::first_change] = 1;
    return;
  }
}

}  // namespace triage::inline v0_1::detail
