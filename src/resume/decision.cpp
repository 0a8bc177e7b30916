// SPDX-License-Identifier: MIT
// What a decision means for the run that continues with it.
#include "resume/continuation.hpp"

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
                         number_field<std::size_t>(journal.suspended(), "restored_steps", 0),
                         action.kind);
}

RunId awaited_child(const Json& suspended) {
  const auto child = suspended.find("child");
  return child == suspended.end() ? RunId() : text_field(*child, "run");
}

std::vector<RunId> awaited_children(const Json& suspended) {
  std::vector<RunId> children;
  if (RunId child = awaited_child(suspended); !child.empty()) children.push_back(std::move(child));
  const auto others = suspended.find("children");
  if (others == suspended.end() || !others->is_array()) return children;
  for (const Json& one : *others) {
    if (RunId child = text_field(one, "run"); !child.empty()) children.push_back(std::move(child));
  }
  return children;
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
