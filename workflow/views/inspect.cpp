// SPDX-License-Identifier: MIT
#include "triage/workflow/inspect.hpp"
#include "base/run_catching.hpp"
#include "definition/task_outputs.hpp"
#include "driver/driver.hpp"
#include "driver/stored_run.hpp"
#include "records/branch.hpp"
#include "records/compatible.hpp"
#include "records/stored_keys.hpp"
#include "triage/detail/own_label.hpp"
#include "triage/detail/try.hpp"

#include <tuple>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

using detail::Parts;
using triage::detail::run_catching;

// PATH and N of "triage/done/PATH/N", given without its prefix.
std::pair<std::string, int> delivery_of(std::string_view rest) {
  const std::size_t slash = rest.rfind('/');
  int occurrence = 0;
  for (const char digit : rest.substr(slash == std::string_view::npos ? rest.size() : slash + 1)) {
    if (digit < '0' || digit > '9' || occurrence > 100'000'000) return {std::string(rest), 0};
    occurrence = occurrence * 10 + (digit - '0');
  }
  return {std::string(rest.substr(0, slash)), occurrence};
}

std::vector<Json> values_of(const Parts& parts, const Json& stored, const char* field) {
  std::vector<Json> values;
  for (const Json& message : stored.value(field, Json::array())) {
    values.push_back(detail::stored_value(parts, message));
  }
  return values;
}

// What a task has put into the shared state of its list. Throws std::exception if it is damaged.
std::optional<Json> task_output_of(const Parts& parts, const std::string& executor, int occurrence,
                                   const Json& stored) {
  const std::size_t slash = executor.rfind('/');
  const bool inside = slash != std::string::npos;
  const std::string task = inside ? executor.substr(slash + 1) : executor;
  const std::string scope =
      detail::shared_scope(inside ? executor.substr(0, slash) : "", detail::task_outputs_scope);
  for (const Json& one : stored.value("wrote", Json::array())) {
    const bool its = one.at(1) == task || one.at(1) == detail::task_output_key(task, occurrence);
    if (its && one.at(0) == scope) return detail::written_value(parts, one);
  }
  return std::nullopt;
}

// Throws std::exception if it is damaged.
StoredDelivery delivery_from(const Parts& parts, std::string_view rest, const Json& stored) {
  auto [executor, occurrence] = delivery_of(rest);
  auto task_output = task_output_of(parts, executor, occurrence, stored);
  return {.executor = std::move(executor),
          .occurrence = occurrence,
          .superstep = stored.value("step", 0),
          .sent = values_of(parts, stored, "sent"),
          .outputs = values_of(parts, stored, "out"),
          .task_output = std::move(task_output),
          .failed = stored.value("failed", std::string()),
          .edited = stored.value("edited", false)};
}

bool begins(const std::string& key, std::string_view prefix) { return key.rfind(prefix, 0) == 0; }

