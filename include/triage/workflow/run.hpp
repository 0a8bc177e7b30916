// SPDX-License-Identifier: MIT
#pragma once
// Runs of workflows: starting them, going on with them, answering what they ask.

#include "triage/agent_options.hpp"
#include "triage/checkpoint.hpp"
#include "triage/workflow/events.hpp"
#include "triage/workflow/workflow.hpp"

#include <cstddef>
#include <functional>
#include <future>
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
  // Going on, try again what was recorded as failed (ExecutorOptions::instead), and what depends
  // on it. False: such a run's recorded error is returned.
  bool retry_failed = true;
  // Going on, take no offence at parts of the workflow that differ from those of the run.
  bool force = false;
  std::optional<TimePoint> deadline{};
  std::stop_token stop_token{};
  std::shared_ptr<Clock> clock{};    // Null: the machine's.
  std::shared_ptr<Random> random{};  // Null: seeded by the operating system.
  std::shared_ptr<Observer> observer{};
  WorkflowObserver on_event{};
  // Sources outside that executors ask for by name; see Resource.
  std::vector<Resource> resources{};
  // Instead of the workflow's; executors that have a policy of their own, or none, keep that.
  std::optional<CheckpointPolicy> checkpoints{};
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

enum class Ran : std::uint8_t {
  done,    // Its handler was called and has finished.
  reused,  // It had finished before; what it sent then was taken.
  failed,
  waits,  // For an answer.
};

// One delivery to an executor, as this process has seen it.
struct DeliveryView {
  std::string executor{};
  int occurrence = 0;
  int superstep = 0;
  Ran how = Ran::done;
  std::vector<Json> sent{};  // Messages and outputs.
};

struct PendingRequest {
  std::string id{};  // "PATH/OCCURRENCE/PORT/N": the same in all processes and replays.
  std::string executor{};
  std::string port{};
  Json payload{};
  std::optional<WallTime> expires{};
};

// What a branch changes. Executors that read something of it run again, and those that read what
// they then give otherwise; all others keep what they gave. Effects keep their recorded results.
struct Fork {
  std::string label{};  // Of the branch; at most 256 bytes. One that is in use is Errc::conflict.
  Json inputs{};        // An object: keys that are set over the run's inputs.
  // By the executor's path: what it gave in its last delivery. It is not called again.
  std::map<std::string, Json, std::less<>> outputs{};
  Json state{};          // An object: keys of the workflow's shared state without a name.
  std::string author{};  // Recorded. At most 256 bytes.
};

class WorkflowRun;

// A run that begins at a checkpoint of another one, which is only read: two of one checkpoint are
// branches side by side. Its resume() runs it; options.run_id is the branch's. Works wherever the
// store, or a copy of the run, can be read. Errors: Errc::not_found; Errc::conflict, with the parts
// that differ.
[[nodiscard]] Result<WorkflowRun> rehydrate(const Workflow& workflow, std::string_view checkpoint,
                                            std::shared_ptr<CheckpointStore> store,
                                            WorkflowRunOptions options = {});

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
  // Goes back to one of this run's own checkpoints, and on from there. What came after it is
  // abandoned, in this object too: events, and answers, so that its requests are asked again;
  // effects keep their results. Errors: those of resume(); Errc::not_found, no such checkpoint.
  [[nodiscard]] Result<WorkflowResult> restore(std::string_view checkpoint);

  // Runs a branch of a run, as options.run_id: from a checkpoint ("RUN@SEQUENCE", see
  // checkpoints()), with these edits. They are stored before anything runs; the run it comes from
  // is only read. Errors: those of run(); Errc::not_found, no such checkpoint;
  // Errc::invalid_argument, an edit of an executor that does not exist, has not finished there or
  // has sent several messages; Errc::conflict, the label is in use, or another workflow's
  // checkpoint.
  [[nodiscard]] Result<WorkflowResult> fork(std::string_view checkpoint, const Fork& edits);

  // What nobody has answered yet, in the order of the executors.
  [[nodiscard]] Result<std::vector<PendingRequest>> pending_requests() const;
  // Answers one of them, in any process with the same store; resume() goes on with it. Errors:
  // Errc::not_found, no such request waits; Errc::invalid_argument, the answer is not of the port's
  // type (the request stays); Errc::conflict, it was answered before; the store's.
  [[nodiscard]] Result<void> answer(std::string_view request, const Json& answer);

  // The values of all scopes where the run stands, by scope and key. Errors: the store's.
  [[nodiscard]] Result<Json> state() const;
  // What ran in the newest run(), start_or_resume(), resume() or fork() of this object, in the
  // order in which it ended. Errors: Errc::not_found before the first.
  [[nodiscard]] Result<std::vector<DeliveryView>> deliveries() const;
  // Where branches may begin, oldest first: the run's entry ("triage/run_started"), what its
  // checkpoint policies have made ("triage/TRIGGER/EXECUTOR/OCCURRENCE"), and those with a label.
  // Errors: Errc::not_found, there is no store or no such run; the store's.
  [[nodiscard]] Result<std::vector<CheckpointInfo>> checkpoints() const;
  // Makes one of what has finished, while the run is under way in this object. label: 1 to 256
  // bytes that do not begin with "triage/". Errors: Errc::invalid_argument; Errc::not_found,
  // nothing is under way or there is no store; the store's. Nothing else of the run is changed.
  [[nodiscard]] Result<CheckpointId> checkpoint(std::string_view label);
  // The same on a thread of its own. Get the result before this object is gone.
  [[nodiscard]] std::future<Result<CheckpointId>> checkpoint_async(std::string label);
  // What its store knows to have happened, from record `from` on: replayable in any process. Watch
  // a run by asking again from behind the newest sequence; WorkflowRunOptions::on_event tells more,
  // at once. Errors: Errc::not_found, there is no store or no such run; the store's.
  [[nodiscard]] Result<std::vector<WorkflowEvent>> events(Sequence from = 1) const;
  // Calls of handlers that this object has made.
  [[nodiscard]] std::size_t handler_calls() const noexcept;
  [[nodiscard]] const RunId& id() const noexcept;  // Empty until it is known.

 private:
  friend Result<WorkflowRun> rehydrate(const Workflow&, std::string_view,
                                       std::shared_ptr<CheckpointStore>, WorkflowRunOptions);
  class Body;
  std::unique_ptr<Body> body_;
};

[[nodiscard]] Result<WorkflowResult> start_or_resume(const Workflow& workflow, RunId id,
                                                     const Json& inputs,
                                                     std::shared_ptr<CheckpointStore> store);

}  // namespace triage::inline v0_1::workflow
