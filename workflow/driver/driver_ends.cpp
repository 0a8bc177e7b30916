// SPDX-License-Identifier: MIT
// Ending a workflow without a result.
#include "driver.hpp"
#include "thrown.hpp"
#include "triage/agent.hpp"
#include "triage/detail/counted.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/store_now.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

std::string deliveries_to_make(std::size_t number) {
  return triage::detail::counted(number, "delivery", "deliveries") + " to make";
}

constexpr int no_limit = 1'000'000;
// Less is left only because sums of costs are rounded.
constexpr double least_cost_usd = 1e-9;

}  // namespace

// Executors' own policies have already handled a failure that arrives here. A waiting run is due
// when the first of its requests expires.
FailurePolicy outer_policy(Driven& driven, int max_rollbacks) {
  FailurePolicy policy;
  policy.otherwise(Strategy("workflow", [&driven, max_rollbacks](const FailureContext& failure) {
    const auto before = static_cast<int>(
        std::count_if(failure.history.begin(), failure.history.end(), [](const HistoryEntry& one) {
          return one.action == RecoveryAction::Kind::rollback && !one.refused;
        }));
    if (driven.rollback && before < max_rollbacks) {
      driven.rollbacks = before + 1;
      return *driven.rollback;
    }
    if (failure.classification.reason == pending_reason) {
      RecoveryAction wait = RecoveryAction::suspend(failure.text);
      for (const Asked& one : driven.asked) {
        if (one.expires && (!wait.until || *one.expires < *wait.until)) wait.until = one.expires;
      }
      return wait;
    }
    return RecoveryAction::escalate(failure.text);
  }));
  return policy;
}

AgentOptions outer_options(std::string workflow, std::shared_ptr<CheckpointStore> store) {
  return {.name = std::move(workflow),
          .version = "workflow",
          .store = std::move(store),
          .limits = {.max_attempts = no_limit, .max_attempts_per_type = no_limit},
          .write_mode = WriteMode::background,
          .on_store_error = OnStoreError::fail};
}

Result<void> Driver::store() {
  Result<void> stored = triage::detail::store_now(attempt_);
  if (!stored) unstored_ = true;
  return stored;
}

// Of several, the first in the order of executors; the others are in the trajectory.
Error Driver::first_failure(Driven& driven) {
  std::sort(failed_.begin(), failed_.end(), [](const Ended& a, const Ended& b) {
    return std::tie(a.delivery.node, a.delivery.occurrence) <
           std::tie(b.delivery.node, b.delivery.occurrence);
  });
  for (const Ended& one : failed_) {
    Step step{.action = "fail", .agent_id = plan_.nodes[one.delivery.node].path};
    if (one.error) step.error = one.error->message();
    attempt_.record_step(std::move(step));
  }
  Ended& first = failed_.front();
  driven.rollback = first.rollback;
  Error error = first.thrown ? error_of(first.thrown, attempt_) : *std::move(first.error);
  const std::string name = "executor \"" + plan_.nodes[first.delivery.node].path + "\"";
  if (!error.detail.starts_with(name + " ")) error.detail = name + ": " + error.detail;
  if (error.code != Errc::escalated && !first.thrown) driven.error = error;
  return error;
}

// These failures are results: dependent tasks have been told of them.
Error Driver::failed_tasks() const {
  std::string text = triage::detail::joined(failed_tasks_, {}, "; ");
  return attempt_.fail(
      {.text = std::move(text), .type = FailureType::unknown, .reason = "task_failed"});
}

bool Driver::is_late() {
  if (deadline_ && options_.clock->now() >= *deadline_) late_ = true;
  return late_;
}

// Called before each delivery that would start.
bool Driver::may_begin() {
  if (unstored_ || is_late()) return false;
  if (!options_.budget) return true;
  // Given back at once: what the executor needs, it reserves itself.
  const Usage least{.input_tokens = 1, .cost_usd = least_cost_usd};
  if (!options_.budget->reserve(least).has_value()) spent_ = true;
  return !spent_;
}

