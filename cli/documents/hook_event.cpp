// SPDX-License-Identifier: MIT
#include "hook_event.hpp"

#include "mended_json.hpp"
#include "triage/detail/fnv1a.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/json_depth.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/policies/risk_guard.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {

using detail::text_field;

Result<HookEvent> hook_event_from(const std::string& text) {
  if (detail::nested_deeper(text, max_json_depth)) {
    return Error{Errc::invalid_argument, "standard input is nested deeper than " +
                                             std::to_string(max_json_depth) + " levels"};
  }
  const Json json = parse_mended(text);
  if (!json.is_object()) {
    return Error{Errc::invalid_argument, "standard input has no JSON object: is this a hook?"};
  }
  HookEvent event{.name = text_field(json, "hook_event_name"),
                  .tool = text_field(json, "tool_name"),
                  .input = json.value("tool_input", Json()),
                  .response = json.value("tool_response", json.value("error", Json())),
                  .call = text_field(json, "tool_use_id"),
                  // Claude Code tells neither of a call.
                  .codex = json.contains("turn_id") || json.contains("model")};
  if (event.name.empty()) {
    return Error{Errc::invalid_argument, "standard input has no hook_event_name"};
  }
  const bool is_call = event.name == "PreToolUse" || event.name == "PostToolUse" ||
                       event.name == "PostToolUseFailure";
  if (is_call && event.tool.empty()) {
    return Error{Errc::invalid_argument, "tool_name of " + event.name + " is " +
                                             show(json.value("tool_name", Json())) +
                                             "; allowed is the name of a tool"};
  }
  return outcome::success(std::move(event));
}

bool is_no_call(const std::string& text) {
  std::string name;
  const Json json = detail::nested_deeper(text, max_json_depth) ? Json(Json::value_t::discarded)
                                                                : parse_mended(text);
  if (json.is_object()) {
    name = text_field(json, "hook_event_name");
  } else if (text.find("PreToolUse") == std::string::npos) {
    // What is left of it: the text behind the key.
    constexpr std::string_view key = "\"hook_event_name\"";
    const std::size_t colon = text.find(key);
    if (colon == std::string::npos) return false;
    const std::size_t quote = text.find_first_not_of(" \t\r\n:", colon + key.size());
    if (quote == std::string::npos || text[quote] != '"') return false;
    name = text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  }
  return !std::string_view("PreToolUse").starts_with(name);
}

Step step_of(const HookEvent& event) {
  Step step{.action = "call " + event.tool, .tool_called = event.tool, .tool_input = event.input};
  if (!event.response.is_null()) step.metadata = {{"printed", show(event.response)}};
  if (event.name == "PostToolUseFailure") step.metadata["failed"] = true;
  return step;
}

GuardVerdict judge_call(const HookEvent& event) {
  RiskRules rules = default_risk_rules();
  std::erase_if(rules.rules, [](const RiskRule& rule) {
    static constexpr std::array shells{"shell", "bash", "exec", "execute", "eval"};
    return rule.where == RiskRule::Where::tool &&
           std::find(shells.begin(), shells.end(), rule.words.front()) != shells.end();
  });
  Step step = step_of(event);
  if (step.tool_input.is_object()) {
    for (const char* text : {"content", "new_string", "old_string", "edits", "new_source"}) {
      step.tool_input.erase(text);
    }
  }
  if (event.tool == "apply_patch") step.tool_input = nullptr;
  return risk_guard(std::move(rules))->judge(step);
}

// Collisions are harmless: an effect's arguments are compared too.
std::string effect_key(const HookEvent& event) {
  const std::uint64_t hash = detail::fnv1a(event.tool + "\n" + show(event.input));
  return "hook:" + event.tool.substr(0, 200) + ":" + detail::hex_number(hash);
}

bool is_denied(const HookEvent& event, const GuardVerdict& verdict) noexcept {
  return verdict.kind == GuardVerdict::Kind::deny ||
         (verdict.kind == GuardVerdict::Kind::ask && event.codex);
}

std::string hook_answer(const HookEvent& event, const GuardVerdict& verdict) {
  if (verdict.kind == GuardVerdict::Kind::allow) return "";
  const std::string reason =
      "triage: " + verdict.reason +
      (verdict.kind == GuardVerdict::Kind::ask && event.codex ? " (somebody has to be asked)" : "");
  return show(Json{{"hookSpecificOutput",
                    {{"hookEventName", "PreToolUse"},
                     {"permissionDecision", is_denied(event, verdict) ? "deny" : "ask"},
                     {"permissionDecisionReason", reason}}}}) +
         "\n";
}

std::string unread_answer(const std::string& text) {
  const auto names = [&text](std::string_view word) {
    return text.find(word) != std::string::npos;
  };
  if (!names("\"PreToolUse\"")) return "";
  HookEvent call{.name = "PreToolUse"};
  // Wherever they stand: to deny a call of Claude Code is better than to let one of Codex pass.
  call.codex = names("\"turn_id\"") || names("\"model\"");
  return hook_answer(
      call, {.kind = GuardVerdict::Kind::ask, .reason = "this call could not be read, nor judged"});
}

}  // namespace triage::inline v0_1::cli
