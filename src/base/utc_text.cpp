// SPDX-License-Identifier: MIT
#include "triage/detail/utc_text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace triage::inline v0_1::detail {

std::string utc_text(std::chrono::sys_seconds time, const char* form) {
  const auto seconds = static_cast<std::time_t>(time.time_since_epoch().count());
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

std::string utc_text(WallTime time, const char* form) {
  return utc_text(std::chrono::floor<std::chrono::seconds>(time), form);
}

std::string utc_text_ms(WallTime time, const char* form) {
  const auto rest = time - std::chrono::floor<std::chrono::seconds>(time);
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), ".%03d", static_cast<int>(rest.count()));
  return utc_text(time, form) + digits.data();
}

}  // namespace triage::inline v0_1::detail
