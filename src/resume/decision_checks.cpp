// SPDX-License-Identifier: MIT
#include "resume/decision_checks.hpp"

#include "journal/suspension_fields.hpp"
#include "resume/continuation.hpp"
#include "run/rollback_target.hpp"
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
  if (auto problem = wrong_action(action)) {
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
  if (action.kind != RecoveryAction::Kind::rollback || action.target.or_start) {
    return outcome::success();
  }
  std::string problem;
  if (find_position(journal, journal.run(), action.target, &problem)) return outcome::success();
  return Error{Errc::invalid_argument,
               "run \"" + journal.run() + "\" cannot be rolled back: " + problem};
}

Result<void> check_in_time(const RecoveryAction& action, const std::optional<WallTime>& deadline,
                           WallTime now) {
  if (!reruns(action.kind) || action.delay <= Duration::zero() || !deadline) {
    return outcome::success();
  }
  const Duration left = std::max(WallTime::duration::zero(), *deadline - now);
  if (action.delay < left) return outcome::success();
  const auto seconds = [](Duration duration) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(duration).count()) + " s";
  };
  return Error{Errc::invalid_argument, std::string(to_string(action.kind)) + " after " +
                                           seconds(action.delay) +
                                           " would begin after the deadline in " + seconds(left)};
}

// Of a run that was suspended for another one, the innermost is asked.
Result<void> check_for_child(CheckpointStore& store, const RunId& child,
                             const RecoveryAction& action, Clock& clock) {
  constexpr int deepest_nesting = 64;
  RunId run = child;
  for (int depth = 0; depth < deepest_nesting; ++depth) {
    const auto reading = run_catching([&] { return store.read_newest(run); });
    if (!reading || reading.value().info.status != RunStatus::suspended) break;
    const auto journal = Journal::fold(reading.value());
    if (!journal || !journal.value().suspended().is_object()) break;
    run = awaited_child(journal.value().suspended());
    if (!run.empty()) continue;
    TRIAGE_TRYV(check_fits(journal.value(), action));
    return check_in_time(action, terms_of(reading.value()).deadline, clock.wall_now());
  }
  return outcome::success();
}

Result<void> check_safe(const AgentCore& core, RunData& data, const RecoveryAction& action) {
  auto problem = unsafe_to_rerun(core, data.context().trajectory, data.restored_steps, action.kind);
  if (!problem) return outcome::success();
  return Error{Errc::invalid_argument, *std::move(problem)};
}

}  // namespace triage::inline v0_1::detail
