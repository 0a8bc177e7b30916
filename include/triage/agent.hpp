// SPDX-License-Identifier: MIT
#pragma once
// TriageAgent: wraps a flaky callable so that its runs finish.

#include "triage/detail/call.hpp"
#include "triage/detail/run_loop.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1 {

// Makes one callable per run, for callables with state of their own: TriageAgent{per_run(make), …}.
// `make` itself is called as const, from any thread that starts a run.
template <class Factory>
struct PerRun {
  Factory make;
};
template <class Factory>
[[nodiscard]] PerRun<std::decay_t<Factory>> per_run(Factory&& make) {
  return {std::forward<Factory>(make)};
}

// F takes (task) or (task, Attempt&), returns T, void or Result<T>, and reports a failure by
// throwing or by `return attempt.fail(…)`. F is called as const. T may be move-only. Task is F's
// first parameter, decayed; a string_view is kept as a string. For a callable with an `auto`
// parameter use make_agent<Task>(f, …).
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
                                detail::is_null_callable(callable_))) {}

  // Runs the callable until it finishes or nothing fits any more.
  // Errors: Errc::escalated, aborted, suspended, cancelled (see error.failure());
  // invalid_argument; with a run id that exists: conflict (unfinished) or busy (owned). A finished
  // one gives its recorded result.
  Result<Value> run(const Task& task) const { return go(task); }
  Result<Value> run(const Task& task, const RunOptions& options) const { return go(task, options); }
  Result<Value> operator()(const Task& task) const { return run(task); }

  // Starts the run, or continues it, or returns its recorded result: whatever fits. The task of a
  // stored run wins over `task`.
  Result<Value> run_or_resume(const RunId& id, const Task& task, RunOptions options = {}) const {
    auto opened = detail::open_run(*core_, id, {.run = options});
    if (opened) return proceed(std::move(opened));
    if (opened.error().code != Errc::not_found) return outcome::failure(std::move(opened).error());
    options.run_id = id;
    return go(task, options);
  }
  // Continues a run whose process died or that ended without a result.
  // Errors: not_found, busy, conflict (other fingerprint), corrupt, and those of run().
  Result<Value> resume_run(const RunId& id, const ResumeOptions& options = {}) const {
    return proceed(detail::open_run(*core_, id, options));
  }
  // Continues a suspended run with the action that was decided on. The token works once.
  // Errors: not_found (unknown or used), invalid_argument (action not allowed), those of run().
  Result<Value> decide(std::string_view token, RecoveryAction action) const {
    return proceed(detail::open_suspended(*core_, token, std::move(action)));
  }

 private:
  template <class... Options>  // None, or RunOptions.
  Result<Value> go(const Task& task, const Options&... options) const {
    auto frame = Traits::frame(callable_, task);
    bool degraded = false;
    auto failed = detail::run(*core_, Traits::call(frame), options..., &degraded);
    return Traits::result(frame, std::move(failed), degraded);
  }
  Result<Value> proceed(Result<detail::ContinuationPtr> opened) const {
    detail::require_storable<Task, Value>();
    if (!opened) return outcome::failure(std::move(opened).error());
    if constexpr (JsonReadable<Task>) {
      auto task = detail::read_task<Task>(detail::task_of(*opened.value()));
      if (!task) return outcome::failure(std::move(task).error());
      auto frame = Traits::frame(callable_, task.value());
      bool degraded = false;
      auto failed = detail::proceed(std::move(opened).value(), Traits::call(frame), &degraded);
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

// For callables whose first parameter is `auto`.
template <class Task, class F>
[[nodiscard]] TriageAgent<F, Task> make_agent(F callable, FailurePolicy policy,
                                              AgentOptions options = {}) {
  return {std::move(callable), std::move(policy), std::move(options)};
}

}  // namespace triage::inline v0_1
