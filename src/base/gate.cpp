// SPDX-License-Identifier: MIT
#include "triage/gate.hpp"

#include <utility>

namespace triage::inline v0_1 {

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  give_back(nullptr);
  passed_ = std::exchange(other.passed_, {});
  clock_ = std::move(other.clock_);
  tool_ = std::move(other.tool_);
  endpoint_ = std::move(other.endpoint_);
  after_reason_ = std::move(other.after_reason_);
  after_ = other.after_;
  retry_ = other.retry_;
  entered_ = other.entered_;
  return *this;
}

void Permit::report(GateOutcome outcome) {
  if (passed_.empty()) return;
  outcome.took = clock_->now() - entered_;
  outcome.retry = retry_;
  outcome.after = after_;
  outcome.after_reason = after_reason_;
  give_back(&outcome);
}

void Permit::give_back(const GateOutcome* outcome) {
  if (passed_.empty()) return;
  const GateRequest request = request_now();
  for (auto gate = passed_.rbegin(); gate != passed_.rend(); ++gate) {
    gate->first->leave(request, gate->second, outcome);
  }
  passed_.clear();
}

void Permit::withdraw() {
  if (passed_.empty()) return;
  const GateRequest request = request_now();
  for (auto gate = passed_.rbegin(); gate != passed_.rend(); ++gate) {
    gate->first->withdraw(request, gate->second);
  }
  passed_.clear();
}

GateRequest Permit::request_now() const {
  return {.tool = tool_,
          .endpoint = endpoint_,
          .retry = retry_,
          .after = after_,
          .after_reason = after_reason_,
          .now = clock_->now(),
          .wall = clock_->wall_now()};
}

GateKeeper::GateKeeper(std::vector<std::shared_ptr<Gate>> gates, std::shared_ptr<Clock> clock)
    : gates_(std::move(gates)), clock_(clock ? std::move(clock) : real_clock()) {}

GateAnswer GateKeeper::enter(GateRequest request, Permit& permit) const {
  permit = Permit();
  if (gates_.empty()) return {};
  request.now = clock_->now();
  request.wall = clock_->wall_now();
  Permit passing;
  passing.clock_ = clock_;
  passing.tool_ = request.tool;
  passing.endpoint_ = request.endpoint;
  passing.after_ = request.after;
  passing.after_reason_ = request.after_reason;
  passing.retry_ = request.retry;
  passing.entered_ = request.now;
  passing.passed_.reserve(gates_.size());
  for (const std::shared_ptr<Gate>& gate : gates_) {
    GateAnswer answer = gate->enter(request);
    if (answer.kind != GateAnswer::Kind::pass) {
      passing.withdraw();
      return answer;
    }
    passing.passed_.emplace_back(gate, answer.ticket);
  }
  permit = std::move(passing);
  return {};
}

}  // namespace triage::inline v0_1
