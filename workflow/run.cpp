// SPDX-License-Identifier: MIT
#include "triage/workflow/run.hpp"
#include "base/run_catching.hpp"
#include "branch.hpp"
#include "checkpointer.hpp"
#include "compatible.hpp"
#include "driver.hpp"
#include "stored_deliveries.hpp"
#include "stored_run.hpp"
#include "triage/agent.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

using Callable = std::function<Result<Json>(const Json&, Attempt&)>;

const Json null_value{};

}  // namespace

const Json& WorkflowResult::value() const {
  return outputs.empty() ? null_value : outputs.back().value;
}

namespace {

AgentOptions agent_options(const Workflow& workflow, const WorkflowRunOptions& own) {
  AgentOptions options = detail::outer_options(workflow.id(), own.store);
  options.observer = own.observer;
  options.budget = own.budget;
  options.clock = own.clock;
  options.random = own.random;
  options.compensation = own.compensation;
  options.compensations = own.compensations;
  options.reconciliations = own.reconciliations;
  return options;
}

}  // namespace

class WorkflowRun::Body {
 public:
  Body(Workflow workflow, WorkflowRunOptions options)
      : workflow_(std::move(workflow)),
        options_(std::move(options)),
        id_(options_.run_id),
        agent_([this](const Json& task, Attempt& attempt) { return drive(task, attempt); },
               detail::outer_policy(driven_, workflow_.body()->spec().options.max_rollbacks),
               agent_options(workflow_, options_)) {
    if (!options_.clock) options_.clock = real_clock();
  }

  Result<WorkflowResult> run(const Json& inputs) {
    TRIAGE_TRYV(check());
    driven_ = {};
    return finish(agent_.run(task(inputs), run_options()));
  }
  Result<WorkflowResult> go_on(const Json* inputs) {
    if (begin_at_) return fork(*std::exchange(begin_at_, std::nullopt), {});
    TRIAGE_TRYV(check());
    if (!options_.store || id_.empty()) {
      return Error{Errc::not_found, "there is no store, or no run id, to find the run by"};
    }
    driven_ = {};
    TRIAGE_TRYV(detail::check_stored_task(*options_.store, id_, workflow_, inputs, options_.force));
    if (!options_.retry_failed && inputs != nullptr) {
      return finish(agent_.run_or_resume(id_, task(*inputs), {.run = run_options()}));
    }
    return finish(agent_.resume_run(id_, {.run = run_options()}));
  }
  Result<WorkflowResult> fork(std::string_view checkpoint, const Fork& edits);
  Result<WorkflowResult> restore(std::string_view checkpoint);
  // The first resume() begins a branch there.
  Result<void> begin_at(std::string_view checkpoint);

  Result<std::vector<detail::Asked>> asked() const {
    if (!options_.store || id_.empty()) return outcome::success(driven_.asked);
    return detail::pending_in(*options_.store, id_);
  }
  Result<void> answer(std::string_view request, const Json& answer);
  Result<Json> state() const {
    if (!driven_.state.is_null() || !options_.store) return outcome::success(driven_.state);
    if (id_.empty()) return Error{Errc::not_found, "the run has not begun"};
    TRIAGE_TRY(stored, detail::stored_deliveries(*options_.store, id_, workflow_));
    return detail::state_after(workflow_, stored);
  }

