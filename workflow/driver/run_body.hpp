// SPDX-License-Identifier: MIT
#pragma once
// The implementation of WorkflowRun: a workflow's run on top of an agent's run.

#include "definition/checkpointer.hpp"
#include "driver.hpp"
#include "records/branch.hpp"
#include "records/stored_deliveries.hpp"
#include "stored_run.hpp"
#include "triage/agent.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"
#include "triage/workflow/run.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

// Thread-safety: that of WorkflowRun.
class WorkflowRun::Body {
 public:
  Body(Workflow workflow, WorkflowRunOptions options);

  Result<WorkflowResult> run(const Json& inputs) {
    if (begin_at_) return go_on(&inputs);
    TRIAGE_TRYV(check());
    driven_ = {};
    return finish(agent_.run(task(inputs), run_options()));
  }
  Result<WorkflowResult> go_on(const Json* inputs) {
    if (begin_at_) return begin_branch(inputs);
    TRIAGE_TRYV(check());
    if (!options_.store || id_.empty()) {
      return Error{Errc::not_found, "there is no store, or no run id, to find the run by"};
    }
    driven_ = {};
    TRIAGE_TRYV(detail::check_stored_task(*options_.store, id_, workflow_, inputs, options_.force));
    TRIAGE_TRY(keeps, keeps_failure());
    if (keeps) {
      const Json none;  // What is stored counts.
      auto recorded = agent_.run_or_resume(id_, task(none), {.run = run_options()});
      if (recorded || !ran_out(recorded.error())) return finish(std::move(recorded));
    }
    return finish(agent_.resume_run(id_, {.run = run_options(), .revive = options_.revive}));
  }
  // Begins at another run's checkpoint, with its inputs.
  Result<WorkflowResult> begin_branch(const Json* inputs);
  Result<WorkflowResult> begin_or_go_on(const Json& inputs);
  Result<WorkflowResult> fork(std::string_view checkpoint, const Fork& edits);
  Result<WorkflowResult> restore(std::string_view checkpoint);
  // The first resume() starts a branch there.
  Result<void> begin_at(std::string_view checkpoint);

  Result<void> halt(Stopped how);
  Result<std::optional<Stopped>> stopped() const;

  Result<std::vector<detail::Asked>> asked() const;
  Result<detail::Asked> asked(std::string_view request) const;
  Result<void> answer(std::string_view request, const Json& answer);
  Result<std::optional<Json>> answered(std::string_view request) const {
    const RunId run = id();
    if (!options_.store || run.empty()) return Error{Errc::not_found, "the run has no store"};
    return detail::answer_in(*options_.store, run, request);
  }
  Result<Json> state() const {
    {
      const std::scoped_lock lock(mutex_);
      const bool known = attempt_ == nullptr && !shown_.state.is_null();
      if (known || !options_.store) return outcome::success(shown_.state);
    }
    const RunId run = id();
    if (run.empty()) return Error{Errc::not_found, "the run has not begun"};
    return detail::stored_state(*options_.store, run, workflow_);
  }