// The events of one key of a state patch.
void add_events(const Parts& parts, const std::string& key, const Json& value, WorkflowEvent at,
                std::vector<WorkflowEvent>& events) {
  using Kind = WorkflowEventKind;
  if (value.is_null()) return;
  if (begins(key, detail::finished_prefix) && value.is_object()) {
    const StoredDelivery done =
        delivery_from(parts, std::string_view(key).substr(detail::finished_prefix.size()), value);
    at.executor = done.executor;
    at.occurrence = done.occurrence;
    at.superstep = done.superstep;
    at.kind = done.failed.empty() ? Kind::executor_completed : Kind::executor_failed;
    at.value = done.failed.empty() ? Json(done.sent) : Json(done.failed);
    events.push_back(at);
    for (const Json& output : done.outputs) {
      at.kind = Kind::output;
      at.value = output;
      events.push_back(at);
    }
  } else if (begins(key, detail::request_prefix) && value.is_object()) {
    at.kind = Kind::request_opened;
    at.request = key.substr(detail::request_prefix.size());
    std::tie(at.executor, at.occurrence) = detail::delivery_asking(at.request);
    at.value = value.value("payload", Json());
    events.push_back(std::move(at));
  } else if (begins(key, detail::answer_prefix) && value.is_object()) {
    const bool expired = value.contains("expired");
    at.kind = expired ? Kind::request_expired : Kind::request_answered;
    at.request = key.substr(detail::answer_prefix.size());
    std::tie(at.executor, at.occurrence) = detail::delivery_asking(at.request);
    at.value = value.value("value", Json());
    events.push_back(std::move(at));
  } else if (key == detail::stopped_key) {
    const auto stopped = detail::stopped_from(&value);
    const auto kind = stopped ? detail::event_of(*stopped) : std::nullopt;
    if (!kind) return;
    at.kind = *kind;
    at.value = value.value("not_begun", Json::array());
    events.push_back(std::move(at));
  } else if (key == detail::joins_key) {
    at.kind = Kind::join_left_waiting;
    for (const Json& one : value) {
      at.executor = one.value("executor", std::string());
      at.value = one;
      at.value.erase("executor");
      events.push_back(at);
    }
  }
}

void add_checkpoint(const RunId& run, const Record& record, const Json& body, WorkflowEvent at,
                    std::vector<WorkflowEvent>& events) {
  if (body.value("withdrawn", false)) return;
  at.checkpoint = triage::detail::as_listed({.id = {run, record.seq()},
                                             .label = body.value("label", std::string()),
                                             .time = record.time()});
  at.kind = WorkflowEventKind::checkpoint_saved;
  if (begins(at.checkpoint->trigger, "superstep_ended/")) {
    at.kind = WorkflowEventKind::superstep_completed;
    at.superstep = delivery_of(at.checkpoint->trigger).second;
  }
  events.push_back(std::move(at));
}

// Adds what one key of the state contains. Throws std::exception if it is damaged.
void add_to(CheckpointView& view, const Parts& parts, const std::string& key, const Json& value) {
  if (!value.is_object()) return;
  if (begins(key, detail::finished_prefix)) {
    view.deliveries.push_back(
        delivery_from(parts, std::string_view(key).substr(detail::finished_prefix.size()), value));
  } else if (begins(key, detail::answer_prefix)) {
    const std::string id = key.substr(detail::answer_prefix.size());
    if (value.contains("expired")) {
      view.expired.push_back(id);
    } else {
      view.answers[id] = value.value("value", Json());
    }
  }
}

// The events of these records. Throws std::exception if a part is missing or something is damaged.
Result<std::vector<WorkflowEvent>> events_of(const RunId& run, const std::vector<Record>& records,
                                             const Parts& parts) {
  std::vector<WorkflowEvent> events;
  using Kind = WorkflowEventKind;
  for (const Record& record : records) {
    WorkflowEvent at{.sequence = record.seq(), .time = record.time()};
    const auto plain = [&](Kind kind) {
      at.kind = kind;
      events.push_back(at);
    };
    const RecordKind kind = record.kind();
    if (kind == RecordKind::run_started) plain(Kind::run_started);
    if (kind == RecordKind::resumed || kind == RecordKind::forked) plain(Kind::run_resumed);
    if (kind == RecordKind::suspended) plain(Kind::run_suspended);
    if (kind == RecordKind::rolled_back) {
      TRIAGE_TRY(body, record.body());
      at.checkpoint = WorkflowCheckpoint{.id = {run, body.value("to", Sequence{0})}};
      plain(Kind::run_rolled_back);
      at.checkpoint.reset();
    }
    if (kind == RecordKind::finished) plain(Kind::run_finished);
    if (kind == RecordKind::stopped) plain(Kind::run_stopped);
    if (kind != RecordKind::state_changed && kind != RecordKind::checkpoint_labelled) continue;
    TRIAGE_TRY(body, record.body());
    if (kind == RecordKind::checkpoint_labelled) {
      add_checkpoint(run, record, body, at, events);
      continue;
    }
    for (const auto& [key, value] : body.items()) add_events(parts, key, value, at, events);
  }
  return outcome::success(std::move(events));
}