  Result<std::vector<DeliveryView>> deliveries() const {
    std::vector<DeliveryView> views;
    if (!looked_ && options_.store && !id_.empty()) {  // Perhaps it had finished before.
      TRIAGE_TRY(stored, detail::stored_deliveries(*options_.store, id_, workflow_));
      for (const auto& one : stored) views.push_back(detail::view_of(workflow_, one));
      return outcome::success(std::move(views));
    }
    if (!looked_) {
      return Error{Errc::not_found, "the run has not been gone on with in this process"};
    }
    for (const detail::Viewed& one : driven_.deliveries) {
      DeliveryView view{.executor = workflow_.body()->plan().nodes[one.node].path,
                        .occurrence = one.occurrence,
                        .superstep = one.superstep,
                        .how = one.how};
      for (const detail::JsonPtr& sent : one.sent) view.sent.push_back(*sent);
      views.push_back(std::move(view));
    }
    return outcome::success(std::move(views));
  }
  Result<std::vector<CheckpointInfo>> checkpoints() const;
  Result<CheckpointId> checkpoint(std::string_view label);
  Result<std::vector<WorkflowEvent>> events(Sequence from) const {
    if (!options_.store || id_.empty()) return Error{Errc::not_found, "the run has no store"};
    return workflow::events(*options_.store, id_, from);
  }
  [[nodiscard]] const RunId& id() const noexcept { return id_; }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }

 private:
  Result<void> check();
  [[nodiscard]] Json task(const Json& inputs) const {
    return {{"inputs", inputs}, {"parts", workflow_.fingerprint()}};
  }
  [[nodiscard]] RunOptions run_options() const {
    return {.run_id = id_,
            .deadline = options_.deadline,
            .stop_token = options_.stop_token,
            .auto_checkpoint = false,
            .label = options_.label};
  }
  Result<Json> drive(const Json& task, Attempt& attempt);
  Result<WorkflowResult> finish(Result<Json> done);

  // While the callable is at work, other threads may make checkpoints through its attempt.
  class UnderWay {
   public:
    UnderWay(Body& body, Attempt& attempt) : body_(body) { set(&attempt); }
    ~UnderWay() { set(nullptr); }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    void set(Attempt* attempt) {
      const std::scoped_lock lock(body_.mutex_);
      body_.attempt_ = attempt;
    }
    Body& body_;
  };

  Workflow workflow_;
  WorkflowRunOptions options_;
  detail::Policies policies_{};
  bool restored_ = false;  // Until the next call of drive().
  std::optional<std::string> begin_at_{};
  std::mutex mutex_{};
  Attempt* attempt_ = nullptr;  // Under mutex_.
  RunId id_;
  detail::Driven driven_{};
  bool looked_ = false;
  std::atomic<std::size_t> calls_{0};
  TriageAgent<Callable> agent_;
};

Result<void> WorkflowRun::Body::check() {
  if (options_.threads < 1 || options_.threads > 256) {
    return Error{Errc::invalid_argument,
                 "threads is " + std::to_string(options_.threads) + "; allowed are 1 to 256"};
  }
  TRIAGE_TRYV(detail::check_resources(options_.resources));
  const detail::WorkflowBody& body = *workflow_.body();
  TRIAGE_TRY(policies,
             detail::policies_of(body.plan(), body.spec().options.schedule, options_.checkpoints));
  policies_ = std::move(policies);
  return outcome::success();
}

Result<Json> WorkflowRun::Body::drive(const Json& task, Attempt& attempt) {
  id_ = attempt.run_id();
  looked_ = true;
  driven_ = {};
  const detail::WorkflowBody& body = *workflow_.body();
  const Json& started_with = task.at("parts");
  const State state = attempt.state();
  // Another process may have gone on with other parts meanwhile.
  if (auto fits = detail::check_parts(id_, started_with, state, workflow_);
      !fits && !options_.force) {
    driven_.error = fits.error();
    return std::move(fits).error();
  }
  Json known = detail::known_parts(started_with, state);
  if (known == Json(workflow_.fingerprint())) known = nullptr;
  const Json inputs = detail::edited_inputs(task.at("inputs"), state);
  const UnderWay under_way(*this, attempt);
  detail::Driver driver(
      body, policies_, inputs, attempt,
      {.threads = options_.threads,
       .pool = options_.pool,
       .max_supersteps = options_.max_supersteps.value_or(body.spec().options.max_supersteps),
       .store = options_.store,
       .clock = options_.clock,
       .calls = &calls_,
       .retry_failed = options_.retry_failed,
       .on_event = options_.on_event,
       .known_parts = std::move(known),
       .resources = options_.resources,
       .restored = std::exchange(restored_, false),
       .budget = options_.budget,
       .reconciliations = &options_.reconciliations});
  return driver.run(driven_);
}

