// SPDX-License-Identifier: MIT
#pragma once
// What the hooks of an agent's command line tell, and how they are answered.

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
  Json response{};     // Of PostToolUse.
  std::string call{};  // The id of the call.
  bool codex = false;  // It comes from Codex, which cannot be told to ask.
};

// Errors: Errc::invalid_argument for what is no event of a hook.
[[nodiscard]] Result<HookEvent> hook_event_from(const std::string& text);

// The step that a call is.
[[nodiscard]] Step step_of(const HookEvent& event);

// The risk guard's verdict. That a program which writes software has a shell, and writes files, is
// no risk; what it asks the shell for is.
[[nodiscard]] GuardVerdict judge_call(const HookEvent& event);

// The key of a call as an effect: the same tool with the same input is the same effect.
[[nodiscard]] std::string effect_key(const HookEvent& event);

// What is printed for a call that is about to be made. Nothing for `allow`, which only says that
// there is no objection: the program's own rules then decide, as without a hook.
[[nodiscard]] std::string hook_answer(const HookEvent& event, const GuardVerdict& verdict);

}  // namespace triage::inline v0_1::cli
