// SPDX-License-Identifier: MIT
#pragma once
// Runs of workflows: starting them, going on with them, answering what they ask.

#include "triage/agent_options.hpp"
#include "triage/workflow/workflow.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow {

// Where handlers run, if the program has threads of its own.
class Threads {
 public:
  virtual ~Threads() = default;
  // Calls `work` once, soon, on some thread; not before this returns if that is the caller's.
  virtual void start(std::function<void()> work) = 0;
};

struct WorkflowRunOptions {
  RunId run_id{};                            // Empty: made by us, in run().
  std::shared_ptr<CheckpointStore> store{};  // Null: nothing outlives the process.
  std::string label{};                       // At most 256 bytes.
  std::size_t threads = 4;                   // That run handlers, the caller's included; 1 to 256.
  std::shared_ptr<Threads> pool{};           // Instead of those.
  std::optional<int> max_supersteps{};       // Instead of the workflow's.
  std::optional<TimePoint> deadline{};
  std::stop_token stop_token{};
  std::shared_ptr<Clock> clock{};    // Null: the machine's.
  std::shared_ptr<Random> random{};  // Null: seeded by the operating system.
  std::shared_ptr<Observer> observer{};
  // For effects that name them: see AgentOptions.
  CompensationOptions compensation{};
  std::map<std::string, Compensation> compensations{};
  std::map<std::string, Reconcile> reconciliations{};
};

struct Output {
  std::string executor{};  // Its path.
  std::string type{};
  Json value{};
};

// In the order of (superstep, executor, its sequence).
struct WorkflowResult {
  std::vector<Output> outputs{};

  // The last output's value; null if there is none.
  [[nodiscard]] const Json& value() const;
};

struct PendingRequest {
  std::string id{};  // "PATH/OCCURRENCE/PORT/N": the same in all processes and replays.
  std::string executor{};
  std::string port{};
  Json payload{};
  std::optional<WallTime> expires{};
};

// One run of a workflow. Everything that changes is in here and in its store.
//
// Thread-safety: run(), start_or_resume() and resume() by one thread at a time; the others at any
// time. What is under way in another process is Errc::busy.
class WorkflowRun {
 public:
  explicit WorkflowRun(Workflow workflow, WorkflowRunOptions options = {});
  ~WorkflowRun();
  WorkflowRun(WorkflowRun&&) noexcept;
  WorkflowRun& operator=(WorkflowRun&&) noexcept;

  // Starts a run. Errors: Errc::escalated, an executor failed (see error.failure(); what had
  // finished is kept, and resume() goes on); Errc::suspended, it waits for answers: see
  // pending_requests(); Errc::exhausted, it reached max_supersteps: resume() with more;
  // Errc::cancelled; Errc::conflict, the id stands for another run, or two executors wrote one key;
  // Errc::busy; Errc::invalid_argument; the store's.
  [[nodiscard]] Result<WorkflowResult> run(const Json& inputs);
  // Nothing stored under options.run_id: runs. Unfinished: goes on, and repeats nothing that has
  // finished. Finished: the recorded result. Failed, or at its limit: tries again what has not
  // finished. Errors: those above; Errc::conflict too, with the path, if other inputs are stored,
  // and with the parts if the workflow's fingerprint differs.
  [[nodiscard]] Result<WorkflowResult> start_or_resume(const Json& inputs);
  // The same where the run must exist: Errc::not_found.
  [[nodiscard]] Result<WorkflowResult> resume();

  // What nobody has answered yet, in the order of the executors.
  [[nodiscard]] Result<std::vector<PendingRequest>> pending_requests() const;
  // Answers one of them, in any process with the same store; resume() goes on with it. Errors:
  // Errc::not_found, no such request waits; Errc::invalid_argument, the answer is not of the port's
  // type (the request stays); Errc::conflict, it was answered before; the store's.
  [[nodiscard]] Result<void> answer(std::string_view request, const Json& answer);

  // The values of all scopes where the run stands, by scope and key. Errors: the store's.
  [[nodiscard]] Result<Json> state() const;
  // Calls of handlers that this object has made.
  [[nodiscard]] std::size_t handler_calls() const noexcept;
  [[nodiscard]] const RunId& id() const noexcept;  // Empty until it is known.

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

[[nodiscard]] Result<WorkflowResult> start_or_resume(const Workflow& workflow, RunId id,
                                                     const Json& inputs,
                                                     std::shared_ptr<CheckpointStore> store);

}  // namespace triage::inline v0_1::workflow
