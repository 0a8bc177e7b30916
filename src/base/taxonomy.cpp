// SPDX-License-Identifier: MIT
#include "triage/taxonomy.hpp"

namespace triage::inline v0_1 {

std::string_view to_string(FailureType type) noexcept {
  switch (type) {
    case FailureType::wrong_tool_called: return "wrong_tool_called";
    case FailureType::constraint_ignored: return "constraint_ignored";
    case FailureType::loop_detected: return "loop_detected";
    case FailureType::plan_incomplete: return "plan_incomplete";
    case FailureType::schema_mismatch: return "schema_mismatch";
    case FailureType::context_overflow: return "context_overflow";
    case FailureType::external_fault: return "external_fault";
    case FailureType::timeout: return "timeout";
    case FailureType::unknown: return "unknown";
    case FailureType::access_denied: return "access_denied";
    case FailureType::quota_exhausted: return "quota_exhausted";
    case FailureType::refused: return "refused";
    case FailureType::crashed: return "crashed";
  }
  return "unknown";
}

std::optional<FailureType> parse_failure_type(std::string_view name) noexcept {
  for (const FailureType type : all_failure_types) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace triage::inline v0_1
