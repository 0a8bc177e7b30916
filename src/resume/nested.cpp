// SPDX-License-Identifier: MIT
// A waiting nested run suspends the run around it and continues with it.
#include "base/digest.hpp"
#include "journal/action_json.hpp"
#include "journal/record_body.hpp"
#include "journal/suspension_fields.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// Empty if the task cannot be converted to JSON.
std::string task_hash(Call call) {
  try {
    Json task;
    if (call.table->task_json(call.frame, task)) return digest(encoded_arguments(task));
  } catch (...) {  // The run itself will report the error.
  }
  return {};
}

// A nested run's end without a result, from its journal. It was given up deliberately, so it is not
// silently run again.
Error ended(CheckpointStore& store, const RunInfo& info) {
  const auto reading = run_catching([&] { return store.read(info.id, {info.last, info.last}); });
  const Json body = reading ? newest_body(reading.value(), RecordKind::stopped) : Json();
  return {info.status == RunStatus::aborted ? Errc::aborted : Errc::escalated,
          "run \"" + info.id + "\" has ended: " + text_field(body, "detail")};
}

// The nested run goes on waiting, and with it the run around it.
Result<ContinuationPtr> refuse_decision(const AgentCore& core, const RunId& id,
                                        const RunOptions& options, const Error& why) {
  auto waiting = open_unless_waiting(core, id, {.run = options});
  if (waiting || !waiting.error().suspension()) return waiting;
  auto again = std::make_shared<Suspension>(*waiting.error().suspension());
  again->message += " (the decision was refused: " + why.detail + ")";
  return Error{Errc::suspended, again->message, nullptr, again};
}

Result<ContinuationPtr> open_awaited(const AgentCore& core, const RunId& id, Call call,
                                     const AwaitedRun& awaited, const RunOptions& options) {
  if (!awaited.decision.is_null() && !awaited.ticket.empty()) {
    const RecoveryAction action = action_from(awaited.decision);
    auto decided = open_by_ticket(core, awaited.ticket, action, check_fallback(*call.table, action),
                                  {.who = awaited.by, .run = options});
    if (decided) return decided;
    const Errc code = decided.error().code;
    if (code == Errc::invalid_argument) return refuse_decision(core, id, options, decided.error());
    // Otherwise it was already decided there.
    if (code != Errc::conflict && code != Errc::not_found) return decided;
  }
  const auto store = store_of(core, options);
  if (!store) return Error{Errc::not_found, "nobody knows run \"" + id + "\" any more"};
  TRIAGE_TRY(info, run_catching([&] { return store->run(id); }));
  if (info.status == RunStatus::aborted || info.status == RunStatus::escalated) {
    return ended(*store, info);
  }
  return open_unless_waiting(core, id, {.run = options});
}

// Another process continues the nested run: the attempt looks again later, and less and less often,
// because each look is recorded.
Error held_elsewhere(const RunId& run, WallTime now, int looks) {
  auto waiting = std::make_shared<Suspension>(Suspension{
      .run_id = run, .message = "run \"" + run + "\" is being continued by another process"});
  waiting->until = now + std::chrono::seconds(std::clamp(looks, 1, 60));
  return {Errc::suspended, waiting->message, nullptr, waiting};
}

}  // namespace

std::optional<Outcome> Run::continue_child(const AgentCore& core, Call call,
                                           const RunOptions& options, bool* degraded) {
  Run& parent = *options.parent->run_;
  {
    const Lock lock(parent.mutex_);
    if (!parent.data_ || parent.data_->journal.awaited().empty()) return std::nullopt;
  }
  const std::string task = task_hash(call);
  RunOptions own = options;
  while (const auto awaited = parent.take_awaited(core, task, options.run_id)) {
    own.run_id = awaited->first;
    auto opened = open_awaited(core, awaited->first, call, awaited->second, own);
    if (opened) {
      opened.value()->options.run_id = awaited->first;
      opened.value()->options.parent = options.parent;
      opened.value()->options.on_activity = options.on_activity;
      return detail::resume(std::move(opened).value(), call, degraded);
    }
    if (opened.error().code == Errc::not_found) {
      const Lock lock(parent.mutex_);
      parent.data_->journal.forget_awaited(awaited->first);
      continue;
    }
    const bool held = opened.error().code == Errc::busy;
    if (held) {
      const Lock lock(parent.mutex_);
      opened = held_elsewhere(awaited->first, core.clock->wall_now(),
                              parent.data_->journal.suspended_attempts());
    }
    auto error = std::make_unique<Error>(std::move(opened).error());
    if (error->suspension()) {  // Still undecided.
      parent.child_suspended(options.parent->number(), {error->suspension(), task, held});
    } else {
      hand_over(*options.parent, awaited->first, error.get());
    }
    return error;
  }
  return std::nullopt;
}

// Each is given to one call: a second call of the same agent means another run.
std::optional<std::pair<RunId, AwaitedRun>> Run::take_awaited(const AgentCore& core,
                                                              const std::string& task,
                                                              const RunId& wanted) {
  const Lock lock(mutex_);
  std::set<RunId>& taken = data_->extras().taken;
  for (const auto& [id, awaited] : data_->journal.awaited()) {
    if (awaited.agent != core.options.name || (!wanted.empty() && wanted != id)) continue;
    if (!awaited.task.empty() && awaited.task != task) continue;
    if (awaited.handed_at == 0 && taken.insert(id).second) return std::pair(id, awaited);
  }
  return std::nullopt;
}

