// SPDX-License-Identifier: MIT
#pragma once
// Regular expressions of schemas and contracts, matched by RE2 in linear time. Private.

#include "triage/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace triage::inline v0_1::detail {

// Understands ECMA-262's \uXXXX and (?<name>…). Errors: Errc::invalid_argument with RE2's message,
// also for look-around and back-references, which RE2 lacks.
[[nodiscard]] Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern,
                                                                      bool ignore_case = false);
[[nodiscard]] bool found_in(const re2::RE2& pattern, std::string_view text);

}  // namespace triage::inline v0_1::detail
