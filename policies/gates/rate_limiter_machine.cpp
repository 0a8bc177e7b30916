// SPDX-License-Identifier: MIT
#include "rate_limiter_machine.hpp"

#include "triage/detail/saturate.hpp"

#include <algorithm>
#include <chrono>

namespace triage::inline v0_1::detail {
namespace {

// A longer period is practically for ever; keeps the sums below from overflowing.
constexpr Duration longest = std::chrono::hours(24 * 365 * 50);

std::int64_t rounded_up(std::int64_t amount, std::int64_t by) {
  return amount / by + (amount % by == 0 ? 0 : 1);
}

}  // namespace

Rate::Rate(const RateLimiterOptions& options, bool shared)
    : period(std::min(options.period, longest).count() + (shared ? 1'000'000 : 0)),
      permits(options.permits),
      interval(rounded_up(period, permits)),
      tolerance(interval * (std::min<std::int64_t>(options.burst, permits) - 1)),
      bursts(tolerance > 0) {}

std::int64_t ArrivalTime::enter(const Rate& rate, std::int64_t now) {
  doubt_the_future(rate, now);
  if (blocked_until > now) return saturating_subtract(blocked_until, now);
  const std::int64_t due = std::max(theoretical, now);
  const std::int64_t early = saturating_subtract(due - now, rate.tolerance);
  const std::int64_t wait = std::max(early, rate.bursts ? wait_for_window(rate, now) : 0);
  if (wait > 0) return wait;
  theoretical = saturating_add(due, rate.interval);
  note(rate, now);
  return 0;
}

// Other processes' clocks may differ or be set. A time further ahead than any start can be was
// written by a wrong clock, or before this one was set back. It is ignored, because it would keep
// everything out until then.
void ArrivalTime::doubt_the_future(const Rate& rate, std::int64_t now) {
  const std::int64_t skewed = saturating_add(now, rate.period);
  if (theoretical > saturating_add(skewed, rate.tolerance + rate.interval)) theoretical = never;
  std::erase_if(starts, [&](const Starts& some) { return some.last > skewed; });
  if (blocked_until <= now) return;
  if (blocked_at == never) blocked_at = now;  // Written by a version without this member.
  if (blocked_at <= skewed) return;
  // Keeps the length that the other side asked for, starting now.
  blocked_until = saturating_add(now, saturating_subtract(blocked_until, blocked_at));
  blocked_at = now;
}

std::int64_t ArrivalTime::wait_for_window(const Rate& rate, std::int64_t now) {
  const std::int64_t begin = saturating_subtract(now, rate.period);
  std::erase_if(starts, [&](const Starts& some) { return some.last <= begin; });
  std::int64_t count = 0;
  for (const Starts& some : starts) count += some.count;
  for (const Starts& some : starts) {
    if (count < rate.permits) return 0;
    count -= some.count;
    if (count < rate.permits) return some.last - begin;
  }
  return 0;
}

void ArrivalTime::note(const Rate& rate, std::int64_t now) {
  busy_until = std::max(theoretical, saturating_add(now, rate.period));
  if (!rate.bursts) return;
  const std::int64_t width = rate.permits <= most_starts ? 1 : rounded_up(rate.period, most_starts);
  // Keeps the order even if another process's clock is slightly ahead.
  const std::int64_t at = starts.empty() ? now : std::max(now, starts.back().last);
  if (!starts.empty() && at - starts.back().first < width) {
    starts.back().last = at;
    ++starts.back().count;
  } else {
    starts.push_back({.first = at, .last = at, .count = 1});
  }
}

void ArrivalTime::withdraw(const Rate& rate) {
  theoretical = saturating_subtract(theoretical, rate.interval);
  if (starts.empty()) return;
  if (--starts.back().count == 0) starts.pop_back();
}

void ArrivalTime::block(std::int64_t now, std::int64_t until) {
  if (until <= std::max(blocked_until, now)) return;
  blocked_until = until;
  blocked_at = now;
  busy_until = std::max(busy_until, until);
}

// --- As JSON, for the key space. The older members are microseconds.

Json ArrivalTime::to_json() const {
  constexpr std::int64_t thousand = 1'000;
  Json json{{"theoretical", theoretical / thousand},
            {"theoretical_ns", theoretical % thousand},
            {"blocked_until", rounded_up(blocked_until, thousand)}};
  if (blocked_at != never) json["blocked_at"] = blocked_at / thousand;
  if (starts.empty()) return json;
  Json all = Json::array();
  for (const Starts& some : starts) all.push_back({some.first, some.last, some.count});
  json["starts"] = std::move(all);
  return json;
}

namespace {

std::int64_t nanoseconds(const Json& json, const char* key) {
  const auto found = stored_number<std::int64_t>(json, key, ArrivalTime::never);
  std::int64_t scaled = 0;
  if (!__builtin_mul_overflow(found, std::int64_t{1'000}, &scaled)) return scaled;
  return found < 0 ? ArrivalTime::never : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

ArrivalTime ArrivalTime::from_json(const Json& json) {
  ArrivalTime read;
  const auto rest = std::clamp<std::int64_t>(stored_number(json, "theoretical_ns", 0), -999, 999);
  read.theoretical = saturating_add(nanoseconds(json, "theoretical"), rest);
  read.blocked_until = nanoseconds(json, "blocked_until");
  read.blocked_at = nanoseconds(json, "blocked_at");
  read.busy_until = std::max(read.theoretical, read.blocked_until);
  const auto starts = json.find("starts");
  if (starts == json.end() || !starts->is_array()) return read;
  for (const Json& entry : *starts) {
    const bool whole = entry.is_array() && entry.size() == 3 &&
                       std::all_of(entry.begin(), entry.end(),
                                   [](const Json& number) { return number.is_number_integer(); });
    if (!whole || read.starts.size() > 2 * most_starts) continue;
    const Starts some{.first = entry[0].get<std::int64_t>(),
                      .last = entry[1].get<std::int64_t>(),
                      .count = entry[2].get<std::int64_t>()};
    const bool sane = some.count > 0 && some.count <= std::numeric_limits<int>::max() &&
                      some.first <= some.last &&
                      (read.starts.empty() || read.starts.back().last <= some.first);
    if (sane) read.starts.push_back(some);
  }
  return read;
}

}  // namespace triage::inline v0_1::detail