Result<void> gather_parts(const std::vector<Record>& records, State::Values& parts) {
  for (const Record& record : records) {
    const bool snapshot = record.kind() == RecordKind::state_snapshot;
    if (!snapshot && record.kind() != RecordKind::state_changed) continue;
    TRIAGE_TRY(body, record.body());
    const Json found = Parts::of(snapshot ? body.at("state") : body);
    for (const auto& [key, value] : found.items()) {
      parts[key] = std::make_shared<const Json>(value);
    }
  }
  return outcome::success();
}

}  // namespace

Result<CheckpointView> inspect(CheckpointStore& store, std::string_view checkpoint) {
  const bool newest = checkpoint.find('@') == std::string_view::npos;
  CheckpointView view;
  if (newest) {
    view.id.run = checkpoint;
  } else {
    TRIAGE_TRY(id, parse_checkpoint_id(checkpoint));
    view.id = std::move(id);
  }
  TRIAGE_TRY(info, run_catching([&] { return store.run(view.id.run); }));
  TRIAGE_TRY(task, detail::stored_task(store, view.id.run));
  State state;
  if (newest) {
    TRIAGE_TRY(latest, run_catching([&] { return store.latest(view.id.run); }));
    view.id = latest.info.id;
    state = std::move(latest.state);
  } else {
    TRIAGE_TRY(loaded, run_catching([&] { return store.load_state(view.id); }));
    state = std::move(loaded);
  }
  TRIAGE_TRYV(detail::check_library_keys(state));
  view.workflow = info.agent;
  view.inputs = detail::edited_inputs(task.at("inputs"), state);
  view.parts = detail::parts_object(detail::known_parts(task.at("parts"), state));
  view.stopped = detail::stopped_from(state.find(detail::stopped_key));
  if (const Json* joins = state.find(detail::joins_key)) {
    for (const Json& one : *joins) {
      view.waiting_joins.push_back({one.value("executor", std::string()),
                                    one.value("from", std::vector<std::string>()),
                                    one.value("waits_for", std::vector<std::string>())});
    }
  }
  Parts parts;
  parts.begin_with(state);
  if (state.empty()) return outcome::success(std::move(view));
  for (const auto& [key, value] : *state.values()) {
    try {
      add_to(view, parts, key, *value);
    } catch (const std::exception& e) {
      return detail::damaged_key(key, e.what());
    }
  }
  for (detail::Asked& one : detail::open_requests(state, view.id.run)) {
    view.pending.push_back({std::move(one.id), std::move(one.executor), std::move(one.port),
                            std::move(one.payload), one.expires});
  }
  return outcome::success(std::move(view));
}

Result<std::vector<WorkflowEvent>> events(CheckpointStore& store, const RunId& run, Sequence from) {
  TRIAGE_TRYV(detail::stored_task(store, run));
  TRIAGE_TRY(reading, run_catching([&] { return store.read(run, {from, SequenceRange{}.last}); }));
  // Parts are mostly in the newest state; those of an abandoned timeline are in the journal.
  auto known = std::make_shared<State::Values>();
  for (int source = 0;; ++source) {
    if (source == 1) {
      TRIAGE_TRY(latest, run_catching([&] { return store.latest(run); }));
      if (!latest.state.empty()) *known = *latest.state.values();
    } else if (source == 2) {
      TRIAGE_TRY(all, run_catching([&] { return store.read(run, {}); }));
      TRIAGE_TRYV(gather_parts(all.records, *known));
    }
    Parts parts;
    parts.begin_with(State(known));
    try {
      return events_of(run, reading.records, parts);
    } catch (const std::exception& e) {
      if (source == 2) return detail::damaged_run(run, e.what());
    }
  }
}

}  // namespace triage::inline v0_1::workflow
