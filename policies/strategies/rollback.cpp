// SPDX-License-Identifier: MIT
#include "triage/policies/rollback.hpp"

#include "describe.hpp"
#include "triage/run_id.hpp"

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t longest_label = 256;

RollbackTarget target_of(const RollbackOptions& options) {
  RollbackTarget target{.or_start = options.or_start};
  if (!options.label.empty()) {
    target.kind = RollbackTarget::Kind::label;
    target.name = options.label;
  } else if (!options.checkpoint.empty()) {
    target.kind = RollbackTarget::Kind::checkpoint;
    target.name = options.checkpoint;
  } else if (options.latest) {
    target.kind = RollbackTarget::Kind::latest;
  } else if (options.back > 0) {
    target.kind = RollbackTarget::Kind::back;
    target.back = options.back;
  }
  return target;
}

// The target as options, so that the description reads like the call.
void describe_target(const RollbackOptions& options, detail::StrategyBuilder& builder) {
  int targets = 0;
  const auto name = [&](bool set, std::string_view key, const std::string& rendered) {
    if (!set) return;
    builder.option(key, rendered);
    if (++targets == 2) {
      builder.problem(std::string(key) +
                      " is a second target; allowed is one of label, checkpoint, latest and back");
    }
  };
  name(!options.label.empty(), "label", detail::quoted(options.label));
  name(!options.checkpoint.empty(), "checkpoint", detail::quoted(options.checkpoint));
  name(options.latest, "latest", "true");
  name(options.back != 0, "back", std::to_string(options.back));
  if (targets == 0) builder.option("target", "last_good");
}

// The strategy that decides how long to wait and when to stop.
std::optional<Strategy> describe_backoff(const RollbackOptions& options,
                                         detail::StrategyBuilder& builder) {
  if (!options.backoff) return std::nullopt;
  Strategy waiting = retry_with_backoff(*options.backoff);
  builder.option("backoff", waiting.description())
      .require(options.backoff->hint.empty(), "backoff.hint", detail::quoted(options.backoff->hint),
               "none here; give rollback the hint");
  if (!waiting.problem().empty()) builder.problem("backoff." + waiting.problem());
  return waiting;
}

}  // namespace

Strategy rollback(RollbackOptions options) {
  detail::StrategyBuilder builder("rollback");
  describe_target(options, builder);
  builder.option("or_start", options.or_start ? "true" : "false")
      .text("hint", options.hint)
      .require(options.label.size() <= longest_label, "label",
               std::to_string(options.label.size()) + " bytes long", "1 to 256 bytes")
      .require(options.back >= 0, "back", std::to_string(options.back),
               "1 or more, or 0 (not set)");
  if (!options.checkpoint.empty()) {
    const auto id = parse_checkpoint_id(options.checkpoint);
    builder.require(id.has_value(), "checkpoint", detail::quoted(options.checkpoint),
                    "a checkpoint id, RUN@SEQUENCE");
  }
  std::optional<Strategy> waiting = describe_backoff(options, builder);
  RecoveryAction action = RecoveryAction::rollback(target_of(options));
  action.hint = options.hint;
  if (!waiting) {
    return builder.build([action = std::move(action)](const FailureContext&) { return action; });
  }
  const int max_attempts = waiting->max_attempts();
  return builder.build(
      [action = std::move(action), waiting = *std::move(waiting)](const FailureContext& context) {
        RecoveryAction decided = waiting(context);
        if (decided.kind != RecoveryAction::Kind::retry) return decided;
        const Duration delay = decided.delay;
        decided = action;
        decided.delay = delay;
        return decided;
      },
      max_attempts);
}

}  // namespace triage::inline v0_1
