// SPDX-License-Identifier: MIT
#include "describe.hpp"

#include "triage/json.hpp"

#include <array>
#include <charconv>

namespace triage::inline v0_1::detail {

std::string quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "\"" + printable(escaped) + "\"";
}

std::string shortest(double number) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), end};
}

RecoveryAction exhausted(std::string_view strategy, const FailureContext& context,
                         std::string_view limit, int value) {
  return RecoveryAction::escalate(std::string(strategy) + " is exhausted for " +
                                  std::string(to_string(context.type())) + ": " +
                                  std::string(limit) + " (" + std::to_string(value) + ") reached");
}

}  // namespace triage::inline v0_1::detail
