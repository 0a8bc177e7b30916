// SPDX-License-Identifier: MIT
// How a delivery under a policy of its own is tried, and how a workflow ends without a result.
#include "driver.hpp"
#include "triage/agent.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

using Inner = std::function<Result<Json>(const Json&, Attempt&)>;

FailurePolicy fail_at_once() {
  FailurePolicy policy;
  policy.otherwise(Strategy("none", [](const FailureContext& failure) {
    return RecoveryAction::escalate(failure.text);
  }));
  return policy;
}

}  // namespace

// The executors' own policies have had their say when a failure comes here. A run that waits is due
// when the first of its requests expires.
FailurePolicy outer_policy(const Driven& driven) {
  FailurePolicy policy;
  policy.otherwise(Strategy("workflow", [&driven](const FailureContext& failure) {
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

// The policy's attempts are those of a run of its own, which goes on counting after a crash. Its
// result is what the delivery has left behind, so that it is not run again if only that was stored.
void Driver::call_under_policy(Ended& ended) {
  const PlanNode& node = plan_.nodes[ended.delivery.node];
  bool called = false;
  const Inner try_once = [&](const Json&, Attempt& inner) -> Result<Json> {
    called = true;
    call_once(ended, inner);
    if (ended.thrown) std::rethrow_exception(ended.thrown);
    if (ended.error) return *ended.error;
    if (ended.status == Status::parked) return Json();
    // As a whole: the parts of a run that went back may be gone, and this is still there.
    Json none;
    return stored_form(ended, {.fresh = none});
  };
  const ExecutorOptions& own = node.spec->options;
  const TriageAgent<Inner> agent(try_once, own.policy ? *own.policy : fail_at_once(),
                                 {.name = node.spec->id,
                                  .version = own.version,
                                  .store = options_.store,
                                  .limits = own.limits.value_or(Limits{}),
                                  .clock = options_.clock});
  const std::string prefix = node.path + "/" + std::to_string(ended.delivery.occurrence) + "/";
  std::size_t answered = 0;
  for (auto one = answers_.lower_bound(prefix);
       one != answers_.end() && one->first.rfind(prefix, 0) == 0; ++one) {
    ++answered;
  }
  const Json task{{"executor", node.path},
                  {"occurrence", ended.delivery.occurrence},
                  {"input", digest_of(ended.delivery.message)},
                  {"answers", answered}};
  const RunOptions options{.parent = &attempt_};
  Result<Json> done =
      options_.store
          ? agent.run_or_resume(inner_run_id(attempt_.run_id(), show(task)), task, {.run = options})
          : agent.run(task, options);
  if (!done) {
    ended.status = Status::failed;
    ended.thrown = nullptr;
    ended.error = std::move(done).error();
    return;
  }
  if (ended.status == Status::parked || called) return;
  const std::string key = finished_key(node.path, ended.delivery.occurrence);
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
  if (first.thrown) std::rethrow_exception(first.thrown);
  Error error = *std::move(first.error);
  error.detail = "executor \"" + plan_.nodes[first.delivery.node].path + "\": " + error.detail;
  if (error.code != Errc::escalated) driven.error = error;
  return error;
}

// The failures are results here: what they stand for has been told to those that depend on them.
Error Driver::failed_tasks() const {
  std::string text;
  for (const std::string& task : failed_tasks_) text += (text.empty() ? "" : "; ") + task;
  return attempt_.fail({.text = text, .type = FailureType::unknown, .reason = "task_failed"});
}

Error Driver::at_limit() {
  return attempt_.fail({.text = "the workflow has reached max_supersteps (" +
                                std::to_string(options_.max_supersteps) + ") with " +
                                std::to_string(scheduler_.waiting()) + " deliveries to make",
                        .type = FailureType::plan_incomplete,
                        .reason = std::string(limit_reason)});
}

}  // namespace triage::inline v0_1::workflow::detail
