// SPDX-License-Identifier: MIT
// Running a delivery under its executor's own policy, whose attempts are a run of their own below
// the workflow's.
#include "base/digest.hpp"
#include "base/run_catching.hpp"
#include "driver.hpp"
#include "run/run_machine.hpp"
#include "schedule/router.hpp"
#include "triage/agent.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/later.hpp"
#include "triage/detail/try.hpp"

#include <set>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

using Inner = std::function<Result<Json>(const Json&, Attempt&)>;

constexpr const char* ways_out_key = "ways_out";  // Beside what is stored of a delivery.

std::string requests_of(const std::string& path, int occurrence) {
  return path + "/" + std::to_string(occurrence) + "/";
}

std::string decision_id(const std::string& path, int occurrence, int number) {
  return requests_of(path, occurrence) + std::string(decision_port) + "/" + std::to_string(number);
}

// How many requests of a delivery have been settled. Decisions are about its run, not part of it.
std::size_t answered(const Answers& answers, const std::string& path, int occurrence) {
  const std::string prefix = requests_of(path, occurrence);
  const std::string decisions = prefix + std::string(decision_port) + "/";
  std::size_t count = 0;
  for (auto one = answers.lower_bound(prefix);
       one != answers.end() && one->first.rfind(prefix, 0) == 0; ++one) {
    if (one->first.rfind(decisions, 0) != 0) ++count;
  }
  return count;
}

// A delivery's attempts, as a run.
struct ExecutorRun {
  CheckpointStore& store;
  const RunId& id;
  const Json& task;
  const ResumeOptions& options;
  bool retries;                                    // Even if it had failed before.
  std::string_view unfinished;                     // What tells that it had not: see below.
  const bool& called;                              // Whether the executor was called.
  const std::function<bool(const Json&)>& counts;  // Whether a recorded result does.
};

// Begins it or goes on with it.
Result<Json> result_of_run(const TriageAgent<Inner>& agent, const ExecutorRun& run) {
  using triage::detail::run_catching;
  const auto before = run_catching([&] { return run.store.run(run.id); });
  const bool failed_before = before && before.value().status == RunStatus::escalated;
  Result<Json> done = agent.run_or_resume(run.id, run.task, run.options);
  if (done && !run.called && !run.counts(done.value())) {
    TRIAGE_TRYV(run_catching([&] { return run.store.erase(run.id); }));
    done = agent.run_or_resume(run.id, run.task, run.options);
  }
  if (done || run.called) return done;
  // One that has only now failed, at its limits, has not been looked at yet. Aborted and poisoned
  // runs stay as they are, unless they are revived. One that only lacked time has not failed.
  const bool lacked_time = done.error().detail.starts_with(run.unfinished);
  if (failed_before && (run.retries || lacked_time)) return agent.resume_run(run.id, run.options);
  // A run below it waits for a decision, which may have been made.
  const auto& waits = done.error().suspension();
  if (waits && !waits->until) return agent.resume_run(run.id, run.options);
  return done;
}

}  // namespace

FailurePolicy fail_at_once() {
  FailurePolicy policy;
  policy.otherwise(Strategy("none", [](const FailureContext& failure) {
    return RecoveryAction::escalate(failure.text);
  }));
  return policy;
}

// The executor's policy, except for what the workflow carries out: its rollback, and a person's
// decision, which is a request like others. Both end the executor's run, and so does a fallback,
// which is sent on.
FailurePolicy Driver::for_the_workflow(const ExecutorOptions& own, Ended& ended) {
  FailurePolicy policy;
  policy.otherwise(Strategy(
      "for_the_workflow(" + own.policy->describe() + ")",
      [this, &own, &ended](const FailureContext& failure) {
        RecoveryAction action = own.policy->decide(failure);
        if (action.kind == RecoveryAction::Kind::suspend) {
          ask_for_decision(ended, action, failure.text);
          return RecoveryAction::escalate("the failure waits for a decision: " + failure.text);
        }
        if (action.kind == RecoveryAction::Kind::fallback && action.value) {
          auto finished = fallen_back(ended.delivery, *action.value);
          if (!finished) {
            return RecoveryAction::escalate(failure.text +
                                            " (and the fallback: " + finished.error().detail + ")");
          }
          // The executor's run ends with what is stored of a delivery, like any other.
          action.value = std::make_shared<const Json>(
              own_result({.delivery = ended.delivery, .finished = std::move(finished).value()}));
          return action;
        }
        const bool rolls_back = action.kind == RecoveryAction::Kind::rollback &&
                                own.rollback == RollbackScope::workflow;
        if (!rolls_back && comes_too_late(*own.policy, failure, action)) {
          ended.too_late = true;
          return RecoveryAction::escalate(std::string(no_time_for_another));
        }
        if (!rolls_back) return action;
        ended.rollback = std::move(action);
        return RecoveryAction::escalate("the whole workflow rolls back");
      }));
  return policy;
}

