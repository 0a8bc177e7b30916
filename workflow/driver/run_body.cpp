// SPDX-License-Identifier: MIT
#include "run_body.hpp"
#include "base/run_catching.hpp"
#include "records/compatible.hpp"
#include "records/stored_keys.hpp"
#include "storage/run_keys.hpp"

#include <algorithm>

namespace triage::inline v0_1::workflow {
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

WorkflowRun::Body::Body(Workflow workflow, WorkflowRunOptions options)
    : workflow_(std::move(workflow)),
      options_(std::move(options)),
      id_(options_.run_id),
      at_work_(workflow_.body()->plan().nodes.size()),
      agent_([this](const Json& task, Attempt& attempt) { return drive(task, attempt); },
             detail::outer_policy(driven_, workflow_.body()->spec().options.max_rollbacks),
             agent_options(workflow_, options_)) {
  if (!options_.clock) options_.clock = real_clock();
}

Result<void> WorkflowRun::Body::check() {
  if (options_.threads < 1 || options_.threads > 256) {
    return Error{Errc::invalid_argument,
                 "threads is " + std::to_string(options_.threads) + "; allowed are 1 to 256"};
  }
  if (options_.max_supersteps) {
    TRIAGE_TRYV(detail::check_max_supersteps(*options_.max_supersteps));
  }
  TRIAGE_TRYV(detail::check_resources(options_.resources));
  const detail::WorkflowBody& body = *workflow_.body();
  TRIAGE_TRY(policies,
             detail::policies_of(body.plan(), body.spec().options.schedule, options_.checkpoints));
  policies_ = std::move(policies);
  return outcome::success();
}

bool WorkflowRun::Body::is_stored() const {
  if (!options_.store || id_.empty()) return false;
  const auto known = triage::detail::run_catching([&] { return options_.store->run(id_); });
  return known || known.error().code != Errc::not_found;
}

Result<bool> WorkflowRun::Body::keeps_failure() const {
  if (options_.retry_failed) return outcome::success(false);
  TRIAGE_TRY(info, triage::detail::run_catching([&] { return options_.store->run(id_); }));
  return outcome::success(info.status == RunStatus::escalated);
}

bool WorkflowRun::Body::ran_out(const Error& error) {
  const auto& failure = error.failure();
  if (!failure) return false;
  const std::string& reason = failure->classification.reason;
  return reason == detail::limit_reason || reason == detail::budget_reason ||
         reason == detail::deadline_reason;
}

Result<WorkflowResult> WorkflowRun::Body::begin_branch(const Json* inputs) {
  if (inputs != nullptr) {
    TRIAGE_TRY(origin, parse_checkpoint_id(*begin_at_));
    TRIAGE_TRYV(detail::check_stored_inputs(*options_.store, origin.run, *inputs));
  }
  auto done = fork(*begin_at_, {});
  // Else it has not begun. Another run may have its id, which must not be taken for it.
  const bool has_begun = done || looked_ ||
                         (is_stored() && (done.error().code != Errc::conflict ||
                                          detail::is_branch_of(*options_.store, id_, *begin_at_)));
  if (has_begun) begin_at_.reset();
  return done;
}

// Ask the store whether the run exists: an executor may also have failed with not_found.
Result<WorkflowResult> WorkflowRun::Body::begin_or_go_on(const Json& inputs) {
  if (begin_at_ || is_stored()) return go_on(&inputs);
  auto done = run(inputs);
  // Somebody else may have begun it at the same moment.
  const bool was_begun = !done && done.error().code == Errc::conflict && !looked_ && is_stored();
  return was_begun ? go_on(&inputs) : std::move(done);
}

Result<Json> WorkflowRun::Body::drive(const Json& task, Attempt& attempt) {
  {
    const std::scoped_lock lock(mutex_);
    if (id_.empty()) id_ = attempt.run_id();
    looked_ = true;
  }
  driven_ = {
      .begun = true, .rollbacks = driven_.rollbacks, .timeline = std::move(driven_.timeline)};
  const detail::WorkflowBody& body = *workflow_.body();
  const Json& started_with = task.at("parts");
  const State state = attempt.state();
  // Another process may have continued with other parts.
  auto fits = detail::check_library_keys(state);
  if (fits && !options_.force) fits = detail::check_parts(id_, started_with, state, workflow_);
  if (!fits) {
    driven_.error = fits.error();
    return std::move(fits).error();
  }
  const Json& parts = detail::known_parts(started_with, state);
  Json known = detail::same_parts(parts, workflow_) ? Json() : detail::parts_object(parts);
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
       .revive = options_.revive,
       .on_event = options_.on_event,
       .known_parts = std::move(known),
       .resources = options_.resources,
       .restored = std::exchange(restored_, false),
       .budget = options_.budget,
       .reconciliations = &options_.reconciliations,
       .at_work = &at_work_,
       .halt = &halt_});
  Result<Json> done = driver.run(driven_);
  const bool paused = driven_.stopped && driven_.stopped->how == StopKind::paused;
  // Else something has failed, which is recorded as such.
  if (paused && !done && done.error().code == Errc::cancelled) stop_.request_stop();
  return done;
}

