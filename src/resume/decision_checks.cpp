// SPDX-License-Identifier: MIT
#include "resume/decision_checks.hpp"

#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {

Result<void> check_who(std::string_view who) {
  constexpr std::size_t longest_who = 256;
  if (who.size() > longest_who) {
    return Error{Errc::invalid_argument,
                 "who has " + std::to_string(who.size()) + " bytes; allowed are 0 to 256"};
  }
  return outcome::success();
}

Result<void> check_decision(const RecoveryAction& action, const std::string& who) {
  if (auto problem = wrong_delay(action)) {
    return Error{Errc::invalid_argument, "the decision is " + *std::move(problem)};
  }
  TRIAGE_TRYV(check_who(who));
  return action.value ? check_json(*action.value, "the action's value") : outcome::success();
}

Result<void> check_allowed(RecoveryAction::Kind action, const std::vector<std::string>& allowed) {
  const std::string_view name = to_string(action);
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), name) != allowed.end()) {
    return outcome::success();
  }
  return Error{Errc::invalid_argument, "the action " + std::string(name) +
                                           " is not allowed here; allowed: " + joined(allowed)};
}

Result<void> check_not_expired(const std::optional<WallTime>& expires, Clock& clock,
                               std::string_view what_now) {
  if (!expires || clock.wall_now() < *expires) return outcome::success();
  return Error{Errc::conflict, "the token has expired; " + std::string(what_now)};
}

// Accepting a decision that cannot be executed would waste the token.
Result<void> check_fits(const Journal& journal, const RecoveryAction& action,
                        const Result<void>& fallback_fits) {
  if (action.kind == RecoveryAction::Kind::fallback) return fallback_fits;
  const RollbackTarget& target = action.target;
  if (action.kind != RecoveryAction::Kind::rollback || target.or_start) return outcome::success();
  bool found = true;
  if (target.kind == RollbackTarget::Kind::label) {
    found = journal.find_label(target.name).has_value();
  } else if (target.kind == RollbackTarget::Kind::checkpoint) {
    const auto id = parse_checkpoint_id(target.name);
    found = id && id.value().run == journal.run() && journal.find(id.value().sequence);
  }
  if (found) return outcome::success();
  return Error{Errc::invalid_argument, "run \"" + journal.run() + "\" has no checkpoint \"" +
                                           printable(target.name) + "\" to roll back to"};
}

Result<void> check_safe(const AgentCore& core, RunData& data, const RecoveryAction& action) {
  auto problem = unsafe_to_rerun(core, data.context().trajectory, data.restored_steps, action.kind);
  if (!problem) return outcome::success();
  return Error{Errc::invalid_argument, *std::move(problem)};
}

}  // namespace triage::inline v0_1::detail
