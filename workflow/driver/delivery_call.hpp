// SPDX-License-Identifier: MIT
#pragma once
// One call of a handler for one delivery: gathers what it sends, reads and writes.

#include "call.hpp"
#include "call_time.hpp"
#include "definition/checkpointer.hpp"
#include "definition/halt.hpp"
#include "records/finished.hpp"
#include "requests.hpp"
#include "triage/detail/cancel_token.hpp"
#include "triage/failure.hpp"
#include "triage/policy.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

class Work;

// What all deliveries of a run share. Answers do not change while handlers run.
struct Surroundings {
  const WorkflowBody& body;
  const Json& inputs;
  Attempt& attempt;
  Clock& clock;
  Values& values;
  const Answers& answers;
  Checkpointer& checkpoints;
  std::shared_ptr<CheckpointStore> store{};
  const std::vector<Resource>* resources = nullptr;
  bool stored = false;  // There is a store, so reads are recorded.
  bool refuses_effects = false;
  std::string branch{};  // This run, if it is a branch with edits; else empty.
  Json rolled_back{};    // The attempt since the run was rolled back as a whole, or restored.
  const std::map<std::string, Reconcile>* reconciliations = nullptr;
  Work* work = nullptr;
  State before{};  // The run's at the start of the attempt.
  const KnownRequests* requests = nullptr;
  ReadDigests* digests = nullptr;
  const Halt* halt = nullptr;            // Null if nobody can ask for one.
  std::shared_ptr<Clock> given_clock{};  // The same, to sleep by, and for runs below this one.
};

// Errors: Errc::invalid_argument, naming the resource.
[[nodiscard]] Result<void> check_resources(const std::vector<Resource>& resources);

// Whether something could not begin because of a deadline.
[[nodiscard]] bool is_for_a_deadline(const Error& error);

// For runs of a single attempt.
[[nodiscard]] FailurePolicy fail_at_once();
// The id of a nested run for this piece of work, the same in all processes.
[[nodiscard]] RunId inner_run_id(const RunId& run, const std::string& what);

class DeliveryCall final : public Call {
 public:
  DeliveryCall(const Surroundings& around, const Delivery& delivery, Attempt& inner);

  // Calls the executor. Errors: those it ended with. Exceptions of the handler propagate, except
  // AttemptStopped and RequestPending.
  [[nodiscard]] Result<void> perform(Instance& executor);
  // After perform() succeeded or the call was parked.
  [[nodiscard]] Finished& finished() noexcept { return finished_; }
  [[nodiscard]] bool parked() const noexcept { return parked_; }
  [[nodiscard]] const std::vector<Asked>& asked() const noexcept { return asked_; }
  [[nodiscard]] bool patched() const noexcept { return patched_; }
  // Whether the run's deadline has kept it from what it wanted to begin.
  [[nodiscard]] bool is_too_late(const Error& error) const;

  [[nodiscard]] const std::string& executor() const noexcept override { return node_.path; }
  [[nodiscard]] int occurrence() const noexcept override { return delivery_.occurrence; }
  [[nodiscard]] int superstep() const noexcept override { return delivery_.superstep; }
  void send(Message message, std::optional<std::string_view> target) override;
  void output(Message message) override;
  [[nodiscard]] bool has_edges() const noexcept override { return !node_.edges.empty(); }
  [[nodiscard]] JsonPtr input(std::string_view key) override;
  [[nodiscard]] JsonPtr read(const std::string& scope, std::string_view key) override;
  void write(const std::string& scope, std::string_view key, Json value) override;
  [[nodiscard]] std::string private_scope() const override;
  [[nodiscard]] std::string shared_scope(std::string_view name) const override;
  [[nodiscard]] Result<Reply> request(std::string_view port, const std::string& type,
                                      const Json& payload, const RequestOptions& options) override;
  [[nodiscard]] Attempt& attempt() const noexcept override { return around_.attempt; }
  [[nodiscard]] Attempt& inner_attempt() const noexcept override { return inner_; }
  [[nodiscard]] std::optional<TimePoint> deadline() const override {
    return triage::detail::earlier(inner_.deadline(), time_.ends());
  }
  [[nodiscard]] std::optional<TimePoint> lasts_until() const override {
    return triage::detail::earlier(inner_.deadline(), time_.lasts_until());
  }
  [[nodiscard]] std::stop_token stop_token() override { return time_.token(cancelled()); }
  [[nodiscard]] Error fail(Failure failure) override { return Error(std::move(failure)); }
  void stick(Error error) override;
  void stepped(bool tool, bool model) override;
  [[nodiscard]] WallTime wall_now() const override { return around_.clock.wall_now(); }
  [[nodiscard]] std::optional<Resource> resource(std::string_view name) const override;
  void active() override { time_.active(); }
  [[nodiscard]] std::shared_ptr<CheckpointStore> store() const override { return around_.store; }
  [[nodiscard]] RunId nested_run_id(const Json& task) const override;
  void effect_begins(std::string_view key) override;
  void effect_ends() noexcept override;
  [[nodiscard]] std::optional<Error> out_of_time() override;
  [[nodiscard]] Result<Json> act_on(const ResourceAct& act) override;
  [[nodiscard]] bool refuses_effects() const override { return around_.refuses_effects; }
  void plan_patched() override;
  void park() override { parked_ = true; }

 private:
  friend class ResourceAction;  // In resource_effect.cpp.
  [[nodiscard]] Result<void> invoke(Instance& executor);
  [[nodiscard]] Result<void> rest(Duration& look);  // A little, until others have made way.
  [[nodiscard]] Error waited_enough();
  void note_read(std::string_view scope, std::string_view key, const JsonPtr& value);
  // Triggered when somebody wants the run to end.
  [[nodiscard]] std::stop_token cancelled() const { return triage::detail::cancel_token(inner_); }
  void add_sent(const std::vector<Exit>& exits, Message message,
                std::optional<std::string_view> target);

  const Surroundings& around_;
  const Delivery& delivery_;
  const PlanNode& node_;
  Attempt& inner_;
  CallTime time_;
  Finished finished_{};
  std::set<std::pair<std::string, std::string>> has_read_{};  // Scopes and keys of finished_.reads.
  // What the call has written, by scope and key; several values only if they are to be combined.
  std::map<std::pair<std::string, std::string>, std::vector<JsonPtr>> own_{};
  std::vector<Asked> asked_{};
  std::map<std::string, int, std::less<>> requests_{};  // Number of requests by port.
  std::vector<std::string> effects_{};  // That the handler's thread is inside of, by key.
  const std::thread::id thread_ = std::this_thread::get_id();  // The handler's.
  std::optional<Error> sticky_{};
  bool parked_ = false;
  bool patched_ = false;
  mutable std::mutex mutex_{};  // For members that the handler's own threads may call.
};

}  // namespace triage::inline v0_1::workflow::detail