Result<void> WorkflowRun::Body::halt(Stopped how) {
  constexpr std::size_t longest = 4'096;
  if (how.why.size() > longest || !check_json(how.why, "a reason")) {
    return Error{Errc::invalid_argument, "the reason of an abort has " +
                                             std::to_string(how.why.size()) +
                                             " bytes; allowed are at most 4,096 of UTF-8"};
  }
  const bool aborted = how.how == StopKind::aborted;
  std::stop_source stop{std::nostopstate};
  std::stop_source waits{std::nostopstate};
  {
    const std::scoped_lock lock(mutex_);
    if (!going_) return Error{Errc::not_found, "the run is not under way in this object"};
    waits = halt_.ask(std::move(how));
    stop = stop_;
  }
  if (aborted) stop.request_stop();
  waits.request_stop();
  return outcome::success();
}

Result<std::optional<Stopped>> WorkflowRun::Body::stopped() const {
  {
    const std::scoped_lock lock(mutex_);
    if (attempt_ != nullptr) return outcome::success(std::optional<Stopped>());
    if (looked_ || !options_.store || id_.empty()) return outcome::success(shown_.stopped);
  }
  const RunId run = id();
  auto latest = triage::detail::run_catching([&] { return options_.store->latest(run); });
  if (!latest) {
    if (latest.error().code == Errc::not_found) return outcome::success(std::optional<Stopped>());
    return std::move(latest).error();
  }
  const State& state = latest.value().state;
  TRIAGE_TRYV(detail::check_library_keys(state));
  return outcome::success(detail::stopped_from(state.find(detail::stopped_key)));
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
  auto done = agent_.resume_run(
      id_, {.from = std::string(checkpoint), .run = run_options(), .revive = options_.revive});
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
  TRIAGE_TRY(task, detail::stored_task(*options_.store, parent.run));
  TRIAGE_TRY(changed, detail::branch_edits(workflow_.executors(), parent.run, task.at("inputs"),
                                           state, edits));
  driven_ = {};
  return finish(agent_.fork(checkpoint, {.label = edits.label,
                                         .state = std::move(changed),
                                         .who = edits.author,
                                         .run = run_options()}));
}

Result<std::vector<WorkflowCheckpoint>> WorkflowRun::Body::checkpoints() const {
  const RunId run = id();
  if (!options_.store || run.empty()) return Error{Errc::not_found, "the run has no store"};
  const auto& own = workflow_.body()->spec().options.checkpoints;
  const auto policy = options_.checkpoints ? options_.checkpoints : own;
  return detail::stored_checkpoints(*options_.store, run, policy ? policy->max_checkpoints : 0);
}

