// SPDX-License-Identifier: MIT
#pragma once
// TriageAgent: wraps a flaky callable so that its runs finish.

#include "triage/detail/call.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/detail/work.hpp"
#include "triage/fork.hpp"
#include "triage/suspension.hpp"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// Makes one callable per run, for callables with their own state: TriageAgent{per_run(make), …}.
// `make` is called as const, from any thread that starts a run.
template <class Factory>
struct PerRun {
  Factory make;
};
template <class Factory>
[[nodiscard]] PerRun<std::decay_t<Factory>> per_run(Factory&& make) {
  return {std::forward<Factory>(make)};
}

// F takes (task) or (task, Attempt&), returns T (may be move-only), void or Result<T>, and reports
// a failure by throwing or by `return attempt.fail(…)`. F is called as const. Task is F's first
// parameter, decayed; a string_view is stored as a string. If that parameter is `auto`, use
// make_agent<Task>(f, …).
//
// Thread-safety: one agent serves any number of runs at once; F must then be safe to call as const
// from several threads, or be made per run.
template <class F, class Task = detail::task_of_t<F>>
class TriageAgent {
  using Traits = detail::CallTraits<F, Task>;

 public:
  using Value = typename Traits::Value;

  // Bad options are reported by every run as Errc::invalid_argument.
  TriageAgent(F callable, FailurePolicy policy, AgentOptions options = {})
      : callable_(std::move(callable)),
        core_(detail::make_core(std::move(policy), std::move(options),
                                detail::is_null_function(callable_), detail::task_check<Task>())) {}

  // Runs the callable until it succeeds or no recovery fits. For the id of a finished run of this
  // agent and this task, returns the recorded result.
  // Errors: Errc::escalated, aborted, suspended, cancelled (see error.failure()); invalid_argument;
  // for an id that exists: conflict (unfinished, or finished by another agent, version or policy,
  // or with another task) or busy (owned).
  Result<Value> run(const Task& task) const { return go(task); }
  Result<Value> run(const Task& task, const RunOptions& options) const { return go(task, options); }
  Result<Value> operator()(const Task& task) const { return run(task); }

  // Starts the run, continues it, or returns its recorded result. A stored task takes precedence
  // over `task`. With `from`, the run must exist. Does not continue a run that waits for a decision
  // (Errc::suspended, without a token), is poisoned (Errc::conflict), or was aborted or escalated
  // (its recorded error). ResumeOptions::revive continues those, and resume_run an escalated one. A
  // run that ended with an effect in doubt reconciles it again.
  Result<Value> run_or_resume(const RunId& id, const Task& task, ResumeOptions options = {}) const {
    auto opened = detail::open_unless_waiting(*core_, id, options);
    if (opened) return resume(std::move(opened));
    if (opened.error().code != Errc::not_found || !options.from.empty()) {
      return outcome::failure(std::move(opened).error());
    }
    options.run.run_id = id;
    return go(task, options.run);
  }
  // Continues a run whose process died or that ended without a result, with its deadline, limits,
  // elapsed time and usage; `options.run` overrides them. An aborted run needs `revive`, else
  // returns Errc::aborted with what was recorded and who decided. Errors: not_found, busy, conflict
  // (other fingerprint), corrupt, and those of run().
  Result<Value> resume_run(const RunId& id, const ResumeOptions& options = {}) const {
    return resume(detail::open_run(*core_, id, options));
  }
  // Continues a suspended run with the action decided on, in any process with the same store. A
  // token works once; of several concurrent uses one wins. History, usage, effects and state are
  // kept; the decision and who made it are recorded. If the run waits for a nested one
  // (Suspension::inner), an action that continues is passed to that one.
  // Errors: not_found (unknown or used token); conflict (expired, another agent's, or the run has
  // continued without it); invalid_argument (an action that is not allowed or not safe, or a
  // fallback that is not a value of this agent; the token stays valid); busy (another owner has the
  // run); those of run().
  Result<Value> decide(std::string_view token, RecoveryAction action,
                       const DecideOptions& options = {}) const {
    const auto fits = detail::check_fallback(Traits::table, action);
    return resume(detail::open_suspended(*core_, token, std::move(action), fits, options));
  }

