// SPDX-License-Identifier: MIT
// triage hook: called by Claude Code and Codex before and after they use a tool.

#include "command.hpp"
#include "documents/hook_event.hpp"
#include "programs/supervisor_client.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>

namespace triage::inline v0_1::cli {
namespace {

// Both programs take this status as "block this call", with the reason on standard error.
constexpr ExitStatus blocks = static_cast<ExitStatus>(2);

struct HookArguments {
  std::string on_error = "allow";
  std::string guard = "default";
  std::vector<std::string> once{};
};

bool is_once(const HookArguments& given, const HookEvent& event) {
  return std::find(given.once.begin(), given.once.end(), event.tool) != given.once.end();
}

Json effect_of(const HookEvent& event) {
  return {{"key", effect_key(event)},
          {"arguments", {{"tool", event.tool}, {"input", event.input}}},
          {"held", true}};
}

bool is_supervised() { return std::getenv("TRIAGE_SOCKET") != nullptr; }

// A call that must happen once: its intent is durable before the call is allowed.
Result<GuardVerdict> ask_effect(const HookEvent& event) {
  if (!is_supervised()) {
    return Error{Errc::not_found,
                 "--once needs `triage run` around the program: nothing else "
                 "knows what was done before"};
  }
  TRIAGE_TRY(client, SupervisorClient::connect());
  const auto answer = client.ask({{"effect", effect_of(event)}});
  if (!answer) {
    if (answer.error().code != Errc::in_doubt) return answer.error();
    return GuardVerdict{.kind = GuardVerdict::Kind::ask,
                        .reason = "nobody knows whether this call has happened already"};
  }
  if (answer.value().value("run", false)) return GuardVerdict{};
  return GuardVerdict{.kind = GuardVerdict::Kind::deny,
                      .reason =
                          "this was done already in this run, and must not be done twice. "
                          "Its result was: " +
                          shorten(show(answer.value().at("result")), 2'000)};
}

Result<GuardVerdict> judge(const HookArguments& given, const HookEvent& event) {
  const GuardVerdict verdict = given.guard == "none" ? GuardVerdict{} : judge_call(event);
  if (!is_once(given, event) || is_denied(event, verdict)) return outcome::success(verdict);
  // Also before a person is asked: nobody reports a yes to us, and the call is made.
  const Result<GuardVerdict> effect = ask_effect(event);
  if (!effect && given.on_error == "block") return effect.error();
  if (!effect) report(effect.error());  // The guard's judgement stays.
  const bool allowed = !effect || effect.value().kind == GuardVerdict::Kind::allow;
  return outcome::success(allowed ? verdict : effect.value());
}

// If the program's events are read, the step is already recorded.
bool records_steps() {
  const char* adapter = std::getenv("TRIAGE_ADAPTER");
  return is_supervised() && (adapter == nullptr || *adapter == '\0');
}

// Sends the message to the supervisor and returns when it is durable.
Result<void> confirm(SupervisorClient& client, const Json& message) {
  TRIAGE_TRYV(client.ask(message));
  return outcome::success();
}

Result<void> record(const HookArguments& given, const HookEvent& event) {
  // A call that failed may have done something: as an effect it stays in doubt.
  const bool once = is_once(given, event) && is_supervised() && event.name == "PostToolUse";
  if (!once && !records_steps()) return outcome::success();
  TRIAGE_TRY(client, SupervisorClient::connect());
  if (once) {
    const Json done{{"key", effect_key(event)}, {"result", event.response}};
    const Json ended{{"effect_done", done}};
    TRIAGE_TRYV(confirm(client, ended));
    // Answered once the result is durable.
    const Json asked{{"effect", effect_of(event)}};
    TRIAGE_TRYV(confirm(client, asked));
  }
  if (records_steps()) {
    const Step step = step_of(event);
    const Json fields{{"action", step.action},
                      {"tool_called", event.tool},
                      {"tool_input", step.tool_input},
                      {"metadata", step.metadata}};
    const Json message{{"step", fields}};
    TRIAGE_TRYV(confirm(client, message));
  }
  return outcome::success();
}

// It was not permitted, so certainly nothing happened.
Result<void> withdraw(const HookEvent& event) {
  TRIAGE_TRY(client, SupervisorClient::connect());
  const Json effect{{"key", effect_key(event)}, {"cause", "it was not permitted"}};
  const Json message{{"effect_not_done", effect}};
  return confirm(client, message);
}

Result<ExitStatus> serve(const HookArguments& given, const HookEvent& event) {
  if (event.name == "PreToolUse") {
    TRIAGE_TRY(verdict, judge(given, event));
    print(hook_answer(event, verdict));
    TRIAGE_TRYV(flush_output());  // A verdict that nobody hears lets the call pass.
  } else if (event.name == "PostToolUse" || event.name == "PostToolUseFailure") {
    TRIAGE_TRYV(record(given, event));
  } else if (event.name == "PermissionDenied" && is_once(given, event) && is_supervised()) {
    TRIAGE_TRYV(withdraw(event));
  }
  // Other events, such as Stop, must not block.
  return ExitStatus::done;
}

// Errors: also what is thrown, such as std::bad_alloc.
Result<ExitStatus> try_to_serve(const HookArguments& given, const HookEvent& event) {
  try {
    return serve(given, event);
  } catch (const std::exception& error) {
    return Error{Errc::io, error.what()};
  }
}

ExitStatus run_hook(const HookArguments& given) {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto event = hook_event_from(text);
  const auto served =
      event ? try_to_serve(given, event.value()) : Result<ExitStatus>(event.error());
  if (served) return served.value();
  report(served.error());
  // A Stop hook that blocks makes the program go on for ever: only what may be a call is blocked.
  const bool call = event ? event.value().name == "PreToolUse" : !is_no_call(text);
  if (!call) return ExitStatus::done;
  if (given.on_error == "block") return blocks;
  if (!event && given.guard != "none") {
    print(unread_answer(text));
    if (const auto told = flush_output(); !told) report(told.error());
  }
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> hook(CLI::App& arguments) {
  auto given = std::make_shared<HookArguments>();
  arguments
      .add_option("--on-error", given->on_error,
                  "What becomes of a call when triage itself fails: allow (the default), block.")
      ->check(CLI::IsMember({"allow", "block"}));
  arguments
      .add_option("--guard", given->guard,
                  "Who judges a call before it is made: default (the words of the risk guard), "
                  "none.")
      ->check(CLI::IsMember({"default", "none"}));
  arguments
      .add_option("--once", given->once,
                  "A tool whose calls with the same input happen at most once in a run.")
      ->check(not_empty());
  arguments.footer(
      "Example: echo '{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"LS\"}' | triage "
      "hook\n\n"
      "Reads the event from standard input. Exit status: 0, also when triage fails (the reason is\n"
      "on standard error); 2 if a call is blocked because of --on-error block; 1 for arguments\n"
      "that are wrong.");
  return [given] {
    try {
      return run_hook(*given);
    } catch (const std::exception& error) {  // It was not even read: it may be a call.
      report({Errc::io, error.what()});
      return given->on_error == "block" ? blocks : ExitStatus::done;
    }
  };
}

}  // namespace triage::inline v0_1::cli
