// SPDX-License-Identifier: MIT
#include "render/waiting.hpp"

#include "render/output.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_value = 400;

std::string text_of(const Json& value) {
  return shorten(value.is_string() ? value.get<std::string>() : show(value), longest_value);
}

// A member of an object from a file; null if absent.
const Json& member(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string line(const char* heading, const Json& value) {
  return value.is_null() || value == "" ? "" : heading + text_of(value) + "\n";
}

}  // namespace

Json shown_task(const Timeline& timeline) {
  const auto& all = timeline.events;
  const auto redacted = std::find_if(all.rbegin(), all.rend(), [](const TimelineEvent& one) {
    return one.fields.value("kind", "") == to_string(RecordKind::suspended) &&
           one.fields.contains("task");
  });
  const Json task = timeline.journal.start().value("task", Json());
  return supervise::without_secrets(redacted != all.rend() ? redacted->fields["task"] : task,
                                    supervise::redactor_of(task));
}

std::string task_in_words(const Json& task, std::size_t longest) {
  const Json& command = member(task, "command");
  if (!command.is_array()) {
    return shorten(task.is_string() ? task.get<std::string>() : show(task), longest);
  }
  std::string line;
  for (const Json& word : command) {
    if (word.is_string()) line += (line.empty() ? "" : " ") + word.get<std::string>();
  }
  return shorten(line, longest);
}

// Its decision is recorded.
static bool is_decided(const Json& waiting) { return member(waiting, "decided_by").is_string(); }

std::string waits_for(const Json& waiting) {
  if (is_decided(waiting)) {
    return "its program: " + text_of(member(member(waiting, "then"), "kind"));
  }
  std::string time;
  if (const auto until = detail::time_field(waiting, "until_ms")) {
    time = short_time(*until) + " UTC";
  }
  if (const Json& signal = member(waiting, "signal"); signal.is_string()) {
    return "signal " + shorten(signal.get<std::string>(), longest_value) +
           (time.empty() ? "" : ", until " + time);
  }
  return time.empty() ? "a decision" : time;
}

std::string waits_in_words(const Json& waiting) {
  const bool until = detail::time_field(waiting, "until_ms") &&
                     !member(waiting, "signal").is_string() && !is_decided(waiting);
  return (until ? "waits until " : "waits for ") + waits_for(waiting);
}

Json waiting_of(CheckpointStore& store, const RunId& run) {
  const auto reading = store.read(run, {});
  if (!reading) return nullptr;
  const auto told = read_timeline(reading.value(), std::numeric_limits<Sequence>::max());
  return told ? waiting_json(told.value()) : nullptr;
}

std::string question_in_words(const Json& payload) {
  const Json& question = member(payload, "question");
  if (!question.is_string())
    return payload.is_string() ? payload.get<std::string>() : show(payload);
  Json rest = payload;
  rest.erase("question");
  return question.get<std::string>() + (rest.empty() ? "" : " " + show(rest));
}

Json waiting_json(const Timeline& timeline) {
  const Json& body = timeline.journal.suspended();
  if (body.is_null()) return nullptr;
  Json shown{{"agent", member(timeline.journal.start(), "agent")},
             {"task", shown_task(timeline)},
             {"message", member(body, "message")},
             {"allowed_actions", member(body, "allowed_actions")}};
  for (const char* name : {"step", "signal", "until_ms", "then", "decided_by"}) {
    if (body.contains(name)) shown[name] = body[name];
  }
  if (body.contains("child")) shown["child"] = member(body["child"], "run");
  return shown;
}

std::string waiting_text(const Timeline& timeline) {
  const Json& body = timeline.journal.suspended();
  if (body.is_null()) return {};
  const Json& step = member(body, "step");
  std::string text = "\n" + waits_in_words(body) + ": " + text_of(member(body, "message")) + "\n";
  text[1] = 'W';
  text += line("  Agent    ", member(timeline.journal.start(), "agent"));
  if (const Json task = shown_task(timeline); !task.is_null() && task != "") {
    text += "  Task     " + task_in_words(task, longest_value) + "\n";
  }
  text += line("  Decided  by ", member(body, "decided_by"));
  text += line("  Step     ", member(step, "action"));
  text += line("  Tool     ", member(step, "tool"));
  text += line("  Input    ", member(step, "input"));
  if (const Json& risk = member(step, "risk"); risk.is_number()) {
    char number[32];
    std::snprintf(number, sizeof number, "%.2f", risk.get<double>());
    text +=
        "  Risk     " + std::string(number) + "\n" + line("  Why      ", member(step, "reason"));
  }
  const Json& allowed = member(body, "allowed_actions");
  const std::string names = allowed.is_array() ? detail::joined(allowed, text_of) : "";
  if (!names.empty()) text += "  Allowed  " + names + "\n";
  const bool by_token = !body.contains("until_ms") && !body.contains("signal");
  return text + (by_token ? "  Token    told when the run was suspended; `triage reissue` prints a "
                            "new one\n"
                          : "");
}

}  // namespace triage::inline v0_1::cli
