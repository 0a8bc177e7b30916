// SPDX-License-Identifier: MIT
#pragma once
// Drives one run of a workflow inside one attempt of an agent's run: delivers messages, stores
// finished deliveries, and skips those that had finished before.

#include "decisions.hpp"
#include "definition/checkpointer.hpp"
#include "definition/halt.hpp"
#include "delivery_call.hpp"
#include "triage/workflow/run.hpp"
#include "work.hpp"

#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Failure reasons with which the driver ends an attempt.
inline constexpr std::string_view pending_reason = "request_pending";
inline constexpr std::string_view limit_reason = "step_limit";
inline constexpr std::string_view budget_reason = "budget_spent";
inline constexpr std::string_view deadline_reason = "deadline_passed";

// An output and its sort key.
struct Emitted {
  int superstep = 0;
  Origin origin{};
  std::size_t index = 0;
  Message message{};
};

// A DeliveryView that is only built on demand.
struct Viewed {
  std::size_t node = 0;
  int occurrence = 0;
  int superstep = 0;
  Ran how = Ran::done;
  std::vector<JsonPtr> sent{};
};

// The driver's results besides the run's own.
struct Driven {
  bool begun = false;
  std::vector<Emitted> outputs{};
  std::vector<Asked> asked{};
  Json state{};
  std::optional<Error> error{};              // Set if the library, not an executor, ended the run.
  std::optional<RecoveryAction> rollback{};  // Of the whole run, as decided by a policy.
  int rollbacks = 0;                         // That this process knows of.
  std::vector<Viewed> deliveries{};
  std::optional<Stopped> stopped{};
  std::optional<std::string> timeline{};  // Of the run's requests, as of its latest attempt.
};

struct DriverOptions {
  std::size_t threads = 1;
  std::shared_ptr<Threads> pool{};
  int max_supersteps = 100;
  std::shared_ptr<CheckpointStore> store{};
  std::shared_ptr<Clock> clock{};
  std::atomic<std::size_t>* calls = nullptr;
  bool retry_failed = true;  // Retries deliveries that were recorded as failed.
  bool revive = false;       // Continues executors' runs whatever ended them.
  WorkflowObserver on_event{};
  Json known_parts{};  // The parts the run continued with before; null: the workflow's.
  std::vector<Resource> resources{};
  bool restored = false;  // Earlier answers do not count.
  std::shared_ptr<Budget> budget{};
  const std::map<std::string, Reconcile>* reconciliations = nullptr;
  std::vector<std::atomic<int>>* at_work = nullptr;  // By node: which delivery, or 0.
  const Halt* halt = nullptr;
};

// The policy of the outer run for a driver that ended without a result, which `driven` describes.
// Rolls back at most `max_rollbacks` times.
[[nodiscard]] FailurePolicy outer_policy(Driven& driven, int max_rollbacks);
// The options that identify a workflow's run, for starting, continuing and branching.
[[nodiscard]] AgentOptions outer_options(std::string workflow,
                                         std::shared_ptr<CheckpointStore> store);

// Why an executor is not tried again within the run's time.
inline constexpr std::string_view no_time_for_another =
    "the workflow's deadline leaves no time for another attempt";

class Driver {
 public:
  Driver(const WorkflowBody& body, const Policies& policies, const Json& inputs, Attempt& attempt,
         const DriverOptions& options);

  // The outputs' places: [path, occurrence, index] each. Errors: to be returned by the callable.
  [[nodiscard]] Result<Json> run(Driven& driven);

