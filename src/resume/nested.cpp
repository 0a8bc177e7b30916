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
                                  outcome::success(), {.who = awaited.by, .run = options});
    // Otherwise it was already decided there.
    if (decided) return decided;
    const Errc code = decided.error().code;
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
  const auto awaited = parent.take_awaited(core, task, options.run_id);
  if (!awaited) return std::nullopt;
  RunOptions own = options;
  own.run_id = awaited->first;
  auto opened = open_awaited(core, awaited->first, awaited->second, own);
  if (opened) {
    opened.value()->options.parent = options.parent;
    opened.value()->options.on_activity = options.on_activity;
    return detail::resume(std::move(opened).value(), call, degraded);
  }
  if (opened.error().code == Errc::not_found) return std::nullopt;
  const bool held = opened.error().code == Errc::busy;
  if (held) {
    const Lock lock(parent.mutex_);
    opened = held_elsewhere(awaited->first, core.clock->wall_now(),
                            parent.data_->journal.suspended_attempts());
  }
  if (opened.error().suspension()) {  // Still undecided.
    parent.child_suspended(options.parent->number(), {opened.error().suspension(), task, held});
  } else if (opened.error().code != Errc::aborted && opened.error().code != Errc::escalated) {
    const Lock lock(parent.mutex_);  // It has not ended: the next attempt reaches it again.
    parent.data_->extras().children.resumed_here.erase(awaited->first);
  }
  return std::make_unique<Error>(std::move(opened).error());
}

// Each is handed over once per process: a second call of the same agent means another run.
std::optional<std::pair<RunId, AwaitedRun>> Run::take_awaited(const AgentCore& core,
                                                              const std::string& task,
                                                              const RunId& wanted) {
  const Lock lock(mutex_);
  std::set<RunId>& resumed_here = data_->extras().children.resumed_here;
  for (const auto& [id, awaited] : data_->journal.awaited()) {
    if (awaited.agent != core.options.name || (!wanted.empty() && wanted != id)) continue;
    if (!awaited.task.empty() && awaited.task != task) continue;
    if (resumed_here.insert(id).second) return std::pair(id, awaited);
  }
  return std::nullopt;
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
  WaitingChildren& children = data().extras().children;
  children.resumed_here.erase(child.suspension->run_id);
  add_waiting(children, std::move(child), data_->journal.last());
}

void Run::tell_parent(const std::shared_ptr<const Suspension>& waiting) {
  const Attempt& parent = *options_.parent;
  parent.run_->child_suspended(parent.number(), {waiting, task_hash(call_)});
}

// The callable failed with this nested run's error.
void Run::note_child(const std::shared_ptr<const Suspension>& waiting) {
  if (waiting) add_waiting(data().extras().children, {waiting}, data_->journal.last());
}

bool Run::child_waits() const noexcept {
  const RareRunData* extras = data_->made_extras.get();
  return extras != nullptr && !extras->children.all.empty() &&
         extras->children.at == data_->journal.last();
}

// What is recorded of a nested run that waits.
static AwaitedRun awaited_run(const Journal& journal, const WaitingChild& child) {
  const Suspension& inner = *child.suspension;
  AwaitedRun awaited;
  // An earlier wait may have recorded more than this error reports.
  const auto before = journal.awaited().find(inner.run_id);
  if (before != journal.awaited().end()) awaited = before->second;
  if (!child.held) {
    awaited.decision = nullptr;
    awaited.by.clear();
  }
  if (!inner.agent.empty()) awaited.agent = inner.agent;
  if (!child.task.empty()) awaited.task = child.task;
  if (!inner.token.empty()) awaited.ticket = digest(inner.token);
  return awaited;
}

static Json awaited_json(const RunId& run, const AwaitedRun& awaited) {
  Json json{
      {"run", run}, {"agent", awaited.agent}, {"task", awaited.task}, {"ticket", awaited.ticket}};
  if (!awaited.decision.is_null()) {
    json["decision"] = awaited.decision;
    json["by"] = awaited.by;
  }
  return json;
}

// The attempt continues after the decision, as after a wait. Nothing has failed, so no policy is
// consulted.
Input Run::wait_for_child() {
  RunData& b = *data_;
  give_back_permit();
  WaitingChildren& children = b.extras().children;
  const Suspension& shown = *children.shown();
  RecoveryAction action = RecoveryAction::suspend(shown.message);
  action.allowed_actions = shown.allowed_actions;
  if (shown.expires) action.expires_after = *shown.expires - core_.clock->wall_now();
  children.asks = true;
  Json waiting = Json::array();
  for (const WaitingChild& child : children.all) {
    const Suspension& inner = *child.suspension;
    if (inner.until) action.until = std::min(*inner.until, action.until.value_or(*inner.until));
    children.resumed_here.erase(inner.run_id);
    AwaitedRun awaited = awaited_run(b.journal, child);
    waiting.push_back(awaited_json(inner.run_id, awaited));
    if (!b.store) b.journal.await(inner.run_id, std::move(awaited));
  }
  Json fields = suspension_fields(action);
  fields["waiting"] = true;
  fields["child"] = std::move(waiting.back());
  waiting.erase(waiting.size() - 1);
  if (!waiting.empty()) fields["children"] = std::move(waiting);
  suspend_with(action, std::move(fields));
  return Input::stopped;
}

}  // namespace triage::inline v0_1::detail
