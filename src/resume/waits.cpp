// SPDX-License-Identifier: MIT
// Waits that outlive the process: suspends instead of sleeping, and continues due runs.
#include "resume/waits.hpp"
#include "journal/action_json.hpp"
#include "journal/record_body.hpp"
#include "journal/suspension_fields.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/call.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// The newest `suspended` of a suspended run. It is the newest record, unless an operator has
// settled an effect since or set damaged records aside.
Result<JournalReading> read_suspended(CheckpointStore& store, const RunInfo& info) {
  TRIAGE_TRY(reading, run_catching([&] { return store.read(info.id, {info.last, info.last}); }));
  if (reading.records.empty() || reading.records.back().kind() == RecordKind::suspended) {
    return reading;
  }
  return run_catching([&] { return store.read_newest(info.id); });
}

// More are not looked through; each is, once: damaged records may name each other.
constexpr std::size_t most_nested = 1'000;
using Seen = std::set<RunId>;

Result<DueRun> waiting_run(CheckpointStore& store, const RunInfo& info, Seen& seen);

// When a run that waits for this nested one may continue because of it: nothing if it goes on
// waiting, another process has it, or this store does not know it.
std::optional<WallTime> child_due(CheckpointStore& store, const RunId& child, Seen& seen) {
  const auto info = run_catching([&] { return store.run(child); });
  if (!info || info.value().owned) return std::nullopt;
  const RunStatus status = info.value().status;
  // Whether one that was cancelled or quarantined goes on is for a person to say.
  if (status == RunStatus::cancelled || status == RunStatus::poisoned) return std::nullopt;
  if (status != RunStatus::suspended) return info.value().updated;
  if (seen.size() >= most_nested || !seen.insert(child).second) return std::nullopt;
  const auto waiting = waiting_run(store, info.value(), seen);
  return waiting ? std::optional(waiting.value().until) : std::nullopt;
}

// How a suspended run waits. Errors: the store's; Errc::corrupt.
Result<DueRun> waiting_run(CheckpointStore& store, const RunInfo& info, Seen& seen) {
  TRIAGE_TRY(reading, read_suspended(store, info));
  const auto newest =
      std::find_if(reading.records.rbegin(), reading.records.rend(),
                   [](const Record& record) { return record.kind() == RecordKind::suspended; });
  const Json body = newest_body(reading, RecordKind::suspended);
  if (body.is_null()) {
    return Error{Errc::corrupt, "run \"" + info.id + "\" is suspended, but its record is damaged"};
  }
  DueRun waiting{.run = info.id,
                 .until = time_field(body, "until_ms").value_or(WallTime::max()),
                 .message = text_field(body, "message"),
                 .signal = text_field(body, "signal"),
                 .suspended_at = newest->seq()};
  for (const std::string& signal : signals_of(body)) {
    TRIAGE_TRY(sent, read_signal(store, info.id, signal));
    if (sent) waiting.until = std::min(waiting.until, info.updated);
  }
  if (!body.contains("waiting")) return outcome::success(std::move(waiting));
  for (const auto& [child, awaited] : children_of(body)) {
    const auto due = child_due(store, child, seen);
    if (due) waiting.until = std::min(waiting.until, *due);
  }
  return outcome::success(std::move(waiting));
}

}  // namespace

bool Run::outlives_process() const noexcept {
  const RunData& data = *data_;
  return data.store && data.started && !data.detached &&
         data.store->capabilities().durability != Durability::none;
}

Input Run::suspend_wait() {
  RecoveryAction then = data_->situation().action;
  RecoveryAction waiting =
      RecoveryAction::suspend("waits longer than limits.max_wait, then: " + describe(then));
  // The wall clock has whole milliseconds; the extra one keeps runs from starting early.
  waiting.until = core_.clock->wall_now() + std::chrono::milliseconds(1) +
                  std::chrono::ceil<std::chrono::milliseconds>(then.delay);
  then.delay = Duration::zero();
  record_action(waiting);
  Json fields = suspension_fields(waiting);
  fields["then"] = action_json(then);
  suspend_with(waiting, std::move(fields));
  return Input::done;
}

