// SPDX-License-Identifier: MIT
#include "journal/suspension_json.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {

std::optional<WallTime> time_field(const Json& body, const char* key) {
  if (!body.is_object()) return {};
  const auto found = body.find(key);
  if (found == body.end() || !found->is_number_integer()) return std::nullopt;
  return WallTime(std::chrono::milliseconds(found->get<std::int64_t>()));
}

std::vector<std::string> names_field(const Json& body, const char* key) {
  std::vector<std::string> names;
  const auto found = body.find(key);
  if (found == body.end() || !found->is_array()) return names;
  for (const Json& name : *found) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
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

Json newest_body(const JournalReading& reading, RecordKind kind) {
  const auto newest = std::find_if(reading.records.rbegin(), reading.records.rend(),
                                   [&](const Record& record) { return record.kind() == kind; });
  if (newest == reading.records.rend()) return nullptr;
  auto body = newest->body();
  return body && body.value().is_object() ? std::move(body).value() : Json();
}

std::string encode(const Ticket& ticket) {
  Json json{{"run", ticket.run},
            {"agent", ticket.agent},
            {"suspended_at", ticket.suspended_at},
            {"allowed_actions", ticket.allowed_actions},
            {"state", ticket.state}};
  if (ticket.until) json["until_ms"] = ticket.until->time_since_epoch().count();
  if (ticket.expires) json["expires_ms"] = ticket.expires->time_since_epoch().count();
  if (!ticket.by.empty()) json["by"] = ticket.by;
  std::string bytes;
  encode_cbor(json, bytes);
  return bytes;
}

Result<Ticket> decode_ticket(const std::string& bytes) {
  TRIAGE_TRY(json, decode_cbor(bytes));
  try {
    return Ticket{.run = json.at("run").get<std::string>(),
                  .agent = json.at("agent").get<std::string>(),
                  .suspended_at = json.at("suspended_at").get<Sequence>(),
                  .allowed_actions = json.at("allowed_actions").get<std::vector<std::string>>(),
                  .until = time_field(json, "until_ms"),
                  .expires = time_field(json, "expires_ms"),
                  .state = json.at("state").get<std::string>(),
                  .by = text_field(json, "by")};
  } catch (const Json::exception& e) {
    return Error{Errc::corrupt,
                 std::string("what is stored for this token is damaged: ") + e.what()};
  }
}

Json limits_json(const Limits& limits) {
  return Json{{"max_attempts", limits.max_attempts},
              {"max_attempts_per_type", limits.max_attempts_per_type},
              {"max_elapsed_ns", limits.max_elapsed.count()},
              {"max_tokens", limits.max_tokens},
              {"max_cost_usd", limits.max_cost_usd},
              {"max_wait_ns", limits.max_wait.count()}};
}

std::optional<Limits> limits_from(const Json& json) {
  const Limits none;
  Limits limits{.max_attempts = number_field(json, "max_attempts", none.max_attempts),
                .max_attempts_per_type =
                    number_field(json, "max_attempts_per_type", none.max_attempts_per_type),
                .max_elapsed = Duration(number_field<Duration::rep>(json, "max_elapsed_ns", 0)),
                .max_tokens = number_field<std::uint64_t>(json, "max_tokens", 0),
                .max_cost_usd = number_field(json, "max_cost_usd", 0.0),
                .max_wait = Duration(number_field(json, "max_wait_ns", none.max_wait.count()))};
  if (!check_limits(limits)) return std::nullopt;
  return limits;
}

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
      .delay =
          std::max(Duration::zero(), Duration(number_field<Duration::rep>(json, "delay_ns", 0)))};
  if (const auto target = json.find("target"); target != json.end() && target->is_object()) {
    const int kind = number_field(*target, "kind", 0);
    if (kind >= 0 && kind <= static_cast<int>(RollbackTarget::Kind::back)) {
      action.target.kind = static_cast<RollbackTarget::Kind>(kind);
    }
    action.target.name = text_field(*target, "name");
    action.target.back = number_field(*target, "back", 0);
    const auto or_start = target->find("or_start");
    action.target.or_start = or_start != target->end() && or_start->is_boolean() && *or_start;
  }
  action.until = time_field(json, "until_ms");
  if (json.contains("expires_after_ns")) {
    action.expires_after = Duration(number_field<Duration::rep>(json, "expires_after_ns", 0));
  }
  action.allowed_actions = names_field(json, "allowed_actions");
  if (json.contains("value")) action.value = std::make_shared<const Json>(json["value"]);
  return action;
}

}  // namespace triage::inline v0_1::detail
