// SPDX-License-Identifier: MIT
#include "triage/policies/rate_limiter.hpp"

#include "keyed_states.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>
#include <limits>

namespace triage::inline v0_1 {

namespace detail {

// Microseconds: a rate of some thousand calls a second has intervals below a millisecond.
struct ArrivalTime {
  std::int64_t theoretical = std::numeric_limits<std::int64_t>::min();  // Of the next call.
  std::int64_t blocked_until = std::numeric_limits<std::int64_t>::min();

  [[nodiscard]] Json to_json() const {
    return {{"theoretical", theoretical}, {"blocked_until", blocked_until}};
  }
  [[nodiscard]] static ArrivalTime from_json(const Json& json) {
    const ArrivalTime none;
    return {.theoretical = stored_number(json, "theoretical", none.theoretical),
            .blocked_until = stored_number(json, "blocked_until", none.blocked_until)};
  }
};

}  // namespace detail

namespace {

using std::chrono::microseconds;

// A wait beyond this is as good as for ever; keeps the sums below from overflowing.
constexpr Duration longest = std::chrono::hours(24 * 365 * 100);

std::int64_t instant(const GateRequest& request, bool shared) {
  if (shared) return microseconds(request.wall.time_since_epoch()).count();
  return std::chrono::duration_cast<microseconds>(request.now.time_since_epoch()).count();
}

std::int64_t rounded_up(Duration duration) {
  return std::chrono::ceil<microseconds>(std::clamp(duration, Duration::zero(), longest)).count();
}

}  // namespace

Result<std::shared_ptr<RateLimiter>> RateLimiter::create(RateLimiterOptions options) {
  const auto refuse = [](std::string_view option, const std::string& value,
                         std::string_view allowed) {
    return detail::wrong_option("rate_limiter", option, value, allowed);
  };
  if (options.permits < 1) return refuse("permits", std::to_string(options.permits), "1 or more");
  if (options.period < std::chrono::milliseconds(1)) {
    return refuse("period", format_duration(options.period), "1ms or more");
  }
  if (options.burst < 1 || options.burst > 1'000'000) {
    return refuse("burst", std::to_string(options.burst), "1 to 1000000");
  }
  if (options.max_wait < Duration::zero()) {
    return refuse("max_wait", format_duration(options.max_wait), "0s or more");
  }
  return outcome::success(std::shared_ptr<RateLimiter>(new RateLimiter(std::move(options))));
}

RateLimiter::RateLimiter(RateLimiterOptions options)
    : options_(std::move(options)),
      arrivals_(std::make_unique<detail::KeyedStates<detail::ArrivalTime>>(
          options_.shared, detail::own_space(detail::OwnSpace::limiters))) {}

RateLimiter::~RateLimiter() = default;

GateAnswer RateLimiter::enter(const GateRequest& request) noexcept {
  const std::int64_t now = instant(request, arrivals_->shared());
  const std::int64_t interval =
      std::max<std::int64_t>(1, rounded_up(options_.period) / options_.permits);
  const std::int64_t tolerance = interval * (options_.burst - 1);
  const std::int64_t wait =
      arrivals_->update(detail::gate_key(request), [&](detail::ArrivalTime& arrival) {
        if (arrival.blocked_until > now) return arrival.blocked_until - now;
        const std::int64_t due = std::max(arrival.theoretical, now);
        if (due - now > tolerance) return due - now - tolerance;
        arrival.theoretical = due + interval;
        return std::int64_t{0};
      });
  if (wait == 0) return {};
  const Duration longer = microseconds(wait);
  if (request.waited + longer <= options_.max_wait) {
    return {.kind = GateAnswer::Kind::wait, .wait = longer};
  }
  return {.kind = GateAnswer::Kind::refuse,
          .wait = longer,
          .reason = "rate_limited",
          .message = "the rate limiter of " + detail::gate_subject(request) +
                     " has no permit for " + format_duration(longer) + ", longer than max_wait " +
                     format_duration(options_.max_wait)};
}

void RateLimiter::leave(const GateRequest& request, std::uint64_t /*ticket*/,
                        const GateOutcome* outcome) noexcept {
  if (outcome == nullptr || outcome->succeeded || !outcome->retry_after) return;
  const std::int64_t until =
      instant(request, arrivals_->shared()) + rounded_up(*outcome->retry_after);
  arrivals_->update(detail::gate_key(request), [&](detail::ArrivalTime& arrival) {
    arrival.blocked_until = std::max(arrival.blocked_until, until);
    return true;
  });
}

}  // namespace triage::inline v0_1