Result<WorkflowResult> WorkflowRun::Body::restore(std::string_view checkpoint) {
  TRIAGE_TRYV(check());
  if (!options_.store || id_.empty()) {
    return Error{Errc::not_found, "there is no store, or no run id, to find the run by"};
  }
  TRIAGE_TRY(place, parse_checkpoint_id(checkpoint));
  if (place.run != id_) {
    return Error{Errc::invalid_argument, "checkpoint \"" + printable(checkpoint) +
                                             "\" is not of run \"" + id_ +
                                             "\"; rehydrate() or fork() begin at another run's"};
  }
  TRIAGE_TRYV(detail::state_to_begin_with(*options_.store, place, workflow_, options_.force));
  driven_ = {};
  restored_ = true;
  auto done = agent_.resume_run(id_, {.from = std::string(checkpoint), .run = run_options()});
  restored_ = false;
  return finish(std::move(done));
}

Result<void> WorkflowRun::Body::begin_at(std::string_view checkpoint) {
  if (!options_.store) return Error{Errc::not_found, "there is no store to read a checkpoint from"};
  TRIAGE_TRY(place, parse_checkpoint_id(checkpoint));
  TRIAGE_TRYV(detail::state_to_begin_with(*options_.store, place, workflow_, options_.force));
  begin_at_ = checkpoint;
  return outcome::success();
}

Result<WorkflowResult> WorkflowRun::Body::fork(std::string_view checkpoint, const Fork& edits) {
  TRIAGE_TRYV(check());
  if (!options_.store) return Error{Errc::not_found, "there is no store to fork in"};
  TRIAGE_TRY(parent, parse_checkpoint_id(checkpoint));
  TRIAGE_TRY(state,
             detail::state_to_begin_with(*options_.store, parent, workflow_, options_.force));
  TRIAGE_TRY(changed, detail::branch_edits(workflow_.executors(), parent.run, state, edits));
  driven_ = {};
  return finish(agent_.fork(checkpoint, {.label = edits.label,
                                         .state = std::move(changed),
                                         .who = edits.author,
                                         .run = run_options()}));
}

Result<std::vector<CheckpointInfo>> WorkflowRun::Body::checkpoints() const {
  if (!options_.store || id_.empty()) return Error{Errc::not_found, "the run has no store"};
  const auto& own = workflow_.body()->spec().options.checkpoints;
  const auto policy = options_.checkpoints ? options_.checkpoints : own;
  return detail::stored_checkpoints(*options_.store, id_, policy ? policy->max_checkpoints : 0);
}

Result<CheckpointId> WorkflowRun::Body::checkpoint(std::string_view label) {
  if (label.rfind("triage/", 0) == 0) {
    return Error{Errc::invalid_argument, "label \"" + printable(label) +
                                             "\" is not allowed: those that begin with "
                                             "\"triage/\" are the library's"};
  }
  const std::scoped_lock lock(mutex_);
  if (attempt_ == nullptr || !options_.store) {
    return Error{Errc::not_found, attempt_ == nullptr
                                      ? "the run is not under way in this object"
                                      : "there is no store to keep a checkpoint in"};
  }
  return attempt_->checkpoint(label);
}

Result<WorkflowResult> WorkflowRun::Body::finish(Result<Json> done) {
  if (!done) {
    Error error = std::move(done).error();
    const auto& failure = error.failure();
    const std::string reason = failure ? failure->classification.reason : std::string();
    if (reason == detail::limit_reason || reason == detail::budget_reason) {
      error.code = Errc::exhausted;
    } else if (error.code == Errc::escalated && driven_.error) {
      error.code = driven_.error->code;
    }
    return error;
  }
  WorkflowResult result;
  if (driven_.outputs.empty() && !done.value().empty()) {  // It had finished before.
    TRIAGE_TRY(outputs, detail::stored_outputs(*options_.store, id_, workflow_, done.value()));
    result.outputs = std::move(outputs);
    return outcome::success(std::move(result));
  }
  for (detail::Emitted& one : driven_.outputs) {
    result.outputs.push_back({workflow_.body()->plan().nodes[one.origin.node].path,
                              one.message.type, one.message.json()});
  }
  return outcome::success(std::move(result));
}

