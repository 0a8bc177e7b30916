// SPDX-License-Identifier: MIT
#include "stored_run.hpp"
#include "base/run_catching.hpp"
#include "decisions.hpp"
#include "records/branch.hpp"
#include "records/compatible.hpp"
#include "records/stored_keys.hpp"
#include "resume/waits.hpp"
#include "triage/agent.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

using triage::detail::run_catching;

// Of an output: [executor, occurrence, index].
bool is_place(const Json& place) {
  const auto counts = [](const Json& value) {
    return value.is_number_integer() && value.get<std::int64_t>() >= 0;
  };
  return place.is_array() && place.size() == 3 && place[0].is_string() && counts(place[1]) &&
         counts(place[2]);
}

}  // namespace

// run_started is the first record of every run.
Result<Json> stored_task(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(reading, run_catching([&] { return store.read(run, {1, 1}); }));
  TRIAGE_TRY(journal, Journal::fold(reading));
  const Json& start = journal.start();
  Json task = start.is_object() ? start.value("task", Json()) : Json();
  if (!task.is_object() || !task.contains("parts") || !task.contains("inputs")) {
    return Error{Errc::conflict, "run \"" + run + "\" is not a run of a workflow"};
  }
  return outcome::success(std::move(task));
}

std::string first_difference(const Json& one, const Json& other) {
  std::string path;
  const Json* a = &one;
  const Json* b = &other;
  for (;;) {
    const Json* next_a = nullptr;
    const Json* next_b = nullptr;
    if (a->is_object() && b->is_object()) {
      for (const Json* side : {a, b}) {
        for (const auto& [key, value] : side->items()) {
          const bool both = a->contains(key) && b->contains(key);
          if (both && a->at(key) == b->at(key)) continue;
          path += "/" + key;
          if (!both) return path;
          next_a = &a->at(key);
          next_b = &b->at(key);
          break;
        }
        if (next_a != nullptr) break;
      }
    } else if (a->is_array() && b->is_array()) {
      for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
        const bool both = i < a->size() && i < b->size();
        if (both && a->at(i) == b->at(i)) continue;
        path += "/" + std::to_string(i);
        if (!both) return path;
        next_a = &a->at(i);
        next_b = &b->at(i);
        break;
      }
    }
    if (next_a == nullptr) return path.empty() ? "/" : path;
    a = next_a;
    b = next_b;
  }
}

// A branch goes on with its own inputs, or with those that its origin began with.
static Result<void> check_inputs(CheckpointStore& store, const RunId& run, const Json& begun_with,
                                 const Json& inputs) {
  if (begun_with == inputs) return outcome::success();
  TRIAGE_TRY(latest, run_catching([&] { return store.latest(run); }));
  const Json own = edited_inputs(begun_with, latest.state);
  if (own == inputs) return outcome::success();
  return Error{Errc::conflict, "run \"" + run +
                                   "\" was started with other inputs: they differ at " +
                                   first_difference(own, inputs)};
}

Result<void> check_stored_task(CheckpointStore& store, const RunId& run, const Workflow& workflow,
                               const Json* inputs, bool force) {
  TRIAGE_TRY(task, stored_task(store, run));
  if (!force && !same_parts(task.at("parts"), workflow)) {
    TRIAGE_TRY(latest, run_catching([&] { return store.latest(run); }));
    TRIAGE_TRY(info, run_catching([&] { return store.run(run); }));
    TRIAGE_TRYV(check_parts(run, task.at("parts"), latest.state, workflow,
                            info.status == RunStatus::finished));
  }
  if (inputs == nullptr) return outcome::success();
  return check_inputs(store, run, task.at("inputs"), *inputs);
}

Result<void> check_stored_inputs(CheckpointStore& store, const RunId& run, const Json& inputs) {
  TRIAGE_TRY(task, stored_task(store, run));
  return check_inputs(store, run, task.at("inputs"), inputs);
}

bool is_branch_of(CheckpointStore& store, const RunId& run, std::string_view checkpoint) {
  const auto reading = run_catching([&] { return store.read(run, {}); });
  if (!reading) return false;
  const auto journal = Journal::fold(reading.value());
  const Json forked = journal ? journal.value().forked() : Json();
  return forked.is_object() && forked.contains("parent") && forked["parent"] == checkpoint;
}

Result<State> state_to_begin_with(CheckpointStore& store, const CheckpointId& checkpoint,
                                  const Workflow& workflow, bool force) {
  TRIAGE_TRY(task, stored_task(store, checkpoint.run));
  TRIAGE_TRY(state, run_catching([&] { return store.load_state(checkpoint); }));
  TRIAGE_TRYV(check_library_keys(state));
  if (!force) {
    TRIAGE_TRYV(check_parts(checkpoint.run, task.at("parts"), state, workflow));
  }
  return outcome::success(std::move(state));
}