Result<CheckpointId> WorkflowRun::Body::checkpoint(std::string_view label) {
  TRIAGE_TRYV(triage::detail::check_own_prefix(label, "a checkpoint's label"));
  // Not locked: the store takes its time, and others may ask the run something meanwhile.
  struct Use {
    explicit Use(Body& of) : body(of) {
      const std::scoped_lock lock(body.mutex_);
      attempt = body.attempt_;
      if (attempt != nullptr) ++body.users_;
    }
    ~Use() {
      const std::scoped_lock lock(body.mutex_);
      if (attempt != nullptr && --body.users_ == 0) body.unused_.notify_all();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Body& body;
    Attempt* attempt = nullptr;
  };
  const Use use(*this);
  if (use.attempt == nullptr || !options_.store) {
    return Error{Errc::not_found, use.attempt == nullptr
                                      ? "the run is not under way in this object"
                                      : "there is no store to keep a checkpoint in"};
  }
  return use.attempt->checkpoint(label);
}

Result<WorkflowResult> WorkflowRun::Body::finish(Result<Json> done) {
  {
    const std::scoped_lock lock(mutex_);
    going_ = false;
    if (!driven_.begun) {  // What it showed before may be outdated; the store is not.
      shown_ = {};
      looked_ = false;
    }
  }
  if (!done) {
    Error error = std::move(done).error();
    const auto& failure = error.failure();
    const bool too_late_to_begin =
        !driven_.begun && failure && failure->classification.reason == "deadline";
    if (ran_out(error) || too_late_to_begin) {
      error.code = Errc::exhausted;
    } else if (error.code == Errc::cancelled && driven_.stopped) {
      error.detail = detail::what_stopped(*driven_.stopped);
    } else if (error.code == Errc::escalated && driven_.error) {
      error.code = driven_.error->code;
    }
    return error;
  }
  WorkflowResult result;
  if (driven_.outputs.empty() && !done.value().empty()) {  // It had already finished.
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

Result<void> WorkflowRun::Body::look_for_requests() const {
  const RunId run = id();
  if (!options_.store || run.empty()) {
    const std::scoped_lock lock(mutex_);
    pending_.asked = shown_.asked;
    return outcome::success();
  }
  TRIAGE_TRY(info, triage::detail::run_catching([&] { return options_.store->run(run); }));
  {
    const std::scoped_lock lock(mutex_);
    if (pending_.last == info.last && pending_.updated == info.updated) return outcome::success();
  }
  TRIAGE_TRY(pending, detail::pending_in(*options_.store, run));
  const std::scoped_lock lock(mutex_);
  pending_ = {info.last, info.updated, std::move(pending)};
  return outcome::success();
}

Result<std::vector<detail::Asked>> WorkflowRun::Body::asked() const {
  TRIAGE_TRYV(look_for_requests());
  const std::scoped_lock lock(mutex_);
  return outcome::success(pending_.asked);
}

// One of them only: there may be thousands, which are answered one after another.
Result<detail::Asked> WorkflowRun::Body::asked(std::string_view request) const {
  TRIAGE_TRYV(look_for_requests());
  {
    const std::scoped_lock lock(mutex_);
    const auto found =
        std::lower_bound(pending_.asked.begin(), pending_.asked.end(), request,
                         [](const detail::Asked& one, std::string_view id) { return one.id < id; });
    if (found != pending_.asked.end() && found->id == request) return outcome::success(*found);
  }
  return Error{Errc::not_found,
               "no request \"" + printable(request) + "\" waits in run \"" + id() + "\""};
}

Result<void> WorkflowRun::Body::answer(std::string_view request, const Json& answer) {
  TRIAGE_TRY(one, asked(request));
  if (detail::is_expired(one, *options_.clock)) {
    return Error{Errc::conflict, "request \"" + printable(request) +
                                     "\" has expired: the run goes on without an answer"};
  }
  TRIAGE_TRYV(detail::check_answer(workflow_, one, answer));
  // A second answer is refused even if it is equal: only one may win.
  const std::string nonce =
      std::to_string((options_.random ? options_.random : real_random())->next());
  auto sent = agent_.signal(id(), one.signal,
                            Json{{"value", answer},
                                 {"nonce", nonce},
                                 {"question", detail::question_of(one.type, one.payload)}});
  if (!sent && sent.error().code == Errc::conflict) {
    return Error{Errc::conflict,
                 "request \"" + printable(request) + "\" has been answered before, or has expired"};
  }
  return sent;
}

}  // namespace triage::inline v0_1::workflow
