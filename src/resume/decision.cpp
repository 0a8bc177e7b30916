// SPDX-License-Identifier: MIT
// What a decision means for the run that continues with it.
#include "journal/action_json.hpp"
#include "journal/suspension_fields.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/stored_field.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

Resumption decided(const RunId& child, RecoveryAction action, std::string who) {
  const bool for_child =
      !child.empty() && (reruns(action.kind) || action.kind == RecoveryAction::Kind::fallback);
  if (!for_child) {
    return {.reason = "decided", .action = std::move(action), .who = std::move(who)};
  }
  Json told{{"run", child}, {"action", action_json(action)}};
  return {.reason = "decided",
          .action = RecoveryAction::resume(),
          .who = std::move(who),
          .child = std::move(told)};
}

std::optional<std::string> unsafe_now(const Continuation& run, const RecoveryAction& action) {
  const Journal& journal = run.journal();
  return unsafe_to_rerun(run.core, journal.trajectory(),
                         field<std::size_t>(journal.suspended(), "restored_steps", 0), action.kind);
}

std::optional<Resumption> recorded_decision(const Continuation& run) {
  const Json& suspended = run.journal().suspended();
  if (!suspended.contains("decided_by") || !suspended.contains("then")) return std::nullopt;
  Resumption decision = decided(awaited_child(suspended), action_from(suspended["then"]),
                                text_field(suspended, "decided_by"));
  // Whoever recorded it did not know the program's options.
  if (auto unsafe = unsafe_now(run, *decision.action)) {
    decision.action = RecoveryAction::escalate(*std::move(unsafe));
    decision.child = nullptr;
  }
  return decision;
}

Resumption pending_decision(const Journal& journal, std::string reason) {
  const Json& body = journal.decision();
  return {.reason = std::move(reason),
          .action = action_from(body.at("decision")),
          .who = text_field(body, "by")};
}

}  // namespace triage::inline v0_1::detail
