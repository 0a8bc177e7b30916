// SPDX-License-Identifier: MIT
#include "triage/policies/backoff.hpp"

#include "describe.hpp"

#include <algorithm>
#include <cmath>

namespace triage::inline v0_1 {
namespace {

// Uniform in [0, ceiling) for random in [0, 1); hand-made contexts may hold any number.
Duration drawn_below(Duration ceiling, double random) {
  if (!(random > 0.0)) return Duration::zero();  // Also handles NaN.
  const double drawn = static_cast<double>(ceiling.count()) * random;
  if (drawn >= static_cast<double>(ceiling.count())) return ceiling;
  return Duration(static_cast<Duration::rep>(drawn));
}

RecoveryAction decide(const BackoffOptions& options, const FailureContext& context) {
  const int failure = context.occurrence();
  if (failure >= options.max_attempts) {
    return detail::exhausted("retry_with_backoff", context, "max_attempts", options.max_attempts);
  }
  const Duration ceiling = backoff_ceiling(options, failure);
  Duration wait = options.jitter == Jitter::none ? ceiling : drawn_below(ceiling, context.random);
  if (const auto& named = context.classification.retry_after; named && *named > wait) {
    if (context.remaining && *named > *context.remaining) {
      return RecoveryAction::escalate(
          "retry_with_backoff cannot wait for " + std::string(to_string(context.type())) +
          ": retry_after is " + format_duration(*named) + ", but only " +
          format_duration(std::max(*context.remaining, Duration::zero())) +
          " remain until the deadline");
    }
    wait = *named;
  }
  return RecoveryAction::retry(options.hint, wait);
}

}  // namespace

std::string_view to_string(Jitter jitter) noexcept {
  return jitter == Jitter::none ? "none" : "full";
}

Duration backoff_ceiling(const BackoffOptions& options, int failure) noexcept {
  if (options.base_delay <= Duration::zero()) return Duration::zero();
  // May become infinite at large exponents: it is compared before it is converted.
  const double ceiling = static_cast<double>(options.base_delay.count()) *
                         std::pow(options.multiplier, std::max(failure, 1) - 1);
  if (!(ceiling < static_cast<double>(options.max_delay.count()))) return options.max_delay;
  return Duration(static_cast<Duration::rep>(ceiling));
}

Strategy retry_with_backoff(BackoffOptions options) {
  auto builder =
      detail::StrategyBuilder("retry_with_backoff")
          .attempts("max_attempts", options.max_attempts, 1)
          .delay("base_delay", options.base_delay)
          .delay("max_delay", options.max_delay)
          .option("multiplier", detail::shortest(options.multiplier))
          .require(std::isfinite(options.multiplier) && options.multiplier >= 1.0, "multiplier",
                   detail::shortest(options.multiplier), "a finite number, 1 or more")
          .option("jitter", std::string(to_string(options.jitter)))
          .text("hint", options.hint);
  const int max_attempts = options.max_attempts;
  return builder.build([options = std::move(options)](
                           const FailureContext& context) { return decide(options, context); },
                       max_attempts);
}

}  // namespace triage::inline v0_1
