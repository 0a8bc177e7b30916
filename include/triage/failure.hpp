// SPDX-License-Identifier: MIT
#pragma once
// How an attempt went wrong, as reported: the input of a classification.

#include "triage/clock.hpp"
#include "triage/taxonomy.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// One exception of a chain thrown with std::throw_with_nested.
struct Cause {
  std::string exception_type{};
  std::string text{};
  std::error_code code{};
};

// All fields are optional; each one set is evidence.
struct Failure {
  std::string text{};            // As printed; any bytes, any length.
  std::string exception_type{};  // Demangled C++ name, or the foreign language's.
  std::optional<int> http_status{};
  std::optional<int> json_rpc_code{};
  std::optional<int> grpc_status{};
  std::error_code code{};
  std::vector<std::pair<std::string, std::string>> headers{};  // Names in any case.
  std::optional<Duration> retry_after{};  // If the caller has already computed it.
  std::vector<Cause> causes{};            // Outermost first.
  std::optional<FailureType> type{};      // Set it if known: no classifier is asked.
  std::string reason{};                   // Goes with `type`.
};

}  // namespace triage::inline v0_1
