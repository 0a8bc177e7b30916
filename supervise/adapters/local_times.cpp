// SPDX-License-Identifier: MIT
#include "supervise/adapters/local_times.hpp"

#include <re2/re2.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace triage::inline v0_1::supervise {
namespace {

// A time of twelve hours; a zone by its name; a zone that says enough.
constexpr const char* pattern =
    R"((?i)(\b\d{1,2}(?::\d\d){0,2} ?(?:[ap]m\b|[ap]\.m\.)))"
    R"((?:( ?\((?:[a-z_]+/)+[a-z_]+\))|)"
    R"((,? ?\(?(?-i:(?:UTC|GMT|[PMCE][SD]T|CES?T|JST)\b|Z\b|[+-]\d\d:?\d\d\b)))?)";

std::string zone_at(WallTime now) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return "";
  const long minutes = std::labs(parts.tm_gmtoff) / 60;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), " (UTC%c%02ld:%02ld)", parts.tm_gmtoff < 0 ? '-' : '+',
                minutes / 60, minutes % 60);
  return text.data();
}

}  // namespace

std::string with_zones(const std::string& text, WallTime now) {
  static const re2::RE2 times(pattern);
  const re2::StringPiece all(text);
  std::string zoned;
  std::size_t from = 0;
  std::array<re2::StringPiece, 4> found{};
  while (times.Match(all, from, text.size(), re2::RE2::UNANCHORED, found.data(), found.size())) {
    const std::size_t begin = static_cast<std::size_t>(found[0].data() - text.data());
    zoned.append(text, from, begin - from);
    if (found[3].data() != nullptr) {
      zoned.append(found[0].data(), found[0].size());
    } else {
      zoned.append(found[1].data(), found[1].size());
      zoned += zone_at(now);
    }
    from = begin + found[0].size();
  }
  return zoned.append(text, from);
}

}  // namespace triage::inline v0_1::supervise
