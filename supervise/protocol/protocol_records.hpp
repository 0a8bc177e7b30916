// SPDX-License-Identifier: MIT
#pragma once
// What one line of the protocol records, read and checked before any of it is recorded.

#include "triage/failure.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/step.hpp"
#include "triage/usage.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

struct LineRecords {
  std::optional<Step> step{};
  std::optional<Json> state{};  // An object.
  std::optional<Usage> usage{};
  std::optional<std::string> label{};
  std::optional<Failure> failure{};

  [[nodiscard]] bool any() const noexcept { return step || state || usage || label || failure; }
};

// All of the line or nothing. Errors: Errc::invalid_argument, with key, value and what is allowed.
[[nodiscard]] Result<LineRecords> records_from_json(const Json& message);

// A step from its JSON fields, or from a text, which is its action. Errors: likewise.
[[nodiscard]] Result<Step> step_from_json(const Json& fields, const std::string& key = "step");

// Whether a line has keys that cannot stand together: a request stands alone. Errors: likewise.
[[nodiscard]] Result<void> check_keys(const Json& message);

// The first whole number of a JSON text that no 64 bits hold, and that a parser therefore takes for
// a floating point number; "" if there is none. O(text).
[[nodiscard]] std::string_view integer_beyond_64_bits(std::string_view json) noexcept;
// Says so.
[[nodiscard]] Error too_large(std::string_view number);

// "KEY is VALUE; allowed is ALLOWED".
[[nodiscard]] Error wrong_value(const std::string& key, const Json& value,
                                std::string_view allowed);

// The answer to a request that is refused.
[[nodiscard]] Json refusal(const Error& error);

}  // namespace triage::inline v0_1::supervise