// Whether there would be another attempt if the run's deadline did not come first. A policy may
// know that, too, and not ask for it.
bool Driver::comes_too_late(const FailurePolicy& own, const FailureContext& failure,
                            RecoveryAction action) const {
  const auto until = attempt_.deadline();
  if (!until) return false;
  if (action.kind == RecoveryAction::Kind::escalate && failure.remaining) {
    FailureContext unhurried = failure;
    unhurried.remaining.reset();
    action = own.decide(unhurried);
  }
  return triage::detail::reruns(action.kind) &&
         triage::detail::later(options_.clock->now(), action.delay) >= *until;
}

// Stored before the executor's run ends: if the process died in between, the delivery would be
// tried again without anybody's decision.
void Driver::ask_for_decision(Ended& ended, const RecoveryAction& wanted,
                              const std::string& failure) {
  const std::string& path = plan_.nodes[ended.delivery.node].path;
  const int occurrence = ended.delivery.occurrence;
  Asked asked{.id = decision_id(path, occurrence, decided_so_far(ended.delivery).number + 1),
              .executor = path,
              .port = std::string(decision_port),
              .type = std::string(decision_type),
              .payload = decision_payload(wanted, failure),
              .expires = wanted.until,
              .branch = attempt_.run_id()};
  if (!asked.expires && wanted.expires_after) {
    asked.expires = options_.clock->wall_now() +
                    std::chrono::duration_cast<std::chrono::milliseconds>(*wanted.expires_after);
  }
  ended.asked = {std::move(asked)};
  ended.decides = true;
  const bool opened = store_asked(ended);
  if (store() && opened) {
    checkpoints_.happened(CheckpointTrigger::request_opened, ended.delivery.node, occurrence);
  }
}

// Those of this run: a branch tries the delivery again itself.
Driver::Decided Driver::decided_so_far(const Delivery& delivery) const {
  const std::string& path = plan_.nodes[delivery.node].path;
  Decided so_far;
  for (;;) {
    const auto asked = requests_.find(decision_id(path, delivery.occurrence, so_far.number + 1));
    if (!asked || asked->branch != attempt_.run_id()) return so_far;
    const auto answer = answers_.find(asked->id);
    if (answer == answers_.end()) {
      so_far.open = *asked;
      return so_far;
    }
    ++so_far.number;
    so_far.newest = decision_from(*asked, answer->second);
    so_far.lapsed =
        answer->second.expired && before_.contains(std::string(answer_prefix) + asked->id);
  }
}

// True if the delivery must not be tried: no decision has been made yet, or it was negative. That
// nobody decided in time is a failure like others, which is retried when the run goes on.
bool Driver::take_decision(Ended& ended, const Decided& so_far) const {
  if (so_far.open) {
    ended.asked = {*so_far.open};
    ended.status = Status::parked;
    return true;
  }
  if (!so_far.newest || so_far.newest->retries) return false;
  if (so_far.lapsed && (options_.retry_failed || options_.revive)) return false;
  ended.status = Status::failed;
  ended.error = so_far.newest->error;
  return true;
}

// A hash of what the delivery has left behind if that no longer applies, because what it read
// differs now. Another try at what failed is still for that reason. Empty: there is nothing.
std::string Driver::outdated(const Delivery& delivery) const {
  if (before_.empty()) return {};
  const Json* before =
      before_.find(finished_key(plan_.nodes[delivery.node].path, delivery.occurrence));
  if (before == nullptr || !before->is_object()) return {};
  if (before->contains("failed")) return before->value("outdated", std::string());
  return triage::detail::digest(show(*before)).substr(0, 16);
}

// What the delivery's own run is for: if any of it is different, it is another run.
Json Driver::executor_task(const Delivery& delivery) const {
  const std::string& path = plan_.nodes[delivery.node].path;
  Json task{{"executor", path},
            {"occurrence", delivery.occurrence},
            {"input", digest_of(delivery.message)},
            {"answers", answered(answers_, path, delivery.occurrence)}};
  if (!around_.rolled_back.is_null()) task["rolled_back"] = around_.rolled_back;
  int asked_here = 0;  // By an edited branch itself.
  for (const auto& [id, asked] : requests_.of(requests_of(path, delivery.occurrence))) {
    if (!around_.branch.empty() && asked.branch == around_.branch) ++asked_here;
    if (!asked.anew.empty()) task["anew"].push_back(asked.anew);
  }
  if (asked_here > 0) task["asked_here"] = asked_here;
  if (const std::string hash = outdated(delivery); !hash.empty()) task["outdated"] = hash;
  return task;
}

