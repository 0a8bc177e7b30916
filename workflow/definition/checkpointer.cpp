// SPDX-License-Identifier: MIT
#include "checkpointer.hpp"
#include "base/run_catching.hpp"
#include "storage/compaction_plan.hpp"
#include "triage/detail/compact_now.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/own_label.hpp"
#include "triage/detail/store_extension.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

using triage::detail::run_catching;

constexpr std::size_t longest_trigger = 249;
// Fewer are not worth reading, or writing, the whole journal for.
constexpr std::size_t fewest_to_go = 16;

bool counts(const Every& every) {
  return every.steps != 0 || every.bytes != 0 || every.time > Duration::zero();
}

}  // namespace

bool is_automatic(const WorkflowCheckpoint& one) {
  return !one.trigger.empty() && one.trigger != to_string(CheckpointTrigger::run_started);
}

Checkpointer::Checkpointer(const Plan& plan, const Policies& policies, Attempt& attempt,
                           Clock& clock, CheckpointStore* store, WorkflowObserver observer)
    : plan_(plan),
      policies_(policies),
      attempt_(attempt),
      clock_(clock),
      store_(store),
      observer_(std::move(observer)),
      since_(policies.all.size()),
      last_save_(clock.now()) {
  if (const std::size_t most = policies.all.front().policy.max_checkpoints; most > 0) {
    most_ = std::max(2 * most, most + fewest_to_go);
    const auto* const compacts =
        store == nullptr ? nullptr : triage::detail::extension_of<CompactsRuns>(*store);
    bounded_ = compacts != nullptr;
    if (bounded_ && compacts->writes_whole_runs()) slack_ = std::max(most, fewest_to_go);
  }
  for (const Policies::One& one : policies.all) counts_bytes_ |= one.policy.every.bytes != 0;
}

void Checkpointer::tell(const WorkflowEvent& event) const {
  if (!observer_) return;
  try {
    observer_(event);
  } catch (...) {  // An observer must not end the run.
    return;
  }
}

void Checkpointer::recorded(std::size_t node, std::size_t steps, std::size_t bytes) {
  if (store_ == nullptr) return;
  ++records_;
  const std::size_t policy = policies_.of_node[node];
  if (policy == Policies::off || !counts(policies_.all[policy].policy.every)) return;
  const std::scoped_lock lock(mutex_);
  Since& own = since(policy);
  own.steps += steps;
  own.bytes += bytes;
}

// There may be many policies, so a checkpoint does not reset the others' counts.
Checkpointer::Since& Checkpointer::since(std::size_t policy) {
  Since& own = since_[policy];
  if (own.saves != saves_) own = {.saves = saves_};
  return own;
}

bool Checkpointer::due(std::size_t policy, CheckpointTrigger trigger) {
  const CheckpointPolicy& own = policies_.all[policy].policy;
  if (own.on.contains(trigger)) return true;
  const Every& every = own.every;
  if (!counts(every)) return false;
  const std::scoped_lock lock(mutex_);
  const Since& own_since = since(policy);
  return (every.steps != 0 && own_since.steps >= every.steps) ||
         (every.bytes != 0 && own_since.bytes >= every.bytes) ||
         (every.time > Duration::zero() && clock_.now() - last_save_ >= every.time);
}

void Checkpointer::happened(CheckpointTrigger trigger, std::size_t node, int occurrence) {
  if (store_ == nullptr || policies_.of_node[node] == Policies::off) return;
  if (!due(policies_.of_node[node], trigger)) return;
  const std::string& path = plan_.nodes[node].path;
  // A task that begins again makes it again, so nothing is lost if it was not stored in time.
  const bool soon = trigger == CheckpointTrigger::task_started && !observer_ && !bounded_;
  save(std::string(to_string(trigger)) + "/" + path + "/" + std::to_string(occurrence),
       {.executor = path, .occurrence = occurrence}, soon);
}

void Checkpointer::entry() {
  if (store_ != nullptr) save(std::string(to_string(CheckpointTrigger::run_started)), {});
}

void Checkpointer::happened(CheckpointTrigger trigger) {
  if (store_ != nullptr && policies_.all.front().policy.on.contains(trigger)) {
    save(std::string(to_string(trigger)), {});
  }
}

