// SPDX-License-Identifier: MIT
#pragma once
// What numeric codes say about a failure. Private.

#include "triage/taxonomy.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>

namespace triage::inline v0_1::detail {

struct CodeMeaning {
  FailureType type = FailureType::unknown;
  std::string_view reason{};
  double confidence = 0.0;  // Below 0.5 the code narrows the choice but decides nothing alone.
};

// From this confidence on a code is unambiguous, and decides where words do not.
inline constexpr double precise_code = 0.85;

class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<FailureType> types) noexcept {
    for (const FailureType type : types) bits_ |= bit(type);
  }
  [[nodiscard]] constexpr bool has(FailureType type) const noexcept {
    return (bits_ & bit(type)) != 0;
  }

 private:
  [[nodiscard]] static constexpr std::uint32_t bit(FailureType type) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(type);
  }

  std::uint32_t bits_ = 0;
};

// A row of the table in docs/classification.md.
struct CodeRule {
  CodeMeaning meaning{};  // Type unknown with confidence 0: the code alone determines no type.
  TypeSet words{};        // The types that a text may claim instead.
  // If not empty, a text may claim external_fault only if a known phrase gives this reason.
  std::string_view fault_only_as{};
};

// Empty for a code that is not in the table: then words may claim any type.
[[nodiscard]] std::optional<CodeRule> http_rule(int status) noexcept;
[[nodiscard]] std::optional<CodeRule> json_rpc_rule(int code) noexcept;
[[nodiscard]] std::optional<CodeRule> grpc_rule(int status) noexcept;
[[nodiscard]] std::optional<CodeRule> error_code_rule(const std::error_code& code) noexcept;

// Empty for a code that does not determine a type.
[[nodiscard]] std::optional<CodeMeaning> error_code_meaning(const std::error_code& code) noexcept;

}  // namespace triage::inline v0_1::detail
