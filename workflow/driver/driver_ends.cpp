// SPDX-License-Identifier: MIT
// Running a delivery under its own policy, and ending a workflow without a result.
#include "base/digest.hpp"
#include "base/run_catching.hpp"
#include "driver.hpp"
#include "triage/agent.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

constexpr int no_limit = 1'000'000;
// Less is left only because sums of costs are rounded.
constexpr double least_cost_usd = 1e-9;

using Inner = std::function<Result<Json>(const Json&, Attempt&)>;

// The policy, except that a rollback ends the executor's run and is carried out by the workflow's.
FailurePolicy for_the_workflow(const FailurePolicy& own, std::optional<RecoveryAction>& wanted) {
  FailurePolicy policy;
  policy.otherwise(Strategy("for_the_workflow(" + own.describe() + ")",
                            [&own, &wanted](const FailureContext& failure) {
                              RecoveryAction action = own.decide(failure);
                              if (action.kind != RecoveryAction::Kind::rollback) return action;
                              wanted = std::move(action);
                              return RecoveryAction::escalate("the whole workflow rolls back");
                            }));
  return policy;
}

// How many requests of a delivery have been settled.
std::size_t answered(const Answers& answers, const std::string& path, int occurrence) {
  const std::string prefix = path + "/" + std::to_string(occurrence) + "/";
  std::size_t count = 0;
  for (auto one = answers.lower_bound(prefix);
       one != answers.end() && one->first.rfind(prefix, 0) == 0; ++one) {
    ++count;
  }
  return count;
}

}  // namespace

