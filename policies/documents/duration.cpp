// SPDX-License-Identifier: MIT
#include "triage/policies/duration.hpp"

#include "triage/json.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace triage::inline v0_1 {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 7> units{{{"d", 86'400'000'000'000},
                                     {"h", 3'600'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

constexpr std::string_view form =
    "; allowed are numbers with a unit (d h m s ms us ns), large units first, such as \"500ms\", "
    "\"2s\" or \"1m30s\", at most 106751 days";

Error refused(std::string_view text) {
  constexpr std::size_t longest_shown = 80;
  return {Errc::invalid_argument, "\"" + printable(text.substr(0, longest_shown)) +
                                      "\" is not a duration" + std::string(form)};
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Takes the leading characters of `text` for which `wanted` holds.
template <class Predicate>
std::string_view take(std::string_view& text, Predicate wanted) {
  std::size_t length = 0;
  while (length < text.size() && wanted(text[length])) ++length;
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

// total += digits × unit; false if that does not fit.
bool add_whole(std::int64_t& total, std::string_view digits, std::int64_t unit) {
  std::int64_t value = 0;
  for (const char digit : digits) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return false;
    if (__builtin_add_overflow(value, std::int64_t{digit - '0'}, &value)) return false;
  }
  return !__builtin_mul_overflow(value, unit, &value) &&
         !__builtin_add_overflow(total, value, &total);
}

// total += 0.digits × unit, rounded down; false if that does not fit. Exact: long division.
bool add_fraction(std::int64_t& total, std::string_view digits, std::int64_t unit) {
  std::int64_t part = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    // Horner from the right; part stays below one unit, at most 8.64e13, so nothing overflows.
    part = ((*digit - '0') * unit + part) / 10;
  }
  return !__builtin_add_overflow(total, part, &total);
}

}  // namespace

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  std::string text;
  const bool negative = duration < Duration::zero();
  if (negative) text = "-";
  // The magnitude of the smallest value only fits an unsigned integer.
  std::uint64_t left = negative ? 0U - static_cast<std::uint64_t>(duration.count())
                                : static_cast<std::uint64_t>(duration.count());
  for (const auto& [name, nanoseconds] : units) {
    const auto unit = static_cast<std::uint64_t>(nanoseconds);
    if (left < unit) continue;
    text += std::to_string(left / unit) + std::string(name);
    left %= unit;
  }
  return text;
}

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = text;
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  if (text.empty()) return refused(text);
  while (!rest.empty()) {
    const std::string_view whole = take(rest, is_digit);
    std::string_view fraction;
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      fraction = take(rest, is_digit);
      if (fraction.empty()) return refused(text);
    }
    const std::string_view name = take(rest, [](char c) { return c >= 'a' && c <= 'z'; });
    std::size_t unit = next_unit;
    while (unit < units.size() && units[unit].name != name) ++unit;
    if (whole.empty() || unit == units.size()) return refused(text);
    if (!add_whole(total, whole, units[unit].nanoseconds)) return refused(text);
    if (!add_fraction(total, fraction, units[unit].nanoseconds)) return refused(text);
    next_unit = unit + 1;
  }
  return Duration(total);
}

Result<Duration> duration_from_seconds(double seconds) {
  const double nanoseconds = seconds * 1e9;
  // 2^63 as a double; every smaller double fits an int64.
  if (!(nanoseconds >= 0.0) || !(nanoseconds < 0x1p63)) {
    return Error{Errc::invalid_argument,
                 show(Json(seconds)) + " is not a number of seconds; allowed is 0 to 9223372036"};
  }
  return Duration(static_cast<std::int64_t>(std::round(nanoseconds)));
}

}  // namespace triage::inline v0_1
