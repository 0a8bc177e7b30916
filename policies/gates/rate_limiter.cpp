// SPDX-License-Identifier: MIT
#include "triage/policies/rate_limiter.hpp"

#include "rate_limiter_machine.hpp"
#include "triage/detail/saturate.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace triage::inline v0_1 {
namespace {

std::int64_t monotonic(const GateRequest& request) {
  return request.now.time_since_epoch().count();
}

std::int64_t wall(const GateRequest& request) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  const std::int64_t since = request.wall.time_since_epoch().count();
  return std::clamp(since, -most, most) * 1'000'000;
}

}  // namespace

Result<std::shared_ptr<RateLimiter>> RateLimiter::create(RateLimiterOptions options) {
  detail::OptionMistakes mistakes("rate_limiter");
  if (options.permits < 1) mistakes.refuse("permits", std::to_string(options.permits), "1 or more");
  if (options.period < std::chrono::milliseconds(1)) {
    mistakes.refuse("period", format_duration(options.period), "1ms or more");
  }
  if (options.burst < 1 || options.burst > 1'000'000) {
    mistakes.refuse("burst", std::to_string(options.burst), "1 to 1000000");
  }
  if (options.max_wait < Duration::zero()) {
    mistakes.refuse("max_wait", format_duration(options.max_wait), "0s or more");
  }
  TRIAGE_TRYV(mistakes.result());
  return outcome::success(std::shared_ptr<RateLimiter>(new RateLimiter(std::move(options))));
}

RateLimiter::RateLimiter(RateLimiterOptions options)
    : options_(std::move(options)),
      arrivals_(std::make_unique<Arrivals>(nullptr, std::string_view())),
      shared_(options_.shared ? std::make_unique<Arrivals>(
                                    options_.shared, detail::own_space(detail::OwnSpace::limiters))
                              : nullptr) {}

RateLimiter::~RateLimiter() = default;

// The steady clock cannot be set, so each process keeps to the rate; together they do as far as
// their wall clocks agree.
GateAnswer RateLimiter::enter(const GateRequest& request) noexcept {
  std::uint64_t ticket = 0;
  std::int64_t wait = arrivals_->update(request, monotonic(request), [&](detail::ArrivalTime& own) {
    const std::int64_t longer = own.enter(detail::Rate(options_, false), monotonic(request));
    if (longer == 0) ticket = own.admitted = ++tickets_;
    return longer;
  });
  if (wait == 0 && shared_) wait = enter_shared(request, ticket);
  if (wait == 0) return {.ticket = ticket};
  const Duration longer(wait);
  if (Duration(detail::saturating_add(request.waited.count(), wait)) <= options_.max_wait) {
    return {.kind = GateAnswer::Kind::wait, .wait = longer};
  }
  return {.kind = GateAnswer::Kind::refuse,
          .wait = longer,
          .reason = "rate_limited",
          .message = "the rate limiter of " + detail::gate_subject(request) +
                     " has no permit for " + format_duration(longer) + ", longer than max_wait " +
                     format_duration(options_.max_wait)};
}

std::int64_t RateLimiter::enter_shared(const GateRequest& request, std::uint64_t ticket) {
  std::int64_t theoretical = 0;
  const std::int64_t wait = shared_->update(request, wall(request), [&](detail::ArrivalTime& all) {
    const std::int64_t longer = all.enter(detail::Rate(options_, true), wall(request));
    theoretical = all.theoretical;
    return longer;
  });
  arrivals_->update(request, monotonic(request), [&](detail::ArrivalTime& own) {
    if (own.admitted == ticket)
      own.elsewhere = wait == 0 ? theoretical : detail::ArrivalTime::never;
    return true;
  });
  if (wait > 0) withdraw(request, ticket);
  return wait;
}

// Only the newest start can be withdrawn: later ones kept their distance from it, and without it
// would be too close to the one before.
void RateLimiter::withdraw(const GateRequest& request, std::uint64_t ticket) noexcept {
  std::int64_t elsewhere = detail::ArrivalTime::never;
  arrivals_->update(request, monotonic(request), [&](detail::ArrivalTime& own) {
    if (own.admitted != ticket) return false;
    own.admitted = 0;
    elsewhere = std::exchange(own.elsewhere, detail::ArrivalTime::never);
    own.withdraw(detail::Rate(options_, false));
    return true;
  });
  if (!shared_ || elsewhere == detail::ArrivalTime::never) return;
  shared_->update(request, wall(request), [&](detail::ArrivalTime& all) {
    if (all.theoretical != elsewhere) return false;
    all.withdraw(detail::Rate(options_, true));
    return true;
  });
}

void RateLimiter::leave(const GateRequest& request, std::uint64_t /*ticket*/,
                        const GateOutcome* outcome) noexcept {
  if (outcome == nullptr || outcome->succeeded || !outcome->retry_after) return;
  const auto block = [&](Arrivals& arrivals, std::int64_t now) {
    const std::int64_t wanted = std::max<std::int64_t>(outcome->retry_after->count(), 0);
    const std::int64_t until = detail::saturating_add(now, wanted);
    arrivals.update(request, now, [&](detail::ArrivalTime& arrival) {
      arrival.block(now, until);
      return true;
    });
  };
  block(*arrivals_, monotonic(request));
  if (shared_) block(*shared_, wall(request));
}

}  // namespace triage::inline v0_1
