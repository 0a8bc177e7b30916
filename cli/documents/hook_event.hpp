// SPDX-License-Identifier: MIT
#pragma once
// The hook events of an agent's command line, and their answers.

#include "triage/guard.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <optional>
#include <string>

namespace triage::inline v0_1::cli {

struct HookEvent {
  std::string name{};  // "PreToolUse".
  std::string tool{};
  Json input{};
  Json response{};     // Of PostToolUse; the error of PostToolUseFailure.
  std::string call{};  // The call's id.
  bool codex = false;  // It comes from Codex, which does not support asking the user.
};

// Bytes that are not UTF-8 and lone surrogates become U+FFFD: an agent must not get past the guard
// by them. Errors: Errc::invalid_argument if it is not a hook event.
[[nodiscard]] Result<HookEvent> hook_event_from(const std::string& text);

// Whether the text, of which no event can be made, is surely of another one than a call.
[[nodiscard]] bool is_no_call(const std::string& text);

// A call as a step.
[[nodiscard]] Step step_of(const HookEvent& event);

// The risk guard's verdict. For a coding program, having a shell and writing files is no risk; what
// it asks the shell to do may be.
[[nodiscard]] GuardVerdict judge_call(const HookEvent& event);

// A call's key as an effect: the same tool with the same input is the same effect.
[[nodiscard]] std::string effect_key(const HookEvent& event);

// Whether the call is not made: also one to ask about, where the program cannot ask.
[[nodiscard]] bool is_denied(const HookEvent& event, const GuardVerdict& verdict) noexcept;

// The output for a call about to be made. Empty for `allow`, which only means no objection: the
// program's own rules then decide, as without a hook.
[[nodiscard]] std::string hook_answer(const HookEvent& event, const GuardVerdict& verdict);

// The output for a text of which no event can be made, but that may be a call: somebody is to be
// asked. Empty if it does not say that it is one.
[[nodiscard]] std::string unread_answer(const std::string& text);

}  // namespace triage::inline v0_1::cli
