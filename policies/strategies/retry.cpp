// SPDX-License-Identifier: MIT
#include "triage/policies/retry.hpp"

#include "describe.hpp"

namespace triage::inline v0_1 {

Strategy retry(RetryOptions options) {
  auto builder = detail::StrategyBuilder("retry")
                     .attempts("max_attempts", options.max_attempts, 1)
                     .delay("delay", options.delay)
                     .text("hint", options.hint);
  const int max_attempts = options.max_attempts;
  return builder.build(
      [options = std::move(options)](const FailureContext& context) {
        if (context.occurrence() >= options.max_attempts) {
          return detail::exhausted("retry", context, "max_attempts", options.max_attempts);
        }
        return RecoveryAction::retry(options.hint, options.delay);
      },
      max_attempts);
}

}  // namespace triage::inline v0_1