 private:
  enum class Status : std::uint8_t { done, parked, failed, not_begun };
  struct Ended {
    Delivery delivery{};
    Status status = Status::done;
    Finished finished{};
    std::vector<Asked> asked{};
    std::optional<Error> error{};
    std::exception_ptr thrown{};
    bool reused = false;
    bool patched = false;                      // It has changed a plan.
    bool told = false;                         // Observers have heard of it.
    std::optional<RecoveryAction> rollback{};  // Of the whole run, as decided by its policy.
    bool decides = false;                      // Its policy has asked for a decision.
    bool too_late = false;                     // The run's deadline kept it from something.
    std::optional<Error> unsaved{};            // Why its hook returned nothing to store.
  };
  // Decisions that an executor's policy has asked for, about one delivery.
  struct Decided {
    int number = 0;                    // That were made.
    std::optional<Decision> newest{};  // Of these.
    bool lapsed = false;               // An earlier go has failed because nobody made it.
    std::optional<Asked> open{};
  };
  struct Kept {
    std::unique_ptr<Instance> instance{};
    Json saved{};  // The hook's last result.
    // Finished deliveries by key, withheld until the hook succeeds: stored without its state, they
    // would count as done although the executor has forgotten them.
    Json withheld = Json::object();
  };

  [[nodiscard]] Result<void> load(Driven& driven);
  [[nodiscard]] Result<void> load_answers();
  [[nodiscard]] Result<bool> settle_request(Asked& asked);
  [[nodiscard]] Result<bool> go_on_without_answers();
  [[nodiscard]] std::vector<Asked> asked() const;
  void compare_resources();
  void note_parts();
  [[nodiscard]] Result<void> migrate(const Delivery& next);
  [[nodiscard]] Result<void> take_migrated(const Delivery& after, const Json& migrated);
  [[nodiscard]] Result<void> drive();
  [[nodiscard]] Result<bool> replay(const Delivery& delivery);
  [[nodiscard]] bool still_true(const Delivery& delivery, const Finished& finished) const;
  [[nodiscard]] std::string known_to(std::size_t node) const;
  [[nodiscard]] bool knows_the_same(std::size_t node, const Finished& finished) const;
  [[nodiscard]] Result<void> route_again(const Delivery& delivery, Finished& finished) const;
  [[nodiscard]] Result<void> tell_new_ones(const Delivery& delivery, Finished& finished);
  [[nodiscard]] Result<Finished> replaced(const Delivery& delivery, Message message) const;
  [[nodiscard]] Result<Finished> fallen_back(const Delivery& delivery, const Json& value) const;
  void take_instead(Ended& ended);
  void note(const Ended& ended, Ran how);
  void tell(const Ended& ended, Ran how) const;
  [[nodiscard]] Error failed_tasks() const;
  void begin(Delivery delivery);
  void perform(Ended& ended);
  [[nodiscard]] bool gave_up(const Ended& ended) const;
  void call_once(Ended& ended, Attempt& inner);
  void call_under_policy(Ended& ended);
  [[nodiscard]] std::string ways_out(std::size_t node) const;
  [[nodiscard]] Json own_result(const Ended& ended) const;
  [[nodiscard]] bool is_result(const Delivery& delivery, const Json& left) const;
  void take_result(Ended& ended, bool called, Result<Json> done);
  [[nodiscard]] std::string outdated(const Delivery& delivery) const;
  [[nodiscard]] Json executor_task(const Delivery& delivery) const;
  [[nodiscard]] FailurePolicy for_the_workflow(const ExecutorOptions& own, Ended& ended);
  [[nodiscard]] bool comes_too_late(const FailurePolicy& own, const FailureContext& failure,
                                    RecoveryAction action) const;
  void ask_for_decision(Ended& ended, const RecoveryAction& wanted, const std::string& failure);
  [[nodiscard]] Decided decided_so_far(const Delivery& delivery) const;
  [[nodiscard]] bool take_decision(Ended& ended, const Decided& so_far) const;
  // All that has ended so far. Once that fails nothing begins any more, and the run ends.
  [[nodiscard]] Result<void> store();
  void store_ended(Ended& ended);
  [[nodiscard]] Json stored_form(const Ended& ended, Shrunk shrunk) const;
  void store_finished(const Ended& ended);
  [[nodiscard]] bool store_asked(const Ended& ended);
  void ask_hook(Ended& ended, const Instance& instance);
  void store_withheld();
  void superstep_ended(int superstep);
  [[nodiscard]] bool take_helm();
  void steer();
  [[nodiscard]] Result<void> begin_ready();
  // Whether ended deliveries may wait for others and be stored together.
  [[nodiscard]] bool gathers() const;
  [[nodiscard]] bool is_awaited(const std::vector<Ended>& ended) const;
  [[nodiscard]] Result<void> collect();
  [[nodiscard]] Result<void> settle(Ended ended);
  [[nodiscard]] Result<Instance*> instance_of(std::size_t node);
  [[nodiscard]] Error first_failure(Driven& driven);
  [[nodiscard]] bool is_late();
  [[nodiscard]] bool may_begin();
  [[nodiscard]] bool halted() const noexcept;
  [[nodiscard]] Stopped how_halted() const;
  [[nodiscard]] Error stopped(Driven& driven);
  void note_stopped(Driven& driven, Stopped how);
  [[nodiscard]] Result<bool> end_superstep();
  void drop_unreached();
  void note_rollback(const Driven& driven);
  void note_timeline(Driven& driven);
  void note_verify();
  void looked_at(std::size_t stored);
  [[nodiscard]] bool go_on_within_budget();
  [[nodiscard]] Error budget_spent(Driven& driven);
  [[nodiscard]] Error deadline_passed(Driven& driven);
  [[nodiscard]] Error left_over(Driven& driven, StopKind how, Failure failure);
  [[nodiscard]] Error waiting();
  [[nodiscard]] Error at_limit();
  void note_joins();
  [[nodiscard]] Json result(Driven& driven);

