// SPDX-License-Identifier: MIT
// A waiting nested run suspends the run around it and continues with it.
#include "base/digest.hpp"
#include "resume/continuation.hpp"
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

Result<ContinuationPtr> open_awaited(const AgentCore& core, const RunId& id,
                                     const AwaitedRun& awaited, const RunOptions& options) {
  if (!awaited.decision.is_null() && !awaited.ticket.empty()) {
    auto decided = open_by_ticket(core, awaited.ticket, action_from(awaited.decision),
                                  {.who = awaited.by, .run = options});
    // Otherwise it was already decided there.
    if (decided) return decided;
    const Errc code = decided.error().code;
    if (code != Errc::conflict && code != Errc::busy && code != Errc::not_found) return decided;
  }
  const auto store = store_of(core, options);
  if (!store) return Error{Errc::not_found, "nobody knows run \"" + id + "\" any more"};
  TRIAGE_TRY(info, run_catching([&] { return store->run(id); }));
  if (info.status == RunStatus::aborted || info.status == RunStatus::escalated) {
    return ended(*store, info);
  }
  return open_unless_waiting(core, id, {.run = options});
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
  const auto awaited = parent.take_awaited(core, task, options.run_id);
  if (!awaited) return std::nullopt;
  RunOptions own = options;
  own.run_id = awaited->first;
  auto opened = open_awaited(core, awaited->first, awaited->second, own);
  if (opened) {
    opened.value()->options.parent = options.parent;
    return detail::resume(std::move(opened).value(), call, degraded);
  }
  if (opened.error().code == Errc::not_found) return std::nullopt;
  if (opened.error().suspension()) {  // Still undecided.
    parent.child_suspended(options.parent->number(), opened.error().suspension(), task);
  } else if (opened.error().code != Errc::aborted && opened.error().code != Errc::escalated) {
    const Lock lock(parent.mutex_);  // It has not ended: the next attempt reaches it again.
    parent.data_->extras().child.resumed_here.erase(awaited->first);
  }
  return std::make_unique<Error>(std::move(opened).error());
}

// Each is handed over once per process: a second call of the same agent means another run.
std::optional<std::pair<RunId, AwaitedRun>> Run::take_awaited(const AgentCore& core,
                                                              const std::string& task,
                                                              const RunId& wanted) {
  const Lock lock(mutex_);
  std::set<RunId>& resumed_here = data_->extras().child.resumed_here;
  for (const auto& [id, awaited] : data_->journal.awaited()) {
    if (awaited.agent != core.options.name || (!wanted.empty() && wanted != id)) continue;
    if (!awaited.task.empty() && awaited.task != task) continue;
    if (resumed_here.insert(id).second) return std::pair(id, awaited);
  }
  return std::nullopt;
}

void Run::child_suspended(int attempt, std::shared_ptr<const Suspension> waiting,
                          std::string task) {
  const Lock lock(mutex_);
  if (is_late(attempt)) return;
  WaitingChild& child = data().extras().child;
  child.resumed_here.erase(waiting->run_id);
  child.suspension = std::move(waiting);
  child.task = std::move(task);
  child.at = data_->journal.last();
}

void Run::tell_parent(const std::shared_ptr<const Suspension>& waiting) {
  const Attempt& parent = *options_.parent;
  parent.run_->child_suspended(parent.number(), waiting, task_hash(call_));
}

// The callable failed with this nested run's error.
void Run::note_child(const std::shared_ptr<const Suspension>& waiting) {
  if (!waiting) return;
  WaitingChild& child = data().extras().child;
  if (!child.suspension || child.suspension->run_id != waiting->run_id) {
    child.suspension = waiting;
    child.task.clear();
  }
  child.at = data_->journal.last();
}

bool Run::child_waits() const noexcept {
  const RareRunData* extras = data_->made_extras.get();
  return extras != nullptr && extras->child.suspension && extras->child.at == data_->journal.last();
}

// The attempt continues after the decision, as after a wait. Nothing has failed, so no policy is
// consulted.
Input Run::wait_for_child() {
  RunData& b = *data_;
  give_back_permit();
  WaitingChild& child = b.extras().child;
  const Suspension& inner = *child.suspension;
  RecoveryAction action = RecoveryAction::suspend(inner.message);
  action.allowed_actions = inner.allowed_actions;
  action.until = inner.until;
  if (inner.expires) action.expires_after = *inner.expires - core_.clock->wall_now();
  AwaitedRun awaited;
  // An earlier wait may have recorded more than this error reports.
  const auto before = b.journal.awaited().find(inner.run_id);
  if (before != b.journal.awaited().end()) awaited = before->second;
  awaited.decision = nullptr;
  awaited.by.clear();
  if (!inner.agent.empty()) awaited.agent = inner.agent;
  if (!child.task.empty()) awaited.task = child.task;
  if (!inner.token.empty()) awaited.ticket = digest(inner.token);
  child.resumed_here.erase(inner.run_id);
  child.asks = true;
  Json fields = suspension_fields(action);
  fields["waiting"] = true;
  fields["child"] = Json{{"run", inner.run_id},
                         {"agent", awaited.agent},
                         {"task", awaited.task},
                         {"ticket", awaited.ticket}};
  if (!b.store) b.journal.await(inner.run_id, std::move(awaited));
  suspend_with(action, std::move(fields));
  return Input::stopped;
}

}  // namespace triage::inline v0_1::detail