Result<std::vector<DueRun>> due_runs(const AgentCore& core, const RunOptions& options,
                                     Duration within) {
  if (core.problem) return *core.problem;
  const auto store = store_of(core, options);
  const WallTime until =
      core.clock->wall_now() + std::chrono::floor<std::chrono::milliseconds>(within);
  std::vector<DueRun> due = core.suspended.due(until);
  if (store) {
    TRIAGE_TRY(runs, run_catching([&] {
                 return store->runs(
                     {.agent = core.options.name, .status = RunStatus::suspended, .limit = 0});
               }));
    for (const RunInfo& info : runs) {
      Seen seen{info.id};
      auto waiting = waiting_run(*store, info, seen);
      // A damaged run is left for an operator; the others continue.
      if (waiting && waiting.value().until <= until) due.push_back(std::move(waiting).value());
    }
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const DueRun& a, const DueRun& b) { return a.until < b.until; });
  return outcome::success(std::move(due));
}

Result<ContinuationPtr> open_due(const AgentCore& core, const DueRun& due,
                                 const DueOptions& options, bool* gone) {
  if (core.problem) return *core.problem;
  for (WallTime wall = core.clock->wall_now(); wall < due.until; wall = core.clock->wall_now()) {
    if (!core.clock->sleep_until(time_point(*core.clock, due.until), options.run.stop_token)) {
      return Error{Errc::cancelled, "the stop token was triggered before the run was due"};
    }
  }
  if (due.suspended_at == 0) {  // It is not in a store.
    auto opened = open_remembered_due(core, due.run, options.run);
    *gone = !opened && opened.error().code == Errc::not_found;
    return opened;
  }
  auto store = store_of(core, options.run);
  if (!store) return Error{Errc::not_found, "the agent has no store"};
  TRIAGE_TRY(run, take_suspended(core, std::move(store), due.run, due.suspended_at, options, gone));
  if (auto decision = recorded_decision(*run)) {
    return restore(std::move(run), *std::move(decision));
  }
  const Journal& journal = run->journal();
  const Json& suspended = journal.suspended();
  const bool waiting = suspended.contains("waiting");  // Inside an attempt.
  RecoveryAction action = waiting ? RecoveryAction::resume() : action_when_due(suspended);
  if (auto problem = unsafe_now(*run, action)) {
    action = RecoveryAction::escalate(*std::move(problem));
  } else if (waiting) {
    Resumption here = resumed_from(journal, journal.latest().info.id.sequence, core.contract);
    return restore(std::move(run), std::move(here));
  }
  return restore(std::move(run), {.reason = "due", .action = std::move(action)});
}

// Refuses a waiting run until it is due.
static Result<ContinuationPtr> open_waiting(const AgentCore& core, const DueRun& waiting,
                                            const ResumeOptions& options) {
  bool gone = false;
  if (waiting.until <= core.clock->wall_now()) {
    return open_due(core, waiting, {.accept_changed = options.accept_changed, .run = options.run},
                    &gone);
  }
  auto suspension = std::make_shared<Suspension>(
      Suspension{.run_id = waiting.run, .message = waiting.message, .agent = core.options.name});
  if (waiting.until != WallTime::max()) suspension->until = waiting.until;
  return Error{Errc::suspended, "run \"" + waiting.run + "\" waits: " + waiting.message, nullptr,
               std::move(suspension)};
}

Result<ContinuationPtr> open_unless_waiting(const AgentCore& core, const RunId& id,
                                            const ResumeOptions& options) {
  if (!core.problem) {
    if (const auto here = core.suspended.find(id)) return open_waiting(core, here->run, options);
  }
  const auto store = store_of(core, options.run);
  if (store && !core.problem) {
    const auto info = run_catching([&] { return store->run(id); });
    // A run that cannot be read may be waiting, so this stops here.
    if (!info && info.error().code != Errc::not_found) return info.error();
    if (info && info.value().status == RunStatus::suspended && !info.value().owned) {
      Seen seen{info.value().id};
      TRIAGE_TRY(waiting, waiting_run(*store, info.value(), seen));
      return open_waiting(core, waiting, options);
    }
  }
  return open_stored(core, id, options, Asked::for_what_fits);
}

}  // namespace triage::inline v0_1::detail
