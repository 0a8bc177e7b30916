// SPDX-License-Identifier: MIT
#pragma once
// Why an attempt can fail: thirteen failure types, distinguished by how to recover from them.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace triage::inline v0_1 {

// The names are stored and used in policy files; they never change. Add at the end only.
enum class FailureType : std::uint8_t {
  wrong_tool_called,   // The requested tool, model or endpoint does not exist.
  constraint_ignored,  // The output breaks an explicit constraint.
  loop_detected,       // The same actions repeat without progress.
  plan_incomplete,     // The agent claims success with subgoals missing.
  schema_mismatch,     // An input or output has the wrong shape.
  context_overflow,    // More context than the model or tool can take.
  // Temporary, and not the agent's fault: overload, rate limit, lost connection.
  external_fault,
  timeout,          // A deadline passed.
  unknown,          // Not enough evidence. Better than a confident wrong answer.
  access_denied,    // Credentials, permission, region. Retrying never helps.
  quota_exhausted,  // Billing, spend limit, dated quota. Retrying never helps.
  refused,          // Content policy. Retrying the same request never helps.
  crashed,          // The agent's process died.
};

inline constexpr std::size_t failure_type_count = 13;
inline constexpr std::array<FailureType, failure_type_count> all_failure_types{
    FailureType::wrong_tool_called,
    FailureType::constraint_ignored,
    FailureType::loop_detected,
    FailureType::plan_incomplete,
    FailureType::schema_mismatch,
    FailureType::context_overflow,
    FailureType::external_fault,
    FailureType::timeout,
    FailureType::unknown,
    FailureType::access_denied,
    FailureType::quota_exhausted,
    FailureType::refused,
    FailureType::crashed};

// "external_fault" and so on.
[[nodiscard]] std::string_view to_string(FailureType type) noexcept;
// The inverse of to_string; empty for any other text.
[[nodiscard]] std::optional<FailureType> parse_failure_type(std::string_view name) noexcept;

}  // namespace triage::inline v0_1
