// SPDX-License-Identifier: MIT
#pragma once
// For callables that let what is under way finish after the run's deadline.

#include "triage/attempt.hpp"

#include <stop_token>

namespace triage::inline v0_1::detail {

// Attempt::stop_token() without the end of the run's time: triggered by a stop and by
// AgentOptions::attempt_timeout.
[[nodiscard]] std::stop_token cancel_token(const Attempt& attempt);

}  // namespace triage::inline v0_1::detail
