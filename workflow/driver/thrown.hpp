// SPDX-License-Identifier: MIT
#pragma once
// What a handler has thrown, as an error that a name can be put in front of.

#include "triage/attempt.hpp"

#include <exception>

namespace triage::inline v0_1::workflow::detail {

// With the exception's text, type, code and causes as evidence. Throws AttemptStopped if that was
// thrown.
[[nodiscard]] Error error_of(const std::exception_ptr& thrown, Attempt& attempt);

}  // namespace triage::inline v0_1::workflow::detail