  Result<std::vector<DeliveryView>> deliveries() const {
    std::vector<DeliveryView> views;
    {
      const std::scoped_lock lock(mutex_);
      if (looked_ && attempt_ == nullptr) {
        for (const detail::Viewed& one : shown_.deliveries) views.push_back(view_of(one));
        return outcome::success(std::move(views));
      }
    }
    const RunId run = id();
    if (run.empty() || (!options_.store && !under_way())) {
      return Error{Errc::not_found, "the run has not been continued in this process"};
    }
    if (options_.store) {  // It is in progress, or had already finished.
      TRIAGE_TRY(stored, detail::stored_deliveries(*options_.store, run, workflow_));
      for (const auto& one : stored) views.push_back(detail::view_of(workflow_, one));
    }
    for (std::size_t node = 0; node < at_work_.size(); ++node) {
      if (const int occurrence = at_work_[node]; occurrence != 0) {
        views.push_back({.executor = workflow_.body()->plan().nodes[node].path,
                         .occurrence = occurrence,
                         .how = Ran::at_work});
      }
    }
    return outcome::success(std::move(views));
  }
  Result<std::vector<WorkflowCheckpoint>> checkpoints() const;
  Result<CheckpointId> checkpoint(std::string_view label);
  Result<std::vector<WorkflowEvent>> events(Sequence from) const {
    const RunId run = id();
    if (!options_.store || run.empty()) return Error{Errc::not_found, "the run has no store"};
    return workflow::events(*options_.store, run, from);
  }
  // Returns the same object once it is known.
  [[nodiscard]] const RunId& id() const noexcept {
    const std::scoped_lock lock(mutex_);
    return id_;
  }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }

 private:
  Result<void> check();
  [[nodiscard]] bool is_stored() const;  // Or may be: the store does not say.
  // Whether the run has failed, and is not to be retried.
  [[nodiscard]] Result<bool> keeps_failure() const;
  // Whether a run ended because it was not allowed any more: nothing in it has failed.
  [[nodiscard]] static bool ran_out(const Error& error);
  // Brings pending_ up to date, which has what is shown of a run without a store.
  Result<void> look_for_requests() const;
  [[nodiscard]] Json task(const Json& inputs) const {
    return {{"inputs", inputs}, {"parts", workflow_.body()->fingerprint_text()}};
  }
  // Of one go.
  [[nodiscard]] RunOptions run_options() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = std::stop_source();
      halt_.forget();
      going_ = true;
    }
    linked_.emplace(options_.stop_token, [stop = stop_]() mutable { stop.request_stop(); });
    return {.run_id = id_,
            .deadline = options_.deadline,
            .stop_token = stop_.get_token(),
            .auto_checkpoint = false,
            .label = options_.label};
  }
  [[nodiscard]] bool under_way() const {
    const std::scoped_lock lock(mutex_);
    return attempt_ != nullptr;
  }
  Result<Json> drive(const Json& task, Attempt& attempt);
  Result<WorkflowResult> finish(Result<Json> done);
  [[nodiscard]] DeliveryView view_of(const detail::Viewed& one) const {
    DeliveryView view{.executor = workflow_.body()->plan().nodes[one.node].path,
                      .occurrence = one.occurrence,
                      .superstep = one.superstep,
                      .how = one.how};
    for (const detail::JsonPtr& sent : one.sent) view.sent.push_back(*sent);
    return view;
  }

  // While the callable runs, other threads may make checkpoints through its attempt. It waits for
  // them at its end.
  class UnderWay {
   public:
    UnderWay(Body& body, Attempt& attempt) : body_(body) {
      const std::scoped_lock lock(body_.mutex_);
      body_.attempt_ = &attempt;
    }
    ~UnderWay() {
      std::unique_lock lock(body_.mutex_);
      body_.attempt_ = nullptr;
      body_.shown_.state = body_.driven_.state;
      body_.shown_.asked = body_.driven_.asked;
      body_.shown_.stopped = body_.driven_.stopped;
      body_.shown_.deliveries = std::move(body_.driven_.deliveries);
      body_.unused_.wait(lock, [&] { return body_.users_ == 0; });
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    Body& body_;
  };

  Workflow workflow_;
  WorkflowRunOptions options_;
  detail::Policies policies_{};
  bool restored_ = false;  // Until the next call of drive().
  std::optional<std::string> begin_at_{};
  detail::Driven driven_{};  // Of the thread that drives the run.
  mutable std::mutex mutex_{};
  Attempt* attempt_ = nullptr;  // Under mutex_, like the next three; set while one is in progress.
  std::size_t users_ = 0;       // Checkpoints that are being made.
  std::condition_variable unused_{};
  bool going_ = false;      // So is the run, between two attempts, too.
  RunId id_;                // Constant once set.
  detail::Driven shown_{};  // Left behind by the newest pass.
  bool looked_ = false;     // There was one.
  // What was pending when the journal had so many records: people answer one after another. Under
  // mutex_.
  struct Pending {
    Sequence last = 0;
    WallTime updated{};
    std::vector<detail::Asked> asked{};  // By id.
  };
  mutable Pending pending_{};
  std::stop_source stop_{};  // Of this go; changed under mutex_.
  std::optional<std::stop_callback<std::function<void()>>> linked_{};  // From the program's token.
  detail::Halt halt_{};
  std::atomic<std::size_t> calls_{0};
  std::vector<std::atomic<int>> at_work_;  // See DriverOptions.
  TriageAgent<std::function<Result<Json>(const Json&, Attempt&)>> agent_;
};

}  // namespace triage::inline v0_1::workflow