  // This agent's suspended runs that may continue without a decision now, or `within` that time;
  // the earliest first. Errors: the store's.
  Result<std::vector<DueRun>> due(Duration within = Duration::zero()) const {
    return detail::due_runs(*core_, RunOptions{}, within);
  }
  // Continues one of those, waiting until it is due. Empty if another owner has taken it or it has
  // continued meanwhile. Errors: as of resume_due(), for this run.
  std::optional<Result<Value>> resume_due_run(const DueRun& run,
                                              const DueOptions& options = {}) const {
    bool gone = false;
    auto opened = detail::open_due(*core_, run, options, &gone);
    if (gone) return std::nullopt;
    return resume(std::move(opened));
  }
  // Continues a run that claim_orphans() claimed for this store; takes the lease. Does not continue
  // an ended run that run_or_resume() would not. Errors: as of resume_run().
  Result<Value> resume_claimed(const Lease& lease, const ResumeOptions& options = {}) const {
    return resume(detail::open_claimed(*core_, lease, options));
  }
  // Continues, one after another, the runs that are due or will be within 1 s (it waits for them
  // and starts none early). Skips runs that another owner has taken, so threads and processes may
  // call this at once. A run that cannot be continued is reported each time; one with another
  // fingerprint as Errc::conflict, unless DueOptions::accept_changed is set. Errors: the store's,
  // if the runs cannot be listed.
  Result<std::vector<ResumedRun<Value>>> resume_due(const RunOptions& options = {}) const {
    return resume_due(DueOptions{.run = options});
  }
  Result<std::vector<ResumedRun<Value>>> resume_due(const DueOptions& options) const {
    auto due = detail::due_runs(*core_, options.run, std::chrono::seconds(1));
    if (!due) return outcome::failure(std::move(due).error());
    std::vector<ResumedRun<Value>> resumed;
    for (const DueRun& run : due.value()) {
      auto result = resume_due_run(run, options);
      if (result) resumed.push_back({run.run, *std::move(result)});
    }
    return outcome::success(std::move(resumed));
  }

  // Continues runs of this agent's store on `threads` threads until a stop is requested: orphaned
  // runs, and suspended runs whose time or signal has come. Any number of workers, processes and
  // hosts may do so at once: each run goes to one of them. A stop waits for the runs in progress. A
  // worker that finds nothing, or whose store fails, looks again after options.poll. Errors:
  // Errc::invalid_argument (threads: 1 to 1,000; options.poll), Errc::not_found (no store), the
  // store's, if it fails at the first look.
  Result<WorkDone> work(std::size_t threads, std::stop_token stop,
                        const WorkOptions& options = {}) const {
    detail::require_storable<Task, Value>();
    return detail::work(*core_, threads, stop, options,
                        [this](Result<detail::ContinuationPtr> opened, WorkDone& done) {
                          const bool taken = opened.has_value();
                          const bool good = resume(std::move(opened)).has_value();
                          ++(good ? done.finished : taken ? done.ended : done.refused);
                        });
  }

  // Runs the callable in a new run, a branch of another run's checkpoint ("RUN@SEQUENCE"): it
  // starts (and starts over) with that trajectory and state, with options.state set over it, and
  // with options.task if set. The branch is recorded before the callable runs; its origin is only
  // read. All effects of the origin keep their recorded results and idempotency keys; history,
  // usage and limits start anew. Errors: not_found; conflict (label or run id in use, other
  // fingerprint, or a checkpoint after an effect that was undone since); invalid_argument; corrupt;
  // the store's; those of run().
  Result<Value> fork(std::string_view checkpoint, const ForkOptions& options = {}) const {
    return resume(detail::open_fork(*core_, checkpoint, options));
  }

  // Answers Attempt::wait(name) of a run, before or while it waits. A signal is sent once; sending
  // the same value again succeeds. name: 1 to 256 bytes. Errors: conflict (another value was sent,
  // or the wait has ended without one), not_found (no store), invalid_argument, the store's.
  Result<void> signal(const RunId& run, std::string_view name, const Json& value = nullptr) const {
    return detail::send_signal(*core_, run, name, value);
  }

 private:
  template <class... Options>  // None, or RunOptions.
  Result<Value> go(const Task& task, const Options&... options) const {
    auto frame = Traits::frame(callable_, task);
    bool degraded = false;
    auto failed = detail::run(*core_, Traits::call(frame), options..., &degraded);
    return Traits::result(frame, std::move(failed), degraded);
  }
  Result<Value> resume(Result<detail::ContinuationPtr> opened) const {
    detail::require_storable<Task, Value>();
    if (!opened) return outcome::failure(std::move(opened).error());
    if constexpr (JsonReadable<Task>) {
      auto task = detail::read_task<Task>(detail::task_of(*opened.value()));
      if (!task) return outcome::failure(std::move(task).error());
      auto frame = Traits::frame(callable_, task.value());
      bool degraded = false;
      auto failed = detail::resume(std::move(opened).value(), Traits::call(frame), &degraded);
      return Traits::result(frame, std::move(failed), degraded);
    }
  }

  F callable_;
  std::shared_ptr<const detail::AgentCore> core_;
};

template <class F>
TriageAgent(F, FailurePolicy, AgentOptions) -> TriageAgent<F>;
template <class F>
TriageAgent(F, FailurePolicy) -> TriageAgent<F>;
// Chosen only for a third argument that is no AgentOptions.
template <class F>
TriageAgent(F, detail::NoOptions, ...) -> TriageAgent<F, detail::NoOptions>;

template <class F>
class TriageAgent<F, detail::NoOptions> {
  static_assert(
      detail::always_false<F>,
      "triage: the third argument is no AgentOptions: if it is in braces, one of its fields is "
      "misspelt, out of order or of another type, and the compiler names it if you write "
      "triage::AgentOptions{...}");
};

// For callables whose first parameter is `auto`.
template <class Task, class F>
[[nodiscard]] TriageAgent<F, Task> make_agent(F callable, FailurePolicy policy,
                                              AgentOptions options = {}) {
  return {std::move(callable), std::move(policy), std::move(options)};
}

}  // namespace triage::inline v0_1
