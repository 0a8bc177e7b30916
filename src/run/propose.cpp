// SPDX-License-Identifier: MIT
// Checks a proposed step before the attempt carries it out.
#include "base/digest.hpp"
#include "base/run_catching.hpp"
#include "run/run.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {

std::string_view to_string(GuardVerdict::Kind kind) noexcept {
  switch (kind) {
    case GuardVerdict::Kind::allow: return "allow";
    case GuardVerdict::Kind::ask: return "ask";
    case GuardVerdict::Kind::deny: return "deny";
  }
  return "unknown";
}

}  // namespace triage::inline v0_1

namespace triage::inline v0_1::detail {
namespace {

GuardVerdict judge(const StepGuard& guard, const Step& step) {
  try {
    return guard.judge(step);
  } catch (...) {
    return {.kind = GuardVerdict::Kind::ask,
            .risk = 1.0,
            .reason = "the guard threw: " + current_exception_text()};
  }
}

// Identifies the same tool with the same input, however the step is worded.
std::string fingerprint_of(const Step& step) {
  std::string bytes;
  encode_cbor(Json{{"tool", step.tool_called.value_or(step.action)}, {"input", step.tool_input}},
              bytes);
  return digest(bytes);
}

ProposedStep shown_step(const Step& step, const GuardVerdict& verdict) {
  ProposedStep shown{.action = step.action,
                     .tool = step.tool_called.value_or(""),
                     .input = step.tool_input,
                     .risk = verdict.risk,
                     .reason = verdict.reason};
  // The record nests it two levels deeper.
  const Json stored{{"step", Json{{"input", shown.input}}}};
  if (!check_json(stored, "a step", NonFinite::allowed)) shown.input = show(shown.input);
  return shown;
}

std::string name_of(const Step& step) {
  return "\"" + printable(step.tool_called.value_or(step.action)) + "\"";
}

}  // namespace

Result<void> Run::propose_step(int attempt, const Step& step) {
  const auto& guard = core_.options.guard;
  TRIAGE_TRYV(check_json(step.tool_input, "a proposed step's tool_input", NonFinite::allowed));
  if (!guard) return outcome::success();
  const GuardVerdict verdict = judge(*guard, step);
  if (verdict.kind == GuardVerdict::Kind::allow) return outcome::success();
  const bool denied = verdict.kind == GuardVerdict::Kind::deny;
  const std::string fingerprint = fingerprint_of(step);
  const std::string why = verdict.reason.empty() ? "" : ": " + verdict.reason;
  std::string text = denied ? "the guard denies " + name_of(step) + why
                            : "the guard wants somebody to be asked about " + name_of(step) + why;
  {
    const std::scoped_lock lock(mutex_);
    if (is_late(attempt)) {
      return Error{Errc::invalid_argument,
                   "the callable has returned: its attempt takes nothing any more"};
    }
    RunData& data = made_data();
    if (!denied) {
      if (data.journal.approved().contains(fingerprint)) return outcome::success();
      data.extras().attempt.asked =
          RecoveryAction::suspend("may the agent take step " + name_of(step) + "?" +
                                  (why.empty() ? "" : " Why it asks" + why));
      data.extras().attempt.proposed = fingerprint;
      data.extras().attempt.asking.step = shown_step(step, verdict);
    }
  }
  emit(EventKind::step_refused, {.attempt = attempt, .step = &step, .text = text});
  return report(attempt, Failure{.text = std::move(text),
                                 .type = FailureType::constraint_ignored,
                                 .reason = std::string(denied ? denied_by_guard : needs_approval)});
}

}  // namespace triage::inline v0_1::detail