// Where an executor's messages may go: the marks of its edges, in whatever order they were added.
std::string Driver::ways_out(std::size_t node) const {
  std::set<std::string> marks;
  for (const auto* exits : {&plan_.nodes[node].edges, exits_of_output(plan_, node)}) {
    if (exits == nullptr) continue;
    for (const Exit& exit : *exits) {
      const std::string part = "edge " + plan_.edges[exit.edge].name;
      marks.insert(part + "\n" + body_.fingerprint().at(part) + "\n");
    }
  }
  return triage::detail::digest(triage::detail::joined(marks, {}, "")).substr(0, 16);
}

// The result of an executor's own run: in full, because the parts of a run that was rolled back may
// be gone by then.
Json Driver::own_result(const Ended& ended) const {
  Json none;
  Json result = stored_form(ended, {.fresh = none});
  result[ways_out_key] = ways_out(ended.delivery.node);
  return result;
}

// Whether what an executor's own run has left is the delivery's result. It is not if the executor
// asked and has no answer yet, or if its hook failed and its state was lost (a null), nor if its
// messages would go along other edges now, or what it read has changed.
bool Driver::is_result(const Delivery& delivery, const Json& left) const {
  if (left.is_null()) return false;
  const bool tells_ways = left.is_object() && left.contains(ways_out_key);  // Not earlier versions.
  if (tells_ways && left[ways_out_key] != ways_out(delivery.node)) return false;
  const auto finished = from_stored(plan_, parts_, "", left);
  if (!finished) return finished.error().code != Errc::conflict;
  try {
    return still_true(delivery, finished.value());
  } catch (...) {  // By a reducer, which the executor will meet again.
    return false;
  }
}

// A separate run keeps counting attempts after a crash. Its result is the delivery's stored form,
// so that a delivery stored only there is not run again.
void Driver::call_under_policy(Ended& ended) {
  const Decided decided = decided_so_far(ended.delivery);
  ended.rollback.reset();
  ended.decides = false;
  if (take_decision(ended, decided)) return;
  bool called = false;
  const Inner try_once = [&](const Json&, Attempt& inner) -> Result<Json> {
    called = true;
    call_once(ended, inner);
    if (ended.thrown) std::rethrow_exception(ended.thrown);
    if (ended.error) return *ended.error;
    if (ended.status == Status::parked || ended.unsaved) return Json();
    return own_result(ended);
  };
  const NodeSpec& node = *plan_.nodes[ended.delivery.node].spec;
  const ExecutorOptions& own = node.options;
  const TriageAgent<Inner> agent(try_once,
                                 own.policy ? for_the_workflow(own, ended) : fail_at_once(),
                                 {.name = node.id,
                                  .version = own.version,
                                  .store = options_.store,
                                  .limits = own.limits.value_or(Limits{}),
                                  .clock = lending_});
  // Uses the workflow's current deadline, not the one in force when this run began. The workflow
  // has already checked which of its parts may differ.
  const ResumeOptions options{.accept_changed = true,
                              .run = {.deadline = attempt_.deadline(), .parent = &attempt_},
                              .revive = options_.revive};
  const Json task = executor_task(ended.delivery);
  const RunId id = options_.store ? inner_run_id(attempt_.run_id(), show(task)) : RunId();
  const bool retries = options_.retry_failed || decided.newest;
  const std::function<bool(const Json&)> counts = [&](const Json& left) {
    return is_result(ended.delivery, left);
  };
  Result<Json> done = options_.store
                          ? result_of_run(agent, {*options_.store, id, task, options, retries,
                                                  no_time_for_another, called, counts})
                          : agent.run(task, options.run);
  take_result(ended, called, std::move(done));  // Only now is it known whether it was called.
}

// What has come of the executor's run, unless this process has just seen it itself.
void Driver::take_result(Ended& ended, bool called, Result<Json> done) {
  if (!done) {
    ended.status = ended.decides ? Status::parked : Status::failed;
    ended.thrown = nullptr;
    ended.error.reset();
    if (ended.decides) return;
    ended.error = std::move(done).error();
    if (!called) ended.too_late = is_late() && is_for_a_deadline(*ended.error);
    return;
  }
  if (ended.status == Status::parked || (called && ended.status == Status::done)) return;
  const std::string key =
      finished_key(plan_.nodes[ended.delivery.node].path, ended.delivery.occurrence);
  auto finished = from_stored(plan_, parts_, key, done.value());
  ended.status = finished ? Status::done : Status::failed;
  ended.thrown = nullptr;
  ended.error.reset();
  if (finished) {
    ended.finished = std::move(finished).value();
    kept_[ended.delivery.node].instance.reset();  // It has not seen this one.
  } else {
    ended.error = std::move(finished).error();
  }
}

}  // namespace triage::inline v0_1::workflow::detail
