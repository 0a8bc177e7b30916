// SPDX-License-Identifier: MIT
#include "journal/action_json.hpp"

#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

Json action_json(const RecoveryAction& action) {
  Json json{{"kind", to_string(action.kind)}};
  if (!action.hint.empty()) json["hint"] = action.hint;
  if (!action.subgoal.empty()) json["subgoal"] = action.subgoal;
  if (!action.message.empty()) json["message"] = action.message;
  if (action.delay > Duration::zero()) json["delay_ns"] = action.delay.count();
  if (action.kind == RecoveryAction::Kind::rollback) {
    json["target"] = Json{{"kind", static_cast<int>(action.target.kind)},
                          {"name", action.target.name},
                          {"back", action.target.back},
                          {"or_start", action.target.or_start}};
  }
  if (action.until) json["until_ms"] = action.until->time_since_epoch().count();
  if (action.expires_after) json["expires_after_ns"] = action.expires_after->count();
  if (!action.allowed_actions.empty()) json["allowed_actions"] = action.allowed_actions;
  if (action.value) json["value"] = *action.value;
  return json;
}

RecoveryAction action_from(const Json& json) {
  RecoveryAction action{
      .kind =
          parse_recovery_kind(text_field(json, "kind")).value_or(RecoveryAction::Kind::escalate),
      .hint = text_field(json, "hint"),
      .subgoal = text_field(json, "subgoal"),
      .message = text_field(json, "message"),
      .delay = std::max(Duration::zero(), Duration(field<Duration::rep>(json, "delay_ns", 0)))};
  if (const auto target = json.find("target"); target != json.end() && target->is_object()) {
    const int kind = field(*target, "kind", 0);
    if (kind >= 0 && kind <= static_cast<int>(RollbackTarget::Kind::back)) {
      action.target.kind = static_cast<RollbackTarget::Kind>(kind);
    }
    action.target.name = text_field(*target, "name");
    action.target.back = field(*target, "back", 0);
    action.target.or_start = field(*target, "or_start", false);
  }
  action.until = time_field(json, "until_ms");
  if (json.contains("expires_after_ns")) {
    action.expires_after = Duration(field<Duration::rep>(json, "expires_after_ns", 0));
  }
  action.allowed_actions = names_field(json, "allowed_actions");
  if (json.contains("value")) action.value = std::make_shared<const Json>(json["value"]);
  return action;
}

RecoveryAction action_when_due(const Json& suspended) {
  if (suspended.contains("then")) return action_from(suspended["then"]);
  const std::vector<std::string> allowed = names_field(suspended, "allowed_actions");
  const auto resume = to_string(RecoveryAction::Kind::resume);
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), resume) != allowed.end()) {
    return RecoveryAction::resume();
  }
  return {.kind = parse_recovery_kind(allowed.front()).value_or(RecoveryAction::Kind::escalate)};
}

}  // namespace triage::inline v0_1::detail
