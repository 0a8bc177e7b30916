// SPDX-License-Identifier: MIT
#pragma once
// What numeric codes say about a failure. Private.

#include "triage/taxonomy.hpp"

#include <optional>
#include <string_view>
#include <system_error>

namespace triage::inline v0_1::detail {

struct CodeMeaning {
  FailureType type = FailureType::unknown;
  std::string_view reason{};
  double confidence = 0.0;  // Below 0.5 the code narrows the choice, and decides nothing alone.
};

// Each is empty for a code that says nothing about the type of a failure.
[[nodiscard]] std::optional<CodeMeaning> http_meaning(int status) noexcept;
[[nodiscard]] std::optional<CodeMeaning> json_rpc_meaning(int code) noexcept;
[[nodiscard]] std::optional<CodeMeaning> grpc_meaning(int status) noexcept;
[[nodiscard]] std::optional<CodeMeaning> error_code_meaning(const std::error_code& code) noexcept;

}  // namespace triage::inline v0_1::detail
