// SPDX-License-Identifier: MIT
#pragma once
// Options that are lengths of time.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// The value of an option such as --timeout. Errors: Errc::invalid_argument, which names the option,
// the value and what is allowed.
[[nodiscard]] Result<Duration> duration_argument(const std::string& option,
                                                 const std::string& value);

}  // namespace triage::inline v0_1::cli
