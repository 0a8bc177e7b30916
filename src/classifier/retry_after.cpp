// SPDX-License-Identifier: MIT
#include "classifier/retry_after.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace triage::inline v0_1::detail {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Longer waits than a Duration can hold (292 years) become the longest one.
Duration from_seconds(double seconds) {
  constexpr double most = 9.2e18;
  const double nanoseconds = std::round(seconds * 1e9);
  if (!(nanoseconds > 0)) return Duration::zero();
  if (nanoseconds >= most) return Duration::max();
  return Duration(static_cast<std::int64_t>(nanoseconds));
}

// What says directly how long to wait, in the order in which it is believed.
constexpr std::string_view wait_headers[] = {"retry-after", "x-ratelimit-reset-after",
                                             "ratelimit-reset", "x-ratelimit-reset",
                                             "x-rate-limit-reset"};
// When a limit is full again, as OpenAI and Anthropic send it with every answer.
constexpr std::string_view reset_headers[] = {
    "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-input-tokens-reset"};

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit units[] = {
    {"", 1},
    {"s", 1},
    {"sec", 1},
    {"secs", 1},
    {"second", 1},
    {"seconds", 1},
    {"ms", 1e-3},
    {"msec", 1e-3},
    {"millis", 1e-3},
    {"millisecond", 1e-3},
    {"milliseconds", 1e-3},
    {"m", 60},
    {"min", 60},
    {"mins", 60},
    {"minute", 60},
    {"minutes", 60},
    {"h", 3600},
    {"hr", 3600},
    {"hrs", 3600},
    {"hour", 3600},
    {"hours", 3600},
    {"d", 86400},
    {"day", 86400},
    {"days", 86400},
    {"us", 1e-6},
    {"ns", 1e-9},
};

std::optional<double> unit_seconds(std::string_view name) {
  for (const Unit& unit : units) {
    if (equal_ignoring_case(unit.name, name)) return unit.seconds;
  }
  return std::nullopt;
}

// Takes a number off the front of `text`: digits with at most one point.
std::optional<double> take_number(std::string_view& text) {
  std::size_t end = 0;
  bool point = false;
  while (end < text.size() &&
         (is_digit(text[end]) ||
          (text[end] == '.' && !point && end + 1 < text.size() && is_digit(text[end + 1])))) {
    point = point || text[end] == '.';
    ++end;
  }
  double number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + end, number, std::chars_format::fixed);
  if (end == 0 || parsed.ptr != text.data() + end) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) number = std::numeric_limits<double>::max();
  text.remove_prefix(end);
  return number;
}

// Takes "6m0s" off the front of `text`. A number whose unit is unknown counts as seconds, and ends
// it.
std::optional<double> take_length(std::string_view& text) {
  double seconds = 0;
  bool any = false;
  while (!text.empty() && is_digit(text.front())) {
    std::string_view rest = text;
    const auto number = take_number(rest);
    if (!number) break;
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    std::size_t end = 0;
    while (end < rest.size() && is_letter(rest[end])) ++end;
    const auto unit = unit_seconds(rest.substr(0, end));
    if (any && (!unit || end == 0)) break;
    seconds += *number * unit.value_or(1);
    any = true;
    if (!unit || end == 0) {
      text.remove_prefix(text.size() - rest.size());
      break;
    }
    text = rest.substr(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  if (!any) return std::nullopt;
  return seconds;
}

std::optional<std::string_view> header(const Failure& failure, std::string_view name) {
  for (const auto& [key, value] : failure.headers) {
    if (equal_ignoring_case(key, name)) return trimmed(value);
  }
  return std::nullopt;
}

// The header that a moment is measured against: nobody here looks at a clock.
RetryAfter from_moment(const Failure& failure, std::string_view name, std::int64_t until) {
  RetryAfter found{.source = std::string(name)};
  const auto date = header(failure, "date");
  const auto now = date ? parse_http_date(*date) : std::nullopt;
  if (!now) {
    found.note = (name == "retry-after" ? "Retry-After" : std::string(name)) +
                 " is a date, and there is no Date header to measure it against";
    return found;
  }
  found.wait = from_seconds(static_cast<double>(until - *now));
  return found;
}

// Seconds or milliseconds since 1970, of this century.
std::optional<std::int64_t> parse_epoch(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || (parsed.ptr != end && *parsed.ptr != '.')) return std::nullopt;
  constexpr std::int64_t least = 1'000'000'000;
  constexpr std::int64_t most = 10'000'000'000;
  if (number >= least && number < most) return number;
  if (number >= least * 1000 && number < most * 1000) return number / 1000;
  return std::nullopt;
}

std::optional<std::int64_t> parse_moment(std::string_view text) {
  if (const auto date = parse_http_date(text)) return date;
  if (const auto date = parse_internet_date(text)) return date;
  return parse_epoch(text);
}

RetryAfter from_header(const Failure& failure, std::string_view name, std::string_view value) {
  if (const auto until = parse_moment(value)) return from_moment(failure, name, *until);
  if (const auto wait = parse_wait(value)) return {.wait = wait, .source = std::string(name)};
  return {.source = std::string(name),
          .note = std::string(name) + " is neither a length nor a date"};
}

}  // namespace