// An attempt that continues behind this record is not given the run's end again. One that begins
// before it, or reaches a run that has not ended, is.
void Run::hand_over(const Attempt& attempt, const RunId& child, const Error* error) {
  Run& run = *attempt.run_;
  Lock lock(run.mutex_);
  if (!run.data_ || run.is_late(attempt.number())) return;
  RunData& data = *run.data_;
  const bool awaited = data.journal.awaited().contains(child);
  if (!awaited && !data.made_extras) return;
  WaitingChildren& children = data.extras().attempt.children;
  data.extras().taken.erase(child);
  std::erase_if(children.all,
                [&](const WaitingChild& one) { return one.suspension->run_id == child; });
  const bool ended =
      error == nullptr || error->code == Errc::aborted || error->code == Errc::escalated;
  if (!awaited || !ended) return;
  const bool newest = children.at == data.journal.last();
  const bool inherited = data.attempt.child_at == data.journal.last();
  run.make_room();
  Record record =
      data.journal.add(RecordKind::usage, data.store ? run.core_.clock->wall_now() : WallTime(),
                       Json{{"input_tokens", 0},
                            {"output_tokens", 0},
                            {"cost_usd", 0.0},
                            {"calls", 0},
                            {"ended_child", child}});
  if (newest) children.at = data.journal.last();
  if (inherited) data.attempt.child_at = data.journal.last();
  if (!data.store) return;
  run.enqueue(std::move(record));
  run.write_through(attempt.number(), std::move(lock));
}

// The newest one is shown, or the one whose error the callable fails with.
static void add_waiting(WaitingChildren& children, WaitingChild child, Sequence at) {
  const RunId& run = child.suspension->run_id;
  const auto known =
      std::find_if(children.all.begin(), children.all.end(),
                   [&](const WaitingChild& other) { return other.suspension->run_id == run; });
  if (known != children.all.end()) {
    if (child.task.empty()) child = std::move(*known);
    children.all.erase(known);
  }
  children.all.push_back(std::move(child));
  children.at = at;
}

void Run::child_suspended(int attempt, WaitingChild child) {
  const Lock lock(mutex_);
  if (is_late(attempt)) return;
  WaitingChildren& children = made_data().extras().attempt.children;
  data_->extras().taken.erase(child.suspension->run_id);
  add_waiting(children, std::move(child), data_->journal.last());
}

void Run::tell_parent(const std::shared_ptr<const Suspension>& waiting) {
  const Attempt& parent = *options_.parent;
  parent.run_->child_suspended(parent.number(), {waiting, task_hash(call_)});
}

// The callable failed with this nested run's error.
void Run::note_child(const std::shared_ptr<const Suspension>& waiting) {
  if (waiting) add_waiting(made_data().extras().attempt.children, {waiting}, data_->journal.last());
}

bool Run::child_waits() const noexcept {
  const RunExtras* extras = data_->made_extras.get();
  return extras != nullptr && !extras->attempt.children.all.empty() &&
         extras->attempt.children.at == data_->journal.last();
}

// What is recorded of a nested run that waits.
static AwaitedRun awaited_run(const Journal& journal, const WaitingChild& child) {
  const Suspension& inner = *child.suspension;
  AwaitedRun awaited;
  // An earlier wait may have recorded more than this error reports.
  const auto before = journal.awaited().find(inner.run_id);
  if (before != journal.awaited().end()) awaited = before->second;
  awaited.handed_at = 0;
  if (!child.held) {
    awaited.decision = nullptr;
    awaited.by.clear();
  }
  if (!inner.agent.empty()) awaited.agent = inner.agent;
  if (!child.task.empty()) awaited.task = child.task;
  if (!inner.token.empty()) awaited.ticket = digest(inner.token);
  return awaited;
}

// Whatever the run is suspended for, the nested runs of its attempt go on with it.
void Run::put_children(Json& fields) {
  RunData& data = *data_;
  if (!data.made_extras) return;
  WaitingChildren& children = data.made_extras->attempt.children;
  AwaitedRuns waiting;
  for (const WaitingChild& child : children.all) {
    waiting.emplace_back(child.suspension->run_id, awaited_run(data.journal, child));
    if (!data.store) data.journal.await(waiting.back().first, waiting.back().second);
  }
  detail::put_children(waiting, children.asks, fields);
}

// Asks what the nested run asks that is shown, until the first of them is due.
RecoveryAction Run::ask_for_children() {
  WaitingChildren& children = data_->extras().attempt.children;
  const Suspension& shown = *children.shown();
  RecoveryAction action = RecoveryAction::suspend(shown.message);
  action.allowed_actions = shown.allowed_actions;
  if (shown.expires) action.expires_after = *shown.expires - core_.clock->wall_now();
  children.asks = true;
  for (const WaitingChild& child : children.all) {
    const auto& until = child.suspension->until;
    if (until) action.until = std::min(*until, action.until.value_or(*until));
  }
  return action;
}

}  // namespace triage::inline v0_1::detail