// Executors' own policies have already handled a failure that arrives here. A waiting run is due
// when the first of its requests expires.
FailurePolicy outer_policy(const Driven& driven, int max_rollbacks) {
  FailurePolicy policy;
  policy.otherwise(Strategy("workflow", [&driven, max_rollbacks](const FailureContext& failure) {
    const auto before =
        std::count_if(failure.history.begin(), failure.history.end(), [](const HistoryEntry& one) {
          return one.action == RecoveryAction::Kind::rollback && !one.refused;
        });
    if (driven.rollback && before < max_rollbacks) {
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

FailurePolicy fail_at_once() {
  FailurePolicy policy;
  policy.otherwise(Strategy("none", [](const FailureContext& failure) {
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
          .on_store_error = OnStoreError::degrade};
}

// How many of its requests an edited branch has asked itself.
int Driver::asked_here(const Delivery& delivery) const {
  if (around_.branch.empty()) return 0;
  const State state = attempt_.state();
  const std::string prefix = std::string(request_prefix) + plan_.nodes[delivery.node].path + "/" +
                             std::to_string(delivery.occurrence) + "/";
  int count = 0;
  for (auto one = state.values()->lower_bound(prefix);
       one != state.values()->end() && one->first.rfind(prefix, 0) == 0; ++one) {
    if (asked_from("", *one->second).branch == around_.branch) ++count;
  }
  return count;
}

// The policy's attempts belong to a separate run, which keeps counting after a crash. Its result is
// the delivery's stored form, so that a delivery stored only there is not run again.
void Driver::call_under_policy(Ended& ended) {
  const PlanNode& node = plan_.nodes[ended.delivery.node];
  bool called = false;
  const Inner try_once = [&](const Json&, Attempt& inner) -> Result<Json> {
    called = true;
    call_once(ended, inner);
    if (ended.thrown) std::rethrow_exception(ended.thrown);
    if (ended.error) return *ended.error;
    // Nothing to be taken for the delivery's result; see go_on.
    if (ended.status == Status::parked || ended.unsaved) return Json();
    // In full, because the parts of a run that was rolled back may be gone by then.
    Json none;
    return stored_form(ended, {.fresh = none});
  };
  const ExecutorOptions& own = node.spec->options;
  FailurePolicy policy = own.policy ? *own.policy : fail_at_once();
  ended.rollback.reset();
  if (own.policy && own.rollback == RollbackScope::workflow) {
    policy = for_the_workflow(*own.policy, ended.rollback);
  }
  const TriageAgent<Inner> agent(try_once, std::move(policy),
                                 {.name = node.spec->id,
                                  .version = own.version,
                                  .store = options_.store,
                                  .limits = own.limits.value_or(Limits{}),
                                  .clock = lending_});
  Json task{{"executor", node.path},
            {"occurrence", ended.delivery.occurrence},
            {"input", digest_of(ended.delivery.message)},
            {"answers", answered(answers_, node.path, ended.delivery.occurrence)}};
  if (!around_.rolled_back.is_null()) task["rolled_back"] = around_.rolled_back;
  if (const int asked = asked_here(ended.delivery); asked > 0) task["asked_here"] = asked;
  const std::string key = finished_key(node.path, ended.delivery.occurrence);
  // It had finished, and what it read then is different now: that result is not this one's.
  const Json* outdated = before_.empty() ? nullptr : before_.find(key);
  if (outdated != nullptr && outdated->is_object() && !outdated->contains("failed")) {
    task["outdated"] = triage::detail::digest(show(*outdated)).substr(0, 16);
  }
  const RunOptions options{.parent = &attempt_};
  const auto go_on = [&]() -> Result<Json> {
    if (!options_.store) return agent.run(task, options);
    const RunId id = inner_run_id(attempt_.run_id(), show(task));
    Result<Json> done = agent.run_or_resume(id, task, {.run = options});
    // It had asked, and has no answer yet; or its hook had failed, so what it knew is lost.
    if (done && !called && done.value().is_null()) {
      TRIAGE_TRYV(triage::detail::run_catching([&] { return options_.store->erase(id); }));
      done = agent.run_or_resume(id, task, {.run = options});
    }
    // It had failed before this run was gone on with. What is aborted or poisoned stays so.
    const bool failed_before = !done && !called && done.error().code == Errc::escalated;
    if (failed_before && options_.retry_failed) done = agent.resume_run(id, {.run = options});
    return done;
  };
  Result<Json> done = go_on();
  if (!done) {
    ended.status = Status::failed;
    ended.thrown = nullptr;
    ended.error = std::move(done).error();
    return;
  }
  if (ended.status == Status::parked || called) return;
  auto finished = from_stored(plan_, parts_, key, done.value());
  ended.status = finished ? Status::done : Status::failed;
  if (finished) {
    ended.finished = std::move(finished).value();
  } else {
    ended.error = std::move(finished).error();
  }
}

// Of several, the first in the order of executors; the others are in the trajectory.
Error Driver::first_failure(Driven& driven) {
  std::sort(failed_.begin(), failed_.end(), [](const Ended& a, const Ended& b) {
    return std::tie(a.delivery.node, a.delivery.occurrence) <
           std::tie(b.delivery.node, b.delivery.occurrence);
  });
  for (const Ended& one : failed_) {
    Step step{.action = "fail", .agent_id = plan_.nodes[one.delivery.node].path};
    if (one.error) step.error = one.error->detail;
    attempt_.record_step(std::move(step));
  }
  Ended& first = failed_.front();
  driven.rollback = first.rollback;
  if (first.thrown) std::rethrow_exception(first.thrown);
  Error error = *std::move(first.error);
  error.detail = "executor \"" + plan_.nodes[first.delivery.node].path + "\": " + error.detail;
  if (error.code != Errc::escalated) driven.error = error;
  return error;
}

// These failures are results: dependent tasks have been told of them.
Error Driver::failed_tasks() const {
  std::string text;
  for (const std::string& task : failed_tasks_) text += (text.empty() ? "" : "; ") + task;
  return attempt_.fail({.text = text, .type = FailureType::unknown, .reason = "task_failed"});
}

// Called before each delivery that would start.
bool Driver::may_begin() {
  if (deadline_ && options_.clock->now() >= *deadline_) late_ = true;
  if (late_) return false;
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
                   {.text = "the workflow's deadline has passed",
                    .type = FailureType::timeout,
                    .reason = std::string(deadline_reason)});
}

Error Driver::left_over(Driven& driven, StopKind how, Failure failure) {
  note_stopped(driven, {.how = how});
  failure.text +=
      ", with " + std::to_string(scheduler_.waiting() + scheduler_.left()) + " deliveries to make";
  return attempt_.fail(std::move(failure));
}

// Results of nested agents from before the run's rollback no longer count.
void Driver::note_rollback() {
  const Recovery* recovery = attempt_.recovery();
  if (recovery != nullptr && recovery->action == RecoveryAction::Kind::rollback) {
    around_.rolled_back = attempt_.number();
    attempt_.update_state(Json{{std::string(rolled_back_key), around_.rolled_back}});
  } else if (const Json* before = before_.find(rolled_back_key)) {
    around_.rolled_back = *before;
  }
}

Error Driver::at_limit() {
  return attempt_.fail({.text = "the workflow has reached max_supersteps (" +
                                std::to_string(options_.max_supersteps) + ") with " +
                                std::to_string(scheduler_.waiting()) + " deliveries to make",
                        .type = FailureType::plan_incomplete,
                        .reason = std::string(limit_reason)});
}

}  // namespace triage::inline v0_1::workflow::detail