Result<void> WorkflowRun::Body::answer(std::string_view request, const Json& answer) {
  TRIAGE_TRY(pending, asked());
  for (const detail::Asked& one : pending) {
    if (one.id != request) continue;
    if (detail::is_expired(one, *options_.clock)) {
      return Error{Errc::conflict, "request \"" + printable(request) +
                                       "\" has expired: the run goes on without an answer"};
    }
    TRIAGE_TRYV(detail::check_answer(workflow_, one, answer));
    // A second answer is refused even if it is the same: only one of several wins.
    const std::string nonce =
        std::to_string((options_.random ? options_.random : real_random())->next());
    auto sent = agent_.signal(id_, one.signal, Json{{"value", answer}, {"nonce", nonce}});
    if (!sent && sent.error().code == Errc::conflict) {
      return Error{Errc::conflict, "request \"" + printable(request) +
                                       "\" has been answered before, or has expired"};
    }
    return sent;
  }
  return Error{Errc::not_found,
               "no request \"" + printable(request) + "\" waits in run \"" + id_ + "\""};
}

WorkflowRun::WorkflowRun(Workflow workflow, WorkflowRunOptions options)
    : body_(std::make_unique<Body>(std::move(workflow), std::move(options))) {}
WorkflowRun::~WorkflowRun() = default;
WorkflowRun::WorkflowRun(WorkflowRun&&) noexcept = default;
WorkflowRun& WorkflowRun::operator=(WorkflowRun&&) noexcept = default;

Result<WorkflowResult> WorkflowRun::run(const Json& inputs) { return body_->run(inputs); }
Result<WorkflowResult> WorkflowRun::resume() { return body_->go_on(nullptr); }
Result<WorkflowResult> WorkflowRun::start_or_resume(const Json& inputs) {
  auto went_on = body_->go_on(&inputs);
  if (went_on || went_on.error().code != Errc::not_found) return went_on;
  return body_->run(inputs);
}

Result<WorkflowResult> WorkflowRun::restore(std::string_view checkpoint) {
  return body_->restore(checkpoint);
}
Result<WorkflowRun> rehydrate(const Workflow& workflow, std::string_view checkpoint,
                              std::shared_ptr<CheckpointStore> store, WorkflowRunOptions options) {
  options.store = std::move(store);
  WorkflowRun run(workflow, std::move(options));
  TRIAGE_TRYV(run.body_->begin_at(checkpoint));
  return outcome::success(std::move(run));
}

Result<WorkflowResult> WorkflowRun::fork(std::string_view checkpoint, const Fork& edits) {
  return body_->fork(checkpoint, edits);
}

Result<std::vector<PendingRequest>> WorkflowRun::pending_requests() const {
  TRIAGE_TRY(asked, body_->asked());
  std::vector<PendingRequest> pending;
  for (detail::Asked& one : asked) {
    pending.push_back({std::move(one.id), std::move(one.executor), std::move(one.port),
                       std::move(one.payload), one.expires});
  }
  return outcome::success(std::move(pending));
}

Result<void> WorkflowRun::answer(std::string_view request, const Json& answer) {
  return body_->answer(request, answer);
}
Result<Json> WorkflowRun::state() const { return body_->state(); }
Result<std::vector<DeliveryView>> WorkflowRun::deliveries() const { return body_->deliveries(); }
Result<std::vector<CheckpointInfo>> WorkflowRun::checkpoints() const {
  return body_->checkpoints();
}
Result<CheckpointId> WorkflowRun::checkpoint(std::string_view label) {
  return body_->checkpoint(label);
}
std::future<Result<CheckpointId>> WorkflowRun::checkpoint_async(std::string label) {
  return std::async(std::launch::async, [body = body_.get(), label = std::move(label)] {
    return body->checkpoint(label);
  });
}
Result<std::vector<WorkflowEvent>> WorkflowRun::events(Sequence from) const {
  return body_->events(from);
}
std::size_t WorkflowRun::handler_calls() const noexcept { return body_->calls(); }
const RunId& WorkflowRun::id() const noexcept { return body_->id(); }

Result<WorkflowResult> start_or_resume(const Workflow& workflow, RunId id, const Json& inputs,
                                       std::shared_ptr<CheckpointStore> store) {
  return WorkflowRun(workflow, {.run_id = std::move(id), .store = std::move(store)})
      .start_or_resume(inputs);
}

}  // namespace triage::inline v0_1::workflow