// An agent like that of the workflow's runs, which is stopped before it does anything.
Result<void> make_branch(std::shared_ptr<CheckpointStore> store, const std::string& workflow,
                         std::string_view checkpoint, const RunId& branch, Json changed,
                         const Fork& edits) {
  std::stop_source stopped;
  stopped.request_stop();
  Driven nothing;
  const TriageAgent<std::function<Result<Json>(const Json&, Attempt&)>> agent(
      [](const Json&, Attempt&) -> Result<Json> { return Json(); }, outer_policy(nothing, 0),
      outer_options(workflow, std::move(store)));
  auto done = agent.fork(
      checkpoint,
      {.label = edits.label,
       .state = std::move(changed),
       .who = edits.author,
       .run = {.run_id = branch, .stop_token = stopped.get_token(), .auto_checkpoint = false}});
  if (done || done.error().code == Errc::cancelled) return outcome::success();
  return std::move(done).error();
}

Result<std::vector<Asked>> pending_in(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(latest, run_catching([&] { return store.latest(run); }));
  TRIAGE_TRYV(check_library_keys(latest.state));
  const std::string timeline = timeline_of(latest.state);
  std::vector<Asked> pending = open_requests(latest.state, run);
  for (Asked& one : pending) one.signal = answer_signal(one, timeline);
  return outcome::success(std::move(pending));
}

Result<std::optional<Json>> answer_in(CheckpointStore& store, const RunId& run,
                                      std::string_view request) {
  TRIAGE_TRY(latest, run_catching([&] { return store.latest(run); }));
  TRIAGE_TRYV(check_library_keys(latest.state));
  const State& state = latest.state;
  const std::string id(request);
  std::optional<Answer> answer;
  if (const Json* taken = state.find(std::string(answer_prefix) + id)) {
    answer = answer_from(*taken);
  }
  const Json* asked = state.find(std::string(request_prefix) + id);
  if (!answer && asked != nullptr && asked->is_object()) {  // The run has not gone on with it.
    const std::string signal = answer_signal(asked_from(id, *asked), timeline_of(state));
    TRIAGE_TRY(sent, triage::detail::read_signal(store, run, signal));
    if (sent) answer = answer_from(*sent);
  }
  if (!answer || answer->expired) return outcome::success(std::optional<Json>());
  return outcome::success(std::optional<Json>(std::move(answer->value)));
}

Result<void> check_answer(const Workflow& workflow, const Asked& asked, const Json& answer) {
  TRIAGE_TRYV(check_json(answer, "an answer"));
  if (asked.port == decision_port) return check_decision(asked, answer);
  const Plan& plan = workflow.body()->plan();
  const auto node = plan.node_of.find(asked.executor);
  if (node != plan.node_of.end()) {
    const auto& ports = plan.scopes[plan.nodes[node->second].scope].spec->ports;
    if (const auto port = ports.find(asked.port); port != ports.end()) {
      return port->second.check(answer);
    }
  }
  return Error{Errc::invalid_argument, "the workflow has no port \"" + printable(asked.port) +
                                           "\" at executor \"" + asked.executor + "\""};
}

Result<std::vector<Output>> stored_outputs(CheckpointStore& store, const RunId& run,
                                           const Workflow& workflow, const Json& places) {
  TRIAGE_TRY(latest, run_catching([&] { return store.latest(run); }));
  Parts parts;
  parts.begin_with(latest.state);
  std::vector<Output> outputs;
  for (const Json& place : places) {
    if (!is_place(place)) return damaged_run(run, "an output is at " + show(place));
    const std::string path = place.at(0).get<std::string>();
    const std::string key = finished_key(path, place.at(1).get<int>());
    const Json* stored = latest.state.find(key);
    if (stored == nullptr) return Error{Errc::corrupt, "state key \"" + key + "\" is gone"};
    TRIAGE_TRY(finished, from_stored(workflow.body()->plan(), parts, key, *stored));
    const auto index = place.at(2).get<std::size_t>();
    if (index >= finished.outputs.size()) {
      return Error{Errc::corrupt, "state key \"" + key + "\" has too few outputs"};
    }
    outputs.push_back({path, finished.outputs[index].type, finished.outputs[index].json()});
  }
  return outcome::success(std::move(outputs));
}

Result<std::vector<WorkflowCheckpoint>> stored_checkpoints(CheckpointStore& store, const RunId& run,
                                                           std::size_t most) {
  TRIAGE_TRY(all, run_catching([&] { return store.checkpoints(run); }));
  std::vector<WorkflowCheckpoint> listed;
  std::size_t automatic = 0;
  for (CheckpointInfo& one : all) {
    if (one.label.empty() && one.trigger.empty()) continue;
    listed.push_back(std::move(one));
    automatic += is_automatic(listed.back()) ? 1U : 0U;
  }
  std::size_t hidden = most == 0 || automatic <= most ? 0 : automatic - most;
  std::erase_if(listed, [&](const WorkflowCheckpoint& one) {
    if (hidden == 0 || !is_automatic(one)) return false;
    --hidden;
    return true;
  });
  return outcome::success(std::move(listed));
}

}  // namespace triage::inline v0_1::workflow::detail
