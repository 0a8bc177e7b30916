// SPDX-License-Identifier: MIT
#include "triage/policies/bulkhead.hpp"

#include "keyed_states.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>

namespace triage::inline v0_1 {

Result<std::shared_ptr<Bulkhead>> Bulkhead::create(BulkheadOptions options) {
  detail::OptionMistakes mistakes("bulkhead");
  if (options.max_concurrent < 1) {
    mistakes.refuse("max_concurrent", std::to_string(options.max_concurrent), "1 or more");
  }
  if (options.max_wait < Duration::zero()) {
    mistakes.refuse("max_wait", format_duration(options.max_wait), "0s or more");
  }
  if (options.poll < std::chrono::milliseconds(1)) {
    mistakes.refuse("poll", format_duration(options.poll), "1ms or more");
  }
  TRIAGE_TRYV(mistakes.result());
  return outcome::success(std::shared_ptr<Bulkhead>(new Bulkhead(options)));
}

GateAnswer Bulkhead::enter(const GateRequest& request) noexcept {
  const std::scoped_lock lock(mutex_);
  int& running = running_[detail::gate_key(request)];
  if (running < options_.max_concurrent) {
    ++running;
    return {};
  }
  if (request.waited < options_.max_wait) {
    return {.kind = GateAnswer::Kind::wait,
            .wait = std::min(options_.poll, options_.max_wait - request.waited)};
  }
  return {.kind = GateAnswer::Kind::refuse,
          .reason = "bulkhead_full",
          .message = "the bulkhead of " + detail::gate_subject(request) +
                     " is full: " + std::to_string(running) + " run at once, allowed are " +
                     std::to_string(options_.max_concurrent)};
}

void Bulkhead::leave(const GateRequest& request, std::uint64_t /*ticket*/,
                     const GateOutcome* /*outcome*/) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto running = running_.find(detail::gate_key(request));
  if (running != running_.end() && --running->second <= 0) running_.erase(running);
}

}  // namespace triage::inline v0_1
