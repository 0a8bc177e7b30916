// SPDX-License-Identifier: MIT
#include "triage/detail/run_facts.hpp"

#include "journal/suspension_fields.hpp"
#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <chrono>

namespace triage::inline v0_1::detail {
namespace {

// Bounds stored numbers, which are not trusted.
constexpr int most_attempts = 1'000'000'000;

HistoryEntry action_of(const Json& body) {
  return {parse_failure_type(text_field(body, "type")).value_or(FailureType::unknown),
          parse_recovery_kind(text_field(body, "action")).value_or(RecoveryAction::Kind::escalate),
          text_field(body, "reason"), text_field(body, "by"), field(body, "refused", false)};
}

}  // namespace

void RunFacts::apply(RecordKind kind, const Json& body, WallTime time) {
  switch (kind) {
    case RecordKind::run_started: start = body; break;
    case RecordKind::attempt_started:
      attempts = std::clamp(field(body, "number", attempts + 1), 0, most_attempts);
      break;
    case RecordKind::usage:
      usage += Usage{.input_tokens = field<std::uint64_t>(body, "input_tokens", 0),
                     .output_tokens = field<std::uint64_t>(body, "output_tokens", 0),
                     .cost_usd = field(body, "cost_usd", 0.0),
                     .calls = field<std::uint64_t>(body, "calls", 0)};
      break;
    case RecordKind::failure_classified: undecided = false; break;
    case RecordKind::action_taken:
      take_action(action_of(body));
      if (body.contains("compensates_after")) {
        compensating_after = field<Sequence>(body, "compensates_after", 0);
      }
      break;
    case RecordKind::rolled_back: compensating_after.reset(); break;
    case RecordKind::resumed: go_on(body, time); break;
    case RecordKind::gap:
      if (body.contains("compacted")) break;  // Nothing is lost.
      gaps.emplace_back(field<Sequence>(body, "first", 0), field<Sequence>(body, "last", 0));
      attempts = std::clamp(field(body, "attempts", attempts), 0, most_attempts);
      break;
    case RecordKind::finished:
      finished = body;
      compensating_after.reset();
      break;
    case RecordKind::suspended: suspend(body); break;
    case RecordKind::stopped:
      stopped = body;
      if (field(body, "uncounted", false)) ++suspended_attempts;
      if (body.contains("compensates_after")) {  // Still: something kept it from being completed.
        compensating_after = field<Sequence>(body, "compensates_after", 0);
      } else {
        compensating_after.reset();
        aborting = false;
      }
      break;
    case RecordKind::forked: forked = body; break;
    case RecordKind::signal_received:
      signals[text_field(body, "name")] =
          body.contains("value") ? std::optional(body["value"]) : std::nullopt;
      break;
    case RecordKind::sleep_begun:
      sleeps.emplace(text_field(body, "name"), time_field(body, "until_ms").value_or(WallTime()));
      break;
    default: break;
  }
}

void RunFacts::take_action(HistoryEntry entry) {
  // A decision during a suspension concerns the failure that suspended the run.
  if (undecided) history.pop_back();
  undecided = entry.action == RecoveryAction::Kind::suspend;
  decision = nullptr;
  aborting = entry.action == RecoveryAction::Kind::abort;
  if (history.empty()) history.reserve(4);  // Few runs fail more often.
  history.push_back(std::move(entry));
}

void RunFacts::suspend(const Json& body) {
  suspended = body;
  stopped = body;
  if (field(body, "waiting", false)) ++suspended_attempts;
  for (auto& [run, child] : children_of(body)) awaited[run] = std::move(child);
}

// The run continues: after a crash, after an end without a result, or by a decision.
void RunFacts::go_on(const Json& body, WallTime time) {
  decision = body.contains("decision") ? body : Json();
  const auto child = body.find("child_decision");
  if (child != body.end() && child->is_object()) {
    AwaitedRun& nested = awaited[field<std::string>(*child, "run", {})];
    nested.decision = child->value("action", Json());
    nested.by = text_field(body, "by");
  }
  const auto proposed = text_field(suspended, "proposed");
  const auto kind = parse_recovery_kind(text_field(body, "action"));
  const bool approves = kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::resume;
  if (!proposed.empty() && approves) approved.insert(proposed);
  for (const Sleep& sleep : sleeps_of(suspended)) {
    if (time >= sleep.until) served_waits[sleep.place] = sleep.length;  // It is over.
  }
  aborting = false;
  finished = nullptr;
  stopped = nullptr;
  suspended = nullptr;
}

}  // namespace triage::inline v0_1::detail
