// SPDX-License-Identifier: MIT
#pragma once
// What a person decides about a failure if an executor's policy says SUSPEND: the request at the
// library's own port, and what its answer means.

#include "requests.hpp"
#include "triage/policy.hpp"
#include "triage/result.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {

// Of the answers at decision_port.
inline constexpr std::string_view decision_type = "decision";

// A person's decision about a failure.
struct Decision {
  bool retries = false;
  Error error;  // Else: how the delivery fails.
};
// The request's payload: the failure, what is asked, and which actions are allowed.
[[nodiscard]] Json decision_payload(const RecoveryAction& wanted, const std::string& failure);
// `answer` is an action, or {"action", "message"}. Errors: Errc::invalid_argument, with what is
// allowed.
[[nodiscard]] Result<void> check_decision(const Asked& asked, const Json& answer);
// What a checked answer means, or that there was none in time.
[[nodiscard]] Decision decision_from(const Asked& asked, const Answer& answer);

}  // namespace triage::inline v0_1::workflow::detail