void Checkpointer::superstep_ended(int superstep, const std::vector<std::size_t>& called) {
  WorkflowEvent event{.kind = WorkflowEventKind::superstep_completed, .superstep = superstep};
  const bool wanted =
      store_ != nullptr && std::any_of(called.begin(), called.end(), [&](std::size_t node) {
        const std::size_t policy = policies_.of_node[node];
        return policy != Policies::off && due(policy, CheckpointTrigger::superstep_ended);
      });
  if (wanted) {
    event.checkpoint = save(std::string(to_string(CheckpointTrigger::superstep_ended)) + "/" +
                                std::to_string(superstep),
                            {.superstep = superstep});
  }
  tell(event);
}

void Checkpointer::failed(std::size_t node, int occurrence, Error error) {
  tell({.kind = WorkflowEventKind::checkpoint_save_failed,
        .executor = plan_.nodes[node].path,
        .occurrence = occurrence,
        .error = std::move(error)});
}

// Nothing was recorded since the last checkpoint, so it is reused.
std::optional<WorkflowCheckpoint> Checkpointer::save(const std::string& label, WorkflowEvent about,
                                                     bool soon) {
  const std::uint64_t records = records_;
  {
    const std::scoped_lock lock(mutex_);
    if (saved_ == records) return newest_;
  }
  const std::string trigger = label.substr(0, longest_trigger);
  const std::string own = std::string(triage::detail::own_prefix) + trigger;
  auto made = soon ? triage::detail::own_checkpoint_soon(attempt_, own)
                   : triage::detail::own_checkpoint(attempt_, own);
  if (!made) {
    about.kind = WorkflowEventKind::checkpoint_save_failed;
    about.error = std::move(made).error();
    tell(about);
    return std::nullopt;
  }
  WorkflowCheckpoint info{.id = std::move(made).value(),
                          .time = clock_.wall_now(),
                          .attempt = attempt_.number(),
                          .trigger = trigger};
  {
    const std::scoped_lock lock(mutex_);
    saved_ = std::max(saved_, records);
    newest_ = info;
    ++saves_;
    last_save_ = clock_.now();
  }
  about.kind = WorkflowEventKind::checkpoint_saved;
  about.checkpoint = info;
  tell(about);
  if (is_automatic(info)) keep_few(info);
  return info;
}

// Called after each new checkpoint: drops the oldest from the journal without reading it. State
// changes needed only by dropped checkpoints stay until the journal is compacted, which reads it
// and happens each time it has doubled.
void Checkpointer::keep_few(const CheckpointInfo& made) {
  const std::scoped_lock keeping(keeping_);
  if (!bounded_) return;
  if (found_) kept_.push_back(made);
  if (!found_) find_kept();
  const std::size_t most = policies_.all.front().policy.max_checkpoints;
  if (kept_.size() > most + slack_) forget_oldest(most);
  if (++made_ < most_) return;
  made_ = 0;
  const auto done = triage::detail::compact_now(attempt_, {.max_checkpoints = most});
  if (done) most_ = std::max(most_, done.value().records / 2);
}

// Checkpoints of earlier attempts count too. Positions the run rolled back to are kept, because the
// journal could not be read without them.
void Checkpointer::find_kept() {
  const RunId run = attempt_.run_id();
  const auto all = run_catching([&] { return store_->checkpoints(run); });
  if (!all) return;
  const auto reading = run_catching([&] { return store_->read(run, {}); });
  if (!reading) return;
  const std::set<Sequence> returned = triage::detail::returned_to(reading.value());
  for (const CheckpointInfo& one : all.value()) {
    if (is_automatic(one) && !returned.contains(one.id.sequence)) kept_.push_back(one);
  }
  found_ = true;
}

// If the store fails, they go with the next one.
void Checkpointer::forget_oldest(std::size_t most) {
  const auto end = kept_.end() - static_cast<std::ptrdiff_t>(most);
  const std::vector<CheckpointInfo> going(kept_.begin(), end);
  const auto done = triage::detail::forget_checkpoints(attempt_, going);
  if (done) kept_.erase(kept_.begin(), end);
  if (!done && done.error().code == Errc::unsupported) bounded_ = false;
}

}  // namespace triage::inline v0_1::workflow::detail
