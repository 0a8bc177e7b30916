// SPDX-License-Identifier: MIT
#pragma once
// How an attempt went wrong, as it was reported: the raw material of a classification.

#include "triage/clock.hpp"
#include "triage/taxonomy.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// One exception of a chain that was thrown with std::throw_with_nested.
struct Cause {
  std::string exception_type{};
  std::string text{};
  std::error_code code{};
};

// Everything may be left out; what is set is evidence.
struct Failure {
  std::string text{};            // As it was printed; any bytes, any length.
  std::string exception_type{};  // Demangled C++ name, or the foreign language's.
  std::optional<int> http_status{};
  std::optional<int> json_rpc_code{};
  std::optional<int> grpc_status{};
  std::error_code code{};
  std::vector<std::pair<std::string, std::string>> headers{};  // Names in any case.
  std::optional<Duration> retry_after{};  // If the caller has already worked it out.
  std::vector<Cause> causes{};            // Outermost first.
  std::optional<FailureType> type{};      // If the caller knows: no classifier is asked.
  std::string reason{};                   // Goes with `type`.
};

}  // namespace triage::inline v0_1
