// SPDX-License-Identifier: MIT
#pragma once
// The compiled core behind TriageAgent<F>: everything independent of F. Not public API.

#include "triage/agent_options.hpp"
#include "triage/attempt.hpp"
#include "triage/fork.hpp"
#include "triage/policy.hpp"
#include "triage/result.hpp"
#include "triage/suspension.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The callable of one run, erased to a frame on the caller's stack and a table of functions.
struct CallTable {
  bool (*invoke)(void* frame, Attempt& attempt);  // True: the result is in the frame.
  std::string (*task_text)(const void* frame);
  bool (*task_json)(const void* frame, Json& out);      // False: the task has no conversion.
  bool (*result_json)(const void* frame, Json& out);    // False: the result has no conversion.
  bool (*put_result)(void* frame, const Json& result);  // Puts a stored result into the frame.
  Result<void> (*check_result)(const Json& result);     // Whether it could be put there.
};
struct Call {
  void* frame;
  const CallTable* table;
};

struct AgentCore;  // The agent's policy and options, checked and completed.

// Whether a stored task converts to the agent's; null if its type cannot be read.
using TaskCheck = Result<void> (*)(const Json& task);

// What makes an agent with these options refuse every run; the first of several.
[[nodiscard]] Result<void> check_options(const AgentOptions& options);
[[nodiscard]] std::shared_ptr<const AgentCore> make_core(FailurePolicy policy, AgentOptions options,
                                                         bool callable_is_null,
                                                         TaskCheck task_fits);

// Errors: Errc::invalid_argument if the action is a fallback that cannot be the agent's result.
[[nodiscard]] Result<void> check_fallback(const CallTable& table, const RecoveryAction& action);

// Null on success: the result is in the call's frame; *degraded is set if a fallback put it there.
using Outcome = std::unique_ptr<Error>;
[[nodiscard]] Outcome run(const AgentCore& core, Call call, bool* degraded);
[[nodiscard]] Outcome run(const AgentCore& core, Call call, const RunOptions& options,
                          bool* degraded);

// Continuing has two steps because the call needs the task first.
class Continuation;
struct ContinuationDeleter {
  void operator()(Continuation* continuation) const noexcept;
};
using ContinuationPtr = std::unique_ptr<Continuation, ContinuationDeleter>;
[[nodiscard]] Result<ContinuationPtr> open_run(const AgentCore& core, const RunId& id,
                                               const ResumeOptions& options);
// fits: whether a fallback is a value of this agent, unless the decision is for a nested run.
[[nodiscard]] Result<ContinuationPtr> open_suspended(const AgentCore& core, std::string_view token,
                                                     RecoveryAction action,
                                                     const Result<void>& fits,
                                                     const DecideOptions& options);
// Like open_run, but leaves a run alone that waits and is not due (Errc::suspended) or was
// escalated (Errc::escalated).
[[nodiscard]] Result<ContinuationPtr> open_unless_waiting(const AgentCore& core, const RunId& id,
                                                          const ResumeOptions& options);
// The agent's runs that are due before `now + within`, earliest first.
[[nodiscard]] Result<std::vector<DueRun>> due_runs(const AgentCore& core, const RunOptions& options,
                                                   Duration within);
// Waits until the run is due. *gone is set if another owner has continued it.
[[nodiscard]] Result<ContinuationPtr> open_due(const AgentCore& core, const DueRun& due,
                                               const DueOptions& options, bool* gone);
[[nodiscard]] Result<ContinuationPtr> open_fork(const AgentCore& core, std::string_view checkpoint,
                                                const ForkOptions& options);
[[nodiscard]] Result<void> send_signal(const AgentCore& core, const RunId& run,
                                       std::string_view name, const Json& value);
[[nodiscard]] const Json& task_of(const Continuation& continuation) noexcept;
[[nodiscard]] Outcome resume(ContinuationPtr continuation, Call call, bool* degraded);

// Passes an Error that the callable returned to the run loop.
void report_failure(Attempt& attempt, Error&& error);

}  // namespace triage::inline v0_1::detail
