// SPDX-License-Identifier: MIT
#include "checkpointer.hpp"
#include "triage/detail/compact_now.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

constexpr std::size_t longest_label = 256;
// Fewer are not worth reading the journal for.
constexpr std::size_t fewest_to_go = 16;

bool counts(const Every& every) {
  return every.steps != 0 || every.bytes != 0 || every.time > Duration::zero();
}

}  // namespace

Checkpointer::Checkpointer(const Plan& plan, const Policies& policies, Attempt& attempt,
                           Clock& clock, CheckpointStore* store, WorkflowObserver observer)
    : plan_(plan),
      policies_(policies),
      attempt_(attempt),
      clock_(clock),
      store_(store),
      observer_(std::move(observer)),
      since_(policies.all.size()) {
  for (Since& one : since_) one.time = clock.now();
  if (const std::size_t most = policies.all.front().policy.max_checkpoints; most > 0) {
    most_ = std::max(2 * most, most + fewest_to_go);
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
  since_[policy].steps += steps;
  since_[policy].bytes += bytes;
}

bool Checkpointer::due(std::size_t policy, CheckpointTrigger trigger) {
  const CheckpointPolicy& own = policies_.all[policy].policy;
  if (own.on.contains(trigger)) return true;
  const Every& every = own.every;
  if (!counts(every)) return false;
  const std::scoped_lock lock(mutex_);
  const Since& since = since_[policy];
  return (every.steps != 0 && since.steps >= every.steps) ||
         (every.bytes != 0 && since.bytes >= every.bytes) ||
         (every.time > Duration::zero() && clock_.now() - since.time >= every.time);
}

void Checkpointer::happened(CheckpointTrigger trigger, std::size_t node, int occurrence) {
  if (store_ == nullptr || policies_.of_node[node] == Policies::off) return;
  if (!due(policies_.of_node[node], trigger)) return;
  const std::string& path = plan_.nodes[node].path;
  save(std::string(to_string(trigger)) + "/" + path + "/" + std::to_string(occurrence),
       {.executor = path, .occurrence = occurrence});
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
std::optional<CheckpointInfo> Checkpointer::save(const std::string& label, WorkflowEvent about) {
  const std::uint64_t records = records_;
  {
    const std::scoped_lock lock(mutex_);
    if (saved_ == records) return newest_;
  }
  const std::string name = ("triage/" + label).substr(0, longest_label);
  auto made = attempt_.checkpoint(name);
  if (!made) {
    about.kind = WorkflowEventKind::checkpoint_save_failed;
    about.error = std::move(made).error();
    tell(about);
    return std::nullopt;
  }
  CheckpointInfo info{.id = std::move(made).value(),
                      .label = name,
                      .time = clock_.wall_now(),
                      .attempt = attempt_.number()};
  {
    const std::scoped_lock lock(mutex_);
    saved_ = std::max(saved_, records);
    newest_ = info;
    for (Since& one : since_) one = {clock_.now(), 0, 0};
  }
  about.kind = WorkflowEventKind::checkpoint_saved;
  about.checkpoint = info;
  tell(about);
  keep_few();
  return info;
}

// Each checkpoint but the newest, the entry, before which nothing was written, and what somebody
// has named goes, with the changes of the state that only they need. That reads the journal: it is
// done as often as the journal doubles, and not by every checkpoint. A store that cannot do it
// keeps them all, and a run in which it cannot be done now may be able to do it later.
void Checkpointer::keep_few() {
  {
    const std::scoped_lock lock(mutex_);
    if (most_ == 0 || ++made_ < most_) return;
    made_ = 0;
  }
  const std::size_t kept = policies_.all.front().policy.max_checkpoints;
  const auto done = triage::detail::compact_now(attempt_, {.max_checkpoints = kept});
  const std::scoped_lock lock(mutex_);
  if (done) most_ = std::max(most_, done.value().records / 2);
  if (!done && done.error().code == Errc::unsupported) most_ = 0;
}

}  // namespace triage::inline v0_1::workflow::detail
