// SPDX-License-Identifier: MIT
#include "triage/gate.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1 {

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  gates_ = std::move(other.gates_);
  passed_ = std::exchange(other.passed_, 0);
  tickets_ = other.tickets_;
  more_tickets_ = std::move(other.more_tickets_);
  tool_ = std::move(other.tool_);
  endpoint_ = std::move(other.endpoint_);
  after_reason_ = std::move(other.after_reason_);
  after_ = other.after_;
  retry_ = other.retry_;
  entered_ = other.entered_;
  return *this;
}

void Permit::report(GateOutcome outcome) {
  if (passed_ > 0) report(outcome, gates_->clock->now());
}

void Permit::report(GateOutcome outcome, TimePoint now) {
  if (passed_ == 0) return;
  outcome.took = now - entered_;
  outcome.retry = retry_;
  outcome.after = after_;
  outcome.after_reason = after_reason_;
  leave(&outcome, now);
}

void Permit::leave(const GateOutcome* outcome, TimePoint now) {
  const GateRequest request = request_at(now);
  for (; passed_ > 0; --passed_) {
    gates_->gates[passed_ - 1]->leave(request, ticket(passed_ - 1), outcome);
  }
}

void Permit::withdraw() {
  if (passed_ == 0) return;
  const GateRequest request = request_at(gates_->clock->now());
  for (; passed_ > 0; --passed_) {
    gates_->gates[passed_ - 1]->withdraw(request, ticket(passed_ - 1));
  }
}

GateRequest Permit::request_at(TimePoint now) const {
  GateRequest request{.tool = tool_,
                      .endpoint = endpoint_,
                      .retry = retry_,
                      .after = after_,
                      .after_reason = after_reason_,
                      .now = now};
  if (gates_->needs_wall_time) request.wall = gates_->clock->wall_now();
  return request;
}

GateKeeper::GateKeeper(std::vector<std::shared_ptr<Gate>> gates, std::shared_ptr<Clock> clock) {
  if (gates.empty()) return;
  const bool wall = std::any_of(gates.begin(), gates.end(),
                                [](const auto& gate) { return gate && gate->needs_wall_time(); });
  gates_ = std::make_shared<const detail::GateList>(
      detail::GateList{std::move(gates), clock ? std::move(clock) : real_clock(), wall});
}

GateAnswer GateKeeper::enter(GateRequest request, Permit& permit) const {
  permit.give_back();
  if (empty()) return {};
  return enter(request, permit, gates_->clock->now());
}

GateAnswer GateKeeper::enter(GateRequest request, Permit& permit, TimePoint now) const {
  permit.give_back();
  if (empty()) return {};
  request.now = now;
  if (gates_->needs_wall_time) request.wall = gates_->clock->wall_now();
  permit.gates_ = gates_;
  permit.tool_ = request.tool;
  if (permit.endpoint_ != request.endpoint) permit.endpoint_ = request.endpoint;
  permit.after_ = request.after;
  if (permit.after_reason_ != request.after_reason) permit.after_reason_ = request.after_reason;
  permit.retry_ = request.retry;
  permit.entered_ = request.now;
  const auto& gates = gates_->gates;
  if (gates.size() > Permit::few) permit.more_tickets_.resize(gates.size() - Permit::few);
  for (const std::shared_ptr<Gate>& gate : gates) {
    GateAnswer answer = gate->enter(request);
    if (answer.kind != GateAnswer::Kind::pass) {
      answer.wait = std::max(answer.wait, Duration::zero());  // It may be a user's gate.
      permit.withdraw();
      return answer;
    }
    permit.ticket(permit.passed_) = answer.ticket;
    ++permit.passed_;
  }
  return {};
}

}  // namespace triage::inline v0_1
