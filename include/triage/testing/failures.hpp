// SPDX-License-Identifier: MIT
#pragma once
// Realistic failures for scripts and tests. They carry evidence, from which a classifier must find
// the type; only of() states it.

#include "triage/failure.hpp"
#include "triage/step.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::testing::failures {

// "HTTP 503 Service Unavailable", with the status as a field. status: 100 to 599.
[[nodiscard]] Failure http(int status, std::string text = {});
// HTTP 429, with a Retry-After header in seconds (rounded up) if a time is given.
[[nodiscard]] Failure rate_limited(std::optional<Duration> retry_after = {});
[[nodiscard]] Failure overloaded();        // HTTP 529.
[[nodiscard]] Failure connection_reset();  // std::errc::connection_reset
[[nodiscard]] Failure timeout();           // std::errc::timed_out
[[nodiscard]] Failure wrong_tool(std::string_view tool);
[[nodiscard]] Failure schema_mismatch(std::string_view field = "id");
[[nodiscard]] Failure context_overflow(std::uint64_t limit = 8192, std::uint64_t asked = 9000);
[[nodiscard]] Failure access_denied();    // HTTP 401.
[[nodiscard]] Failure quota_exhausted();  // HTTP 402.
[[nodiscard]] Failure refused();          // Content policy.
// Without any evidence.
[[nodiscard]] Failure mysterious();
// States its type, so no classifier is asked.
[[nodiscard]] Failure of(FailureType type, std::string reason = {}, std::string text = {});

// The step that failed with it: `action`, the failure's codes, and its text as the error.
[[nodiscard]] Step failed_step(const Failure& failure, std::string action = "act",
                               std::optional<std::string> tool = {});

}  // namespace triage::inline v0_1::testing::failures
