// SPDX-License-Identifier: MIT
#include "triage/workflow/run.hpp"
#include "run_body.hpp"

#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

const Json null_value{};

}  // namespace

const Json& WorkflowResult::value() const {
  return outputs.empty() ? null_value : outputs.back().value;
}

WorkflowRun::WorkflowRun(Workflow workflow, WorkflowRunOptions options)
    : body_(std::make_unique<Body>(std::move(workflow), std::move(options))) {}
WorkflowRun::~WorkflowRun() = default;
WorkflowRun::WorkflowRun(WorkflowRun&&) noexcept = default;
WorkflowRun& WorkflowRun::operator=(WorkflowRun&&) noexcept = default;

Result<WorkflowResult> WorkflowRun::run(const Json& inputs) { return body_->run(inputs); }
Result<WorkflowResult> WorkflowRun::resume() { return body_->go_on(nullptr); }
Result<WorkflowResult> WorkflowRun::start_or_resume(const Json& inputs) {
  return body_->begin_or_go_on(inputs);
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

Result<void> WorkflowRun::pause() { return body_->halt({.how = StopKind::paused}); }
Result<void> WorkflowRun::abort(std::string why) {
  return body_->halt({.how = StopKind::aborted, .why = std::move(why)});
}
Result<std::optional<Stopped>> WorkflowRun::stopped() const { return body_->stopped(); }

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
Result<std::optional<Json>> WorkflowRun::answered(std::string_view request) const {
  return body_->answered(request);
}
Result<Json> WorkflowRun::state() const { return body_->state(); }
Result<std::vector<DeliveryView>> WorkflowRun::deliveries() const { return body_->deliveries(); }
Result<std::vector<WorkflowCheckpoint>> WorkflowRun::checkpoints() const {
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