// Nothing is at work. What was reserved may not have been spent, so there may be enough for those
// that have not begun. True if they begin now.
bool Driver::go_on_within_budget() {
  spent_ = false;
  if (halted() || !may_begin()) return false;
  for (Delivery& one : std::exchange(not_begun_, {})) {
    scheduler_.again(one);
    begin(std::move(one));
  }
  return true;
}

Error Driver::budget_spent(Driven& driven) {
  return left_over(driven, StopKind::budget_spent,
                   {.text = "the workflow's budget is spent",
                    .type = FailureType::quota_exhausted,
                    .reason = std::string(budget_reason)});
}

Error Driver::deadline_passed(Driven& driven) {
  return left_over(driven, StopKind::deadline_passed,
                   {.text = std::string(options_.clock->now() < deadline_.value_or(TimePoint())
                                            ? no_time_for_another
                                            : "the workflow's deadline has passed"),
                    .type = FailureType::timeout,
                    .reason = std::string(deadline_reason)});
}

Error Driver::left_over(Driven& driven, StopKind how, Failure failure) {
  note_stopped(driven, {.how = how});
  failure.text += ", with " + deliveries_to_make(scheduler_.waiting() + scheduler_.left());
  return attempt_.fail(std::move(failure));
}

// Results of the runs below it from before the run's rollback, or restore, no longer count.
void Driver::note_rollback(const Driven& driven) {
  // A branch begins to count anew.
  const Json* counted = before_.find(rollbacks_key);
  if (counted != nullptr && counted->value("run", RunId()) == attempt_.run_id()) {
    rollbacks_ = counted->value("count", 0);
  }
  if (driven.rollbacks > rollbacks_) {
    rollbacks_ = driven.rollbacks;
    attempt_.update_state(Json{
        {std::string(rollbacks_key), Json{{"run", attempt_.run_id()}, {"count", rollbacks_}}}});
  }
  const Recovery* recovery = attempt_.recovery();
  const bool rolled_back =
      recovery != nullptr && recovery->action == RecoveryAction::Kind::rollback;
  if (options_.restored || rolled_back) {
    around_.rolled_back = attempt_.number();
    attempt_.update_state(Json{{std::string(rolled_back_key), around_.rolled_back}});
  } else if (const Json* before = before_.find(rolled_back_key)) {
    around_.rolled_back = *before;
  }
}

Error Driver::at_limit() {
  return attempt_.fail({.text = "the workflow has reached max_supersteps (" +
                                std::to_string(options_.max_supersteps) + ") with " +
                                deliveries_to_make(scheduler_.waiting()) +
                                "; nested workflows count, too. It goes on with a "
                                "higher one (WorkflowRunOptions::max_supersteps)",
                        .type = FailureType::plan_incomplete,
                        .reason = std::string(limit_reason)});
}

// The run ends, and what has come to these fan-ins leads to nothing. That is no failure: a message
// may have taken another way on purpose.
void Driver::note_joins() {
  Json all = Json::array();
  for (const auto& [edge, has] : scheduler_.joins_waiting()) {
    const PlanEdge& join = plan_.edges[edge];
    const std::string scope =
        join.name.substr(0, join.name.size() - join.spec->options.name.size());
    Json value{{"from", Json::array()}, {"waits_for", Json::array()}};
    for (std::size_t i = 0; i < join.spec->sources.size(); ++i) {
      value[has.contains(i) ? "from" : "waits_for"].push_back(scope + join.spec->sources[i]);
    }
    const std::string executor = scope + join.spec->targets.front();
    checkpoints_.tell(
        {.kind = WorkflowEventKind::join_left_waiting, .executor = executor, .value = value});
    value["executor"] = executor;
    all.push_back(std::move(value));
  }
  if (!all.empty()) attempt_.update_state(Json{{std::string(joins_key), std::move(all)}});
}

}  // namespace triage::inline v0_1::workflow::detail
