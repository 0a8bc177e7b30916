// SPDX-License-Identifier: MIT
#include "triage/policies/circuit_breaker.hpp"

#include "circuit_breaker_machine.hpp"
#include "describe.hpp"
#include "keyed_states.hpp"

#include <algorithm>

namespace triage::inline v0_1 {
namespace {

using std::chrono::milliseconds;

Result<void> check(const BreakerOptions& options) {
  detail::OptionMistakes mistakes("circuit_breaker");
  const auto is_rate = [](double rate) { return rate > 0.0 && rate <= 1.0; };
  if (options.types.empty()) mistakes.refuse("types", "empty", "1 to 13 failure types");
  if (options.window < milliseconds(10)) {
    mistakes.refuse("window", format_duration(options.window), "10ms or more");
  }
  if (options.minimum_calls < 1) {
    mistakes.refuse("minimum_calls", std::to_string(options.minimum_calls), "1 or more");
  }
  if (!is_rate(options.failure_rate)) {
    mistakes.refuse("failure_rate", detail::shortest(options.failure_rate), "above 0, up to 1");
  }
  if (options.slow_call < Duration::zero()) {
    mistakes.refuse("slow_call", format_duration(options.slow_call), "0s or more");
  }
  if (!is_rate(options.slow_rate)) {
    mistakes.refuse("slow_rate", detail::shortest(options.slow_rate), "above 0, up to 1");
  }
  if (options.break_duration < milliseconds(1)) {
    mistakes.refuse("break_duration", format_duration(options.break_duration), "1ms or more");
  }
  if (options.probes < 1 || options.probes > 1'000) {
    mistakes.refuse("probes", std::to_string(options.probes), "1 to 1000");
  }
  if (options.probe_lease < milliseconds(1)) {
    mistakes.refuse("probe_lease", format_duration(options.probe_lease), "1ms or more");
  }
  return mistakes.result();
}

}  // namespace

std::string_view to_string(BreakerState state) noexcept {
  switch (state) {
    case BreakerState::closed: return "closed";
    case BreakerState::open: return "open";
    case BreakerState::half_open: return "half_open";
  }
  return "unknown";
}

Result<std::shared_ptr<CircuitBreaker>> CircuitBreaker::create(BreakerOptions options) {
  if (auto checked = check(options); !checked) return std::move(checked).error();
  return outcome::success(std::shared_ptr<CircuitBreaker>(new CircuitBreaker(std::move(options))));
}

CircuitBreaker::CircuitBreaker(BreakerOptions options)
    : options_(std::move(options)),
      circuits_(std::make_unique<detail::KeyedStates<detail::Circuit>>(
          options_.shared, detail::own_space(detail::OwnSpace::breakers))) {}

CircuitBreaker::~CircuitBreaker() = default;

GateAnswer CircuitBreaker::enter(const GateRequest& request) noexcept {
  const std::int64_t now = detail::gate_time(request, circuits_->shared());
  std::vector<BreakerChange> changes;
  const auto admission = circuits_->update(request, now, [&](detail::Circuit& circuit) {
    changes.clear();
    return circuit.enter(options_, now, request.retry, changes);
  });
  tell(request, changes);
  if (admission.passes) return {.ticket = admission.ticket};
  return {.kind = GateAnswer::Kind::refuse,
          .wait = milliseconds(admission.retry_in),
          .reason = "circuit_open",
          .message = "the circuit of " + detail::gate_subject(request) + " is " +
                     std::string(to_string(admission.state)) +
                     (admission.type == FailureType::unknown
                          ? std::string(", by hand")
                          : " after failures of type " + std::string(to_string(admission.type)))};
}

void CircuitBreaker::leave(const GateRequest& request, std::uint64_t ticket,
                           const GateOutcome* outcome) noexcept {
  const std::int64_t now = detail::gate_time(request, circuits_->shared());
  std::optional<detail::Circuit::Report> report;
  if (outcome != nullptr) {
    report = {.failed = !outcome->succeeded,
              .type = outcome->type,
              .slow = options_.slow_call > Duration::zero() && outcome->took >= options_.slow_call};
  }
  std::vector<BreakerChange> changes;
  circuits_->update(request, now, [&](detail::Circuit& circuit) {
    changes.clear();
    circuit.leave(options_, now, ticket, report, changes);
    return true;
  });
  tell(request, changes);
}

void CircuitBreaker::force(const GateRequest& key, BreakerMode mode) {
  const std::int64_t now = detail::gate_time(key, circuits_->shared());
  circuits_->set(key, now, [&](detail::Circuit& circuit) {
    circuit.force(mode);
    return true;
  });
}

BreakerState CircuitBreaker::state(const GateRequest& key, std::optional<FailureType> type) const {
  const std::int64_t now = detail::gate_time(key, circuits_->shared());
  return circuits_->update(key, now, [&](detail::Circuit& circuit) {
    if (circuit.mode == BreakerMode::forced_open) return BreakerState::open;
    if (circuit.mode == BreakerMode::forced_closed) return BreakerState::closed;
    detail::Circuit seen = circuit;  // A copy, because reading must not change it.
    std::vector<BreakerChange> changes;
    seen.settle(options_, now, changes);
    BreakerState worst = BreakerState::closed;
    for (const auto& [of, track] : seen.tracks) {
      if (type && of != *type) continue;
      if (track.state == BreakerState::open) return BreakerState::open;
      if (track.state == BreakerState::half_open) worst = BreakerState::half_open;
    }
    return worst;
  });
}

void CircuitBreaker::tell(const GateRequest& key,
                          const std::vector<BreakerChange>& changes) const noexcept {
  if (!options_.on_change) return;
  for (BreakerChange change : changes) {
    change.tool = key.tool;
    change.endpoint = key.endpoint;
    try {
      options_.on_change(change);
    } catch (...) {  // A listener must not change what the breaker does.
    }
  }
}

}  // namespace triage::inline v0_1
