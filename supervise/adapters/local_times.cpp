// SPDX-License-Identifier: MIT
#include "supervise/adapters/local_times.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace triage::inline v0_1::supervise {
namespace {

// A time of twelve hours; a zone by its name; a zone that says enough.
constexpr const char* pattern =
    R"((?i)(\b\d{1,2}(?::\d\d){0,2} ?(?:[ap]m\b|[ap]\.m\.)))"
    R"((?:( ?\((?:[a-z_]+/)+[a-z_]+\))|)"
    R"((,? ?\(?(?-i:(?:UTC|GMT|[PMCE][SD]T|CES?T|JST)\b|Z\b|[+-]\d\d:?\d\d\b)))?)";

// The day before such a time: a weekday, or a month, a day and perhaps a year.
constexpr const char* day_pattern =
    R"((?i)\b(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*|)"
    R"((jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?)"
    R"((?:,? (\d{4}))?),?(?: at)? $)";
constexpr std::size_t longest_day = 40;

// Which of the names, of three letters each, it is.
int index_in(std::string_view names, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return static_cast<int>(names.find(name) / 3);
}

// The hour that the text names, of the day that it names before it or else of the next such.
std::tm named(std::string_view before, std::string_view time, const std::tm& now) {
  static const re2::RE2 days(day_pattern);
  std::tm then = now;
  const bool afternoon = time.find_first_of("pP") != std::string_view::npos;
  then.tm_hour = std::atoi(std::string(time).c_str()) % 12 + (afternoon ? 12 : 0);
  then.tm_min = then.tm_sec = 0;
  then.tm_isdst = -1;  // Not known yet.
  before.remove_prefix(before.size() - std::min(before.size(), longest_day));
  std::string weekday, month, day, year;
  const re2::StringPiece text(before.data(), before.size());
  if (!re2::RE2::PartialMatch(text, days, &weekday, &month, &day, &year)) {
    then.tm_mday += then.tm_hour < now.tm_hour ? 1 : 0;
  } else if (month.empty()) {
    then.tm_mday += (index_in("sunmontuewedthufrisat", weekday) - now.tm_wday + 7) % 7;
  } else {
    then.tm_mon = index_in("janfebmaraprmayjunjulaugsepoctnovdec", month);
    then.tm_mday = std::atoi(day.c_str());
    if (then.tm_mon < now.tm_mon) ++then.tm_year;
    if (!year.empty()) then.tm_year = std::atoi(year.c_str()) - 1900;
  }
  return then;
}

std::string zone_of(std::string_view before, std::string_view time, WallTime now) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return "";
  if (std::tm then = named(before, time, parts); ::mktime(&then) != -1) parts = then;
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
      zoned +=
          zone_of(std::string_view(text).substr(0, begin), {found[1].data(), found[1].size()}, now);
    }
    from = begin + found[0].size();
  }
  return zoned.append(text, from);
}

}  // namespace triage::inline v0_1::supervise
