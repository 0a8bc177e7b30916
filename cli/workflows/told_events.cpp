// SPDX-License-Identifier: MIT
#include "told_events.hpp"

#include "command_status.hpp"
#include "render/output.hpp"
#include "triage/detail/joined.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

using workflow::WorkflowEvent;
using workflow::WorkflowEventKind;

constexpr std::size_t longest_told = 200;

void tell_line(const std::string& text, Json line) {
  if (!asked_for_json()) return warn(text);
  line["message"] = text;
  std::fprintf(stderr, "%s\n", show(line).c_str());
}

void tell(std::string_view kind, const std::string& executor, const std::string& what) {
  tell_line(executor + " " + shorten(what, longest_told),
            {{"event", kind}, {"executor", executor}});
}

std::string names_in(const Json& value, const char* key) {
  return detail::joined(value.value(key, std::vector<std::string>()));
}

// What a task tells those after it, or, as the last one, the workflow. Null: the event has none.
Json ending_in(const WorkflowEvent& event) {
  if (event.kind == WorkflowEventKind::output) return event.value;
  const bool has_ended = event.kind == WorkflowEventKind::executor_completed ||
                         event.kind == WorkflowEventKind::executor_reused;
  return has_ended && !event.value.empty() ? event.value.front() : Json();
}

}  // namespace

std::string said(const Error& error) {
  return error.unstored_value<Json>() ? error.detail : error.message();
}

void tell_event(const WorkflowEvent& event, const Redactor& redactor) {
  std::string what;
  if (event.kind == WorkflowEventKind::executor_started) what = "begins";
  if (event.kind == WorkflowEventKind::executor_completed) what = "has finished";
  if (event.kind == WorkflowEventKind::executor_reused) what = "had finished before";
  if (event.kind == WorkflowEventKind::executor_failed) {
    const std::string why = event.value.is_string() ? event.value.get<std::string>() : "";
    what = "failed: " + redactor.text(event.error ? said(*event.error) : why);
  }
  if (event.kind == WorkflowEventKind::join_left_waiting) {
    what = "was left waiting for " + names_in(event.value, "waits_for") + " and did not get what " +
           names_in(event.value, "from") + " sent";
  }
  if (!what.empty()) tell(to_string(event.kind), event.executor, what);
}

void tell_task(const WorkflowEvent& event, const Redactor& redactor) {
  if (event.kind == WorkflowEventKind::executor_started) return;
  const Json ending = ending_in(event);
  if (ending.is_object() && ending.value("cascaded", false)) {
    return tell("executor_left_out", event.executor,
                "is left out: " + redactor.text(ending.value("why", std::string())));
  }
  const bool reused = event.kind == WorkflowEventKind::executor_reused;
  if (!reused && ending.is_object() && ending.value("status", Json()) == "completed") {
    return tell(to_string(WorkflowEventKind::executor_completed), event.executor, "has finished");
  }
  if (event.kind != WorkflowEventKind::executor_completed) tell_event(event, redactor);
}

void tell_retry(const std::string& path, const std::string& failure, Duration wait,
                const Redactor& redactor) {
  tell("attempt_failed", path,
       "failed, and is tried again in " +
           short_duration(std::chrono::ceil<std::chrono::milliseconds>(wait)) + ": " +
           redactor.text(failure));
}

void tell_lost_store(const Event& event) {
  if (event.kind != EventKind::store_detached || event.error == nullptr) return;
  tell_line("the store failed, so nothing more begins: " + printable(event.error->detail),
            {{"event", to_string(event.kind)}});
}

AgentWorks telling_works(AgentWorks works) {
  struct Begun {
    std::mutex mutex{};
    std::set<std::string> tasks{};
  };
  const auto begun = std::make_shared<Begun>();
  for (auto& [name, work] : works) {
    work = [begun, work = std::move(work)](const workflow::TaskInput& task,
                                           workflow::Context& context) {
      const bool first = [&] {
        const std::scoped_lock lock(begun->mutex);
        return begun->tasks.insert(task.id).second;
      }();
      if (first) tell(to_string(WorkflowEventKind::executor_started), task.id, "begins");
      return work(task, context);
    };
  }
  return works;
}

}  // namespace triage::inline v0_1::cli
