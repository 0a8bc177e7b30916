// SPDX-License-Identifier: MIT
#include "triage/policies/stop.hpp"

#include "describe.hpp"
#include "seams/action_names.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/json.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t longest_message_quote = 200;

// What a nested run says of its own escalation, without the summary that its parent gives, too.
std::string_view without_summary(std::string_view text, const std::string& what) {
  constexpr std::string_view begins = "escalated: ", attempt = " of attempt ";
  while (text.starts_with(begins) && text.substr(begins.size()).starts_with(what)) {
    const std::size_t end = text.find(": ", begins.size() + what.size());
    const std::string_view head = text.substr(0, end);
    if (end == std::string_view::npos || head.find(attempt) == std::string_view::npos) break;
    text.remove_prefix(end + 2);
  }
  return text;
}

// "external_fault (rate_limited) at step 3 of attempt 2: HTTP 429 …"
std::string summary(const FailureContext& context) {
  std::string text(to_string(context.type()));
  if (!context.classification.reason.empty()) text += " (" + context.classification.reason + ")";
  const std::string_view said = without_summary(context.text, text);
  if (context.classification.critical_step) {
    text += " at step " + std::to_string(*context.classification.critical_step);
  }
  text += " of attempt " + std::to_string(context.attempt_number);
  if (!said.empty()) {
    text += ": " + printable(said.substr(0, longest_message_quote));
    if (said.size() > longest_message_quote) text += "…";
  }
  return text;
}

void check_actions(const std::vector<std::string>& actions, detail::StrategyBuilder& builder) {
  for (auto name = actions.begin(); name != actions.end(); ++name) {
    const std::string key =
        "allowed_actions[" + std::to_string(std::distance(actions.begin(), name)) + "]";
    if (!parse_recovery_kind(*name)) {
      builder.problem(key + " is " + detail::quoted(*name) +
                      detail::allowed_names(*name, detail::action_names()));
    } else if (std::find(actions.begin(), name, *name) != name) {
      builder.problem(key + " is " + detail::quoted(*name) + " again; allowed is each action once");
    }
  }
}

}  // namespace

Strategy escalate(std::string message) {
  auto builder = detail::StrategyBuilder("escalate").text("message", message);
  return builder.build([message = std::move(message)](const FailureContext& context) {
    return RecoveryAction::escalate(message.empty() ? "escalated: " + summary(context) : message);
  });
}

Strategy suspend(SuspendOptions options) {
  detail::StrategyBuilder builder("suspend");
  builder.text("message", options.message);
  if (options.until) {
    builder.option("until", std::to_string(options.until->time_since_epoch().count()) + "ms");
  }
  if (!options.allowed_actions.empty()) {
    builder.option("allowed_actions", "[" + detail::joined(options.allowed_actions) + "]");
  }
  if (options.expires_after) {
    builder.option("expires_after", format_duration(*options.expires_after));
    if (*options.expires_after <= Duration::zero()) {
      builder.problem("expires_after is " + format_duration(*options.expires_after) +
                      "; allowed is more than 0");
    }
  }
  check_actions(options.allowed_actions, builder);
  return builder.build([options = std::move(options)](const FailureContext& context) {
    RecoveryAction action = RecoveryAction::suspend(
        options.message.empty() ? "a decision is needed: " + summary(context) : options.message);
    action.until = options.until;
    action.expires_after = options.expires_after;
    action.allowed_actions = options.allowed_actions;
    return action;
  });
}

Strategy abort_run(std::string reason) {
  auto builder = detail::StrategyBuilder("abort_run").text("reason", reason);
  return builder.build([reason = std::move(reason)](const FailureContext& context) {
    return RecoveryAction::abort(reason.empty() ? std::string(to_string(context.type())) : reason);
  });
}

}  // namespace triage::inline v0_1