std::optional<Duration> parse_wait(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto seconds = take_length(text);
  if (!seconds || !text.empty()) return std::nullopt;
  return from_seconds(*seconds);
}

std::optional<Duration> find_wait(std::string_view phrase) {
  for (; !phrase.empty(); phrase.remove_prefix(1)) {
    if (!is_digit(phrase.front())) continue;
    const auto seconds = take_length(phrase);
    if (seconds) return from_seconds(*seconds);
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  constexpr std::string_view form = "Aaa, 00 Aaa 0000 00:00:00 GMT";
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool letter = form[i] == 'A' || form[i] == 'a';
    if (form[i] == '0' ? !is_digit(text[i]) : letter ? !is_letter(text[i]) : text[i] != form[i]) {
      return std::nullopt;
    }
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) value = value * 10 + (c - '0');
    return value;
  };
  unsigned month = 0;
  while (month < months.size() && months[month] != text.substr(8, 3)) ++month;
  const std::chrono::year_month_day day{std::chrono::year{number(12, 4)},
                                        std::chrono::month{month + 1},
                                        std::chrono::day{static_cast<unsigned>(number(5, 2))}};
  // Second 60 is a leap second, which the protocol allows.
  if (!day.ok() || number(17, 2) > 23 || number(20, 2) > 59 || number(23, 2) > 60)
    return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{day}.time_since_epoch().count();
  return days * 86400 + number(17, 2) * 3600 + number(20, 2) * 60 + number(23, 2);
}

std::optional<std::int64_t> parse_internet_date(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00";
  if (text.size() <= form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !is_digit(text[i]) : lower(text[i]) != lower(form[i])) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) value = value * 10 + (c - '0');
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year{number(0, 4)},
                                        std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                        std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  if (!day.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60)
    return std::nullopt;
  std::size_t at = form.size();
  if (text[at] == '.') {
    ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
  }
  const std::string_view zone = text.substr(at);
  int minutes_east = 0;
  if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' &&
      is_digit(zone[1]) && is_digit(zone[2]) && is_digit(zone[4]) && is_digit(zone[5])) {
    minutes_east = number(at + 1, 2) * 60 + number(at + 4, 2);
    if (zone[0] == '-') minutes_east = -minutes_east;
  } else if (zone != "Z" && zone != "z") {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days{day}.time_since_epoch().count();
  return days * 86400 + number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2) -
         std::int64_t{minutes_east} * 60;
}

RetryAfter find_retry_after(const Failure& failure) {
  if (failure.retry_after) {
    return {.wait = std::max(*failure.retry_after, Duration::zero()), .source = "retry_after"};
  }
  if (failure.headers.empty()) return {};
  RetryAfter useless;
  if (const auto value = header(failure, "retry-after-ms")) {
    if (const auto wait = parse_wait(std::string(*value) + "ms")) {
      return {.wait = wait, .source = "retry-after-ms"};
    }
  }
  for (const std::string_view name : wait_headers) {
    const auto value = header(failure, name);
    if (!value) continue;
    RetryAfter found = from_header(failure, name, *value);
    if (found.wait) return found;
    if (useless.note.empty()) useless = std::move(found);
  }
  // These come with every answer, so they say something only where a limit was hit. With limits of
  // several things at once, the last one to be full again counts.
  RetryAfter longest;
  if (failure.http_status != 429) return useless;
  for (const std::string_view name : reset_headers) {
    const auto value = header(failure, name);
    if (!value) continue;
    RetryAfter found = from_header(failure, name, *value);
    if (found.wait && (!longest.wait || *found.wait > *longest.wait)) longest = std::move(found);
  }
  if (longest.wait) return longest;
  return useless;
}

}  // namespace triage::inline v0_1::detail