  const WorkflowBody& body_;
  const Plan& plan_;
  const Json& inputs_;
  Attempt& attempt_;
  DriverOptions options_;
  State before_{};  // The state at the start of the attempt.
  std::string timeline_{};
  int rollbacks_ = 0;  // Of the whole run so far.
  Answers answers_{};
  KnownRequests requests_{};
  Parts parts_{};
  Values values_;
  mutable ReadDigests digests_{};
  Scheduler scheduler_;
  const Policies& policies_;
  const std::stop_token stop_;
  const std::optional<TimePoint> deadline_;
  const bool stores_soon_;  // Records reach the store without being waited for.
  Checkpointer checkpoints_;
  Surroundings around_;
  std::vector<Kept> kept_;
  std::map<std::size_t, Json> migrated_{};  // By node: its migrated private state.
  std::vector<Emitted> outputs_{};
  std::vector<Ended> parked_{};
  std::vector<Ended> failed_{};
  std::vector<Delivery> not_begun_{};        // Left unstarted because the run is ending.
  std::vector<std::string> failed_tasks_{};  // That were recorded as failed, with why.
  std::vector<Viewed> views_{};
  std::vector<std::size_t> called_{};  // In this superstep.
  // Nothing more may start: the budget is spent, the deadline has passed, or the store has failed.
  std::atomic<bool> spent_{false};
  std::atomic<bool> late_{false};
  std::atomic<bool> unstored_{false};
  bool verify_ = false;       // Some of what is stored may be outdated.
  bool retrying_ = false;     // … because something failed, and that is stored.
  std::size_t doubtful_ = 0;  // Deliveries stored before that have not been looked at since.
  // Only the thread at the helm sees what follows: the driver's, or one that ended a delivery while
  // no other was at the helm. Deliveries that end meanwhile are left to it, so nobody waits.
  Result<void> steered_ = outcome::success();
  std::exception_ptr thrown_{};  // By steer().
  std::mutex mutex_{};
  bool at_helm_ = true;               // Somebody is; under mutex_, like the next two.
  bool gathers_ = false;              // The driver will settle everything.
  std::vector<Ended> ended_{};        // Not settled yet.
  std::shared_ptr<Clock> lending_{};  // Of executors: uses work_, which outlives all calls of it.
  Work work_;                         // Last: its jobs see all of the above.
};

}  // namespace triage::inline v0_1::workflow::detail
