// SPDX-License-Identifier: MIT
// triage workflow show: the progress of a workflow's run, and what happened in it.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/waiting.hpp"
#include "run_status.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

using workflow::CheckpointView;
using workflow::StoredDelivery;
using workflow::WorkflowEvent;

constexpr std::size_t longest_shown_value = 100;

struct WorkflowShowArguments {
  StoreArgument where{};
  bool json = false;
};

struct ShownWorkflow {
  RunInfo run{};
  CheckpointView view{};
  std::vector<WorkflowEvent> events{};
};

Result<ShownWorkflow> gather_workflow(const StoreAndRun& meant) {
  TRIAGE_TRY(store, open_store_to_read(meant.store));
  TRIAGE_TRY(view, workflow::inspect(*store, meant.run));
  TRIAGE_TRY(run, store->run(view.id.run));
  TRIAGE_TRY(events, workflow::events(*store, view.id.run));
  // Later events are not part of this checkpoint.
  if (meant.run.find('@') != std::string::npos) {
    std::erase_if(events,
                  [&](const WorkflowEvent& one) { return one.sequence > view.id.sequence; });
  }
  return outcome::success(ShownWorkflow{std::move(run), std::move(view), std::move(events)});
}

Json delivery_json(const StoredDelivery& one) {
  Json json{{"executor", one.executor},
            {"occurrence", one.occurrence},
            {"superstep", one.superstep},
            {"sent", one.sent},
            {"outputs", one.outputs}};
  if (one.task_output) json["task_output"] = *one.task_output;
  if (!one.failed.empty()) json["failed"] = one.failed;
  if (one.edited) json["edited"] = true;
  return json;
}

Json event_json(const WorkflowEvent& one) {
  Json json{
      {"sequence", one.sequence}, {"time", iso_time(one.time)}, {"kind", to_string(one.kind)}};
  if (!one.executor.empty()) json["executor"] = one.executor;
  if (one.occurrence != 0) json["occurrence"] = one.occurrence;
  if (one.superstep != 0) json["superstep"] = one.superstep;
  if (!one.request.empty()) json["request"] = one.request;
  if (!one.value.is_null()) json["value"] = one.value;
  if (one.checkpoint) json["checkpoint"] = to_string(one.checkpoint->id);
  return json;
}

Json shown_json(const ShownWorkflow& shown) {
  Json deliveries = Json::array();
  for (const StoredDelivery& one : shown.view.deliveries) deliveries.push_back(delivery_json(one));
  Json pending = Json::array();
  for (const auto& one : shown.view.pending) {
    pending.push_back(
        {{"id", one.id}, {"executor", one.executor}, {"port", one.port}, {"payload", one.payload}});
  }
  Json events = Json::array();
  for (const WorkflowEvent& one : shown.events) events.push_back(event_json(one));
  Json left_waiting = Json::array();
  for (const workflow::WaitingJoin& one : shown.view.waiting_joins) {
    left_waiting.push_back(
        {{"executor", one.executor}, {"from", one.from}, {"waits_for", one.waits_for}});
  }
  Json stopped;
  if (const auto& how = shown.view.stopped)
    stopped = {{"how", to_string(how->how)}, {"why", how->why}};
  return {{"run", shown.run.id},
          {"workflow", shown.view.workflow},
          {"status", status_text(shown.run)},
          {"checkpoint", to_string(shown.view.id)},
          {"inputs", shown.view.inputs},
          {"deliveries", std::move(deliveries)},
          {"pending", std::move(pending)},
          {"stopped", std::move(stopped)},
          {"left_waiting", std::move(left_waiting)},
          {"events", std::move(events)}};
}

std::string gave(const StoredDelivery& one) {
  if (!one.failed.empty()) return "failed: " + one.failed;
  if (one.task_output) return show(*one.task_output);
  std::string text;
  for (const auto* values : {&one.sent, &one.outputs}) {
    for (const Json& value : *values) text += (text.empty() ? "" : ", ") + show(value);
  }
  return text;
}

void print_workflow(const ShownWorkflow& shown) {
  print("Run         " + printable(shown.run.id) + ", " + status_text(shown.run) +
        (shown.run.label.empty() ? "" : ", label " + printable(shown.run.label)) + "\n");
  print("Workflow    " + printable(shown.view.workflow) + "\n");
  print("Inputs      " + shorten(show(shown.view.inputs), longest_shown_value) + "\n");
  if (const auto& how = shown.view.stopped) {
    print("Stopped     " + std::string(to_string(how->how)) +
          (how->why.empty() ? "" : ": " + printable(how->why)) + "\n");
  }
  print("Checkpoint  " + printable(to_string(shown.view.id)) + "\n\n");
  Table table({"EXECUTOR", "N", "SUPERSTEP", "GAVE"});
  for (const StoredDelivery& one : shown.view.deliveries) {
    table.add({one.executor + (one.edited ? " (edited)" : ""), std::to_string(one.occurrence),
               std::to_string(one.superstep), gave(one)});
  }
  print(table.text());
  for (const auto& one : shown.view.pending) {
    print("Waits for an answer: " + printable(one.id) + ", " +
          shorten(question_in_words(one.payload), longest_shown_value) + "\n");
  }
  for (const workflow::WaitingJoin& one : shown.view.waiting_joins) {
    print("Left waiting: " + printable(one.executor) + " got nothing from " +
          printable(detail::joined(one.waits_for)) + ", and so not what " +
          printable(detail::joined(one.from)) + " sent it\n");
  }
  print("\nWhat happened:\n");
  for (const WorkflowEvent& one : shown.events) {
    std::string what(to_string(one.kind));
    if (!one.executor.empty()) what += " " + one.executor;
    if (one.occurrence > 1) what += " (" + std::to_string(one.occurrence) + ")";
    if (!one.request.empty()) what += " " + one.request;
    if (one.checkpoint) what += " " + to_string(one.checkpoint->id);
    if (!one.value.is_null()) what += " " + show(one.value);
    print("  " + time_of_day(one.time) + "  " + shorten(what, longest_shown_value) + "\n");
  }
}

}  // namespace

std::function<ExitStatus()> workflow_show(CLI::App& arguments) {
  auto given = std::make_shared<WorkflowShowArguments>();
  declare_store(arguments, given->where, "A run of a workflow, or a checkpoint as RUN@SEQUENCE.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage workflow show today");
  return [given] {
    const auto meant = meant_run(given->where);
    if (!meant) return report(meant.error());
    const auto shown = gather_workflow(meant.value());
    if (!shown) return report(shown.error());
    if (given->json) {
      print_json(shown_json(shown.value()));
    } else {
      print_workflow(shown.value());
    }
    return ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
