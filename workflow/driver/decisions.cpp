// SPDX-License-Identifier: MIT
#include "decisions.hpp"
#include "journal/action_json.hpp"
#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace triage::inline v0_1::workflow::detail {
namespace {

using triage::detail::text_field;
using Kind = RecoveryAction::Kind;

bool retries(Kind kind) {
  return kind == Kind::retry || kind == Kind::replan || kind == Kind::rollback ||
         kind == Kind::resume;
}

// Those that a workflow can carry out.
std::vector<std::string> allowed_of(const RecoveryAction& wanted) {
  std::vector<std::string> allowed;
  for (const Kind kind :
       {Kind::retry, Kind::replan, Kind::rollback, Kind::resume, Kind::escalate, Kind::abort}) {
    const std::string name(to_string(kind));
    const auto& own = wanted.allowed_actions;
    if (own.empty() || std::find(own.begin(), own.end(), name) != own.end()) {
      allowed.push_back(name);
    }
  }
  return allowed;
}

std::optional<Kind> kind_of(const Json& answer) {
  return parse_recovery_kind(answer.is_string() ? answer.get<std::string>()
                                                : text_field(answer, "action"));
}

}  // namespace

Json decision_payload(const RecoveryAction& wanted, const std::string& failure) {
  Json payload{{"failure", failure}, {"allowed", allowed_of(wanted)}};
  if (!wanted.message.empty()) payload["message"] = wanted.message;
  if (wanted.until) {
    const Json as_suspended{{"allowed_actions", wanted.allowed_actions}};
    payload["then"] = to_string(triage::detail::action_when_due(as_suspended).kind);
  }
  return payload;
}

Result<void> check_decision(const Asked& asked, const Json& answer) {
  const Json allowed = asked.payload.is_object() ? asked.payload.value("allowed", Json()) : Json();
  const auto kind = kind_of(answer);
  std::string names;
  for (const Json& one : allowed) {
    if (kind && one == to_string(*kind)) return outcome::success();
    names += (names.empty() ? "" : ", ") + show(one);
  }
  return Error{Errc::invalid_argument, "the decision is " + printable(show(answer)) +
                                           "; allowed are " + names +
                                           ", or an object with one of them as \"action\" and "
                                           "perhaps a \"message\""};
}

Decision decision_from(const Asked& asked, const Answer& answer) {
  const Json& payload = asked.payload;
  const Json value = !answer.expired       ? answer.value
                     : payload.is_object() ? payload.value("then", Json())
                                           : Json();
  const auto kind = kind_of(value);
  if (kind && retries(*kind)) return {.retries = true, .error = {Errc::escalated, ""}};
  std::string text = answer.expired ? "nobody decided in time" : "it was decided to give up";
  if (!text_field(value, "message").empty()) text = text_field(value, "message");
  return {.error = {kind == Kind::abort ? Errc::aborted : Errc::escalated,
                    text + "; the failure was: " + text_field(payload, "failure")}};
}

}  // namespace triage::inline v0_1::workflow::detail
