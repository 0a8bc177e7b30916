// SPDX-License-Identifier: MIT
#include "classifier/times/moments.hpp"

#include "base/ascii.hpp"

#include <array>
#include <charconv>
#include <chrono>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::array<std::string_view, 12> months{"january",   "february", "march",    "april",
                                                  "may",       "june",     "july",     "august",
                                                  "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> weekdays{"monday", "tuesday",  "wednesday", "thursday",
                                                   "friday", "saturday", "sunday"};
constexpr std::int64_t day_seconds = 86'400;
// A time of day that has passed by less than this is that of today: clocks differ, and a program is
// called in the minute that it names.
constexpr std::int64_t passed_seconds = 600;

struct Zone {
  std::string_view name;
  int minutes_east;
};
constexpr Zone zones[] = {{"z", 0},      {"utc", 0},    {"gmt", 0},    {"pst", -480}, {"pdt", -420},
                          {"mst", -420}, {"mdt", -360}, {"cst", -360}, {"cdt", -300}, {"est", -300},
                          {"edt", -240}, {"cet", 60},   {"cest", 120}, {"jst", 540}};

bool begins_with(std::string_view name, std::string_view word) {
  if (word.size() > name.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(word[i]) != name[i]) return false;
  }
  return true;
}

// The index of the name that a word of three letters or more abbreviates.
template <std::size_t N>
std::optional<int> named(const std::array<std::string_view, N>& names, std::string_view word) {
  if (word.size() < 3) return std::nullopt;
  for (std::size_t i = 0; i < N; ++i) {
    if (begins_with(names[i], word)) return static_cast<int>(i);
  }
  return std::nullopt;
}

// True if the text has this form: 0 a digit, A a letter, everything else itself.
bool has_form(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0'   ? !is_digit(text[i])
        : form[i] == 'A' ? !is_letter(text[i])
                         : lower(text[i]) != lower(form[i])) {
      return false;
    }
  }
  return true;
}

int number(std::string_view text) {
  int value = 0;
  for (const char c : text) value = value * 10 + (is_digit(c) ? c - '0' : 0);
  return value;
}

std::optional<std::int64_t> days_since_1970(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

// "08:49:37" in seconds. Second 60 is a leap second, which the protocols allow.
std::optional<std::int64_t> time_of_day(std::string_view text) {
  const int hour = number(text.substr(0, 2));
  const int minute = number(text.substr(3, 2));
  const int second = number(text.substr(6, 2));
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return hour * 3600 + minute * 60 + second;
}

int full_year(int two_digits) { return two_digits + (two_digits < 70 ? 2000 : 1900); }

std::optional<std::int64_t> moment(int year, std::string_view month, std::string_view day,
                                   std::string_view time) {
  const auto month_index = named(months, month);
  if (!month_index) return std::nullopt;
  const auto days = days_since_1970(year, *month_index + 1, number(day));
  const auto seconds = time_of_day(time);
  if (!days || !seconds) return std::nullopt;
  return *days * day_seconds + *seconds;
}

// "+01:00", "-0530".
std::optional<int> zone_offset(std::string_view text) {
  if (!has_form(text, "+00:00") && !has_form(text, "-00:00") && !has_form(text, "+0000") &&
      !has_form(text, "-0000")) {
    return std::nullopt;
  }
  const int minutes = number(text.substr(1, 2)) * 60 + number(text.substr(text.size() - 2));
  return text[0] == '-' ? -minutes : minutes;
}

// Reads a point in time part by part, up to the first text that is not a part.
class MomentReader {
 public:
  explicit MomentReader(std::string_view text) : rest_(text) {}

  std::optional<std::int64_t> read(WallTime now) {
    const std::string_view digits = rest_.substr(0, count(is_digit));
    if (digits.size() >= 10) return parse_epoch(digits);
    while (read_part()) {}
    return resolve(now);
  }

 private:
  template <class Is>
  [[nodiscard]] std::size_t count(Is is) const {
    std::size_t n = 0;
    while (n < rest_.size() && is(rest_[n])) ++n;
    return n;
  }
  [[nodiscard]] bool next_is(std::string_view form) const {
    return has_form(rest_.substr(0, form.size()), form);
  }

  [[nodiscard]] bool in_date() const { return (month_ || day_) && !seconds_ && !zoned_; }

  void skip_separators() {
    constexpr std::string_view separators = " \t,\"'()";
    while (!rest_.empty()) {
      if (separators.find(rest_.front()) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else if (rest_.front() == '.' ? month_ && !day_ : rest_.front() == '-' && in_date()) {
        rest_.remove_prefix(1);  // "Oct. 21", "21-Oct-26".
      } else {
        return;
      }
    }
  }

  bool read_part() {
    skip_separators();
    if (rest_.empty()) return false;
    if (is_digit(rest_.front())) return read_digits();
    if (is_letter(rest_.front())) return read_word();
    return (seconds_ || day_) && read_offset();
  }

  bool read_digits() {
    if (!month_ && (next_is("0000-00-00") || next_is("0000/00/00"))) {
      year_ = number(rest_.substr(0, 4));
      month_ = number(rest_.substr(5, 2));
      day_ = number(rest_.substr(8, 2));
      rest_.remove_prefix(10);
      return true;
    }
    const std::size_t digits = count(is_digit);
    const int value = digits <= 4 ? number(rest_.substr(0, digits)) : -1;
    if (!seconds_ && digits <= 2 && digits < rest_.size() && rest_[digits] == ':') {
      return read_time(value, digits);
    }
    std::string_view after = rest_.substr(digits);
    if (!seconds_ && digits <= 2 && (take_half(after, value))) {
      rest_ = after;
      return true;
    }
    if (digits == 4 && month_ && !year_) {
      year_ = value;
    } else if (digits == 2 && month_ && day_ && !year_ && rest_.data()[-1] == '-') {
      year_ = full_year(value);
    } else if (digits <= 2 && !day_) {
      day_ = value;
      for (const std::string_view ending : {"st", "nd", "rd", "th"}) {
        if (begins_with(ending, after.substr(0, 2)) && after.size() >= 2) after.remove_prefix(2);
      }
    } else {
      return false;
    }
    rest_ = after;
    return true;
  }

  // "am" or "pm" after an hour; sets the time.
  bool take_half(std::string_view& after, int hour, std::int64_t beyond_hour = 0) {
    std::string_view text = after;
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    for (const std::string_view half : {"am", "pm", "a.m.", "p.m."}) {
      const bool ends = text.size() <= half.size() || !is_letter(text[half.size()]);
      if (text.size() < half.size() || !ends || !begins_with(half, text.substr(0, half.size())))
        continue;
      if (hour < 1 || hour > 12) return false;
      seconds_ = (hour % 12 + (half.front() == 'p' ? 12 : 0)) * 3600 + beyond_hour;
      after = text.substr(half.size());
      return true;
    }
    return false;
  }

  bool read_time(int hour, std::size_t digits) {
    std::string_view after = rest_.substr(digits);
    if (!has_form(after.substr(0, 3), ":00")) return false;
    const int minute = number(after.substr(1, 2));
    after.remove_prefix(3);
    int second = 0;
    if (has_form(after.substr(0, 3), ":00")) {
      second = number(after.substr(1, 2));
      after.remove_prefix(3);
      if (after.size() > 1 && after[0] == '.' && is_digit(after[1])) {
        bool part = false;
        for (after.remove_prefix(1); !after.empty() && is_digit(after[0]); after.remove_prefix(1)) {
          part = part || after[0] != '0';
        }
        if (part) ++second;  // Rounded up.
      }
    }
    if (minute > 59 || second > 60) return false;
    if (!take_half(after, hour, minute * 60 + second)) {
      if (hour > 23) return false;
      seconds_ = hour * 3600 + minute * 60 + second;
    }
    rest_ = after;
    return true;
  }

  bool read_word() {
    const std::string_view word = rest_.substr(0, count(is_letter));
    if (!month_) {
      if (const auto month = named(months, word)) {
        month_ = *month + 1;
        rest_.remove_prefix(word.size());
        return true;
      }
    }
    const auto weekday = named(weekdays, word);
    if (weekday) weekday_ = weekday;
    bool known = weekday.has_value();
    for (const std::string_view filler : {"t", "at", "on", "the", "of"}) {
      known = known || (word.size() == filler.size() && begins_with(filler, word));
    }
    if (!known && (seconds_ || day_)) {
      for (const Zone& zone : zones) {
        if (word.size() != zone.name.size() || !begins_with(zone.name, word)) continue;
        minutes_east_ = zone.minutes_east;
        known = zoned_ = true;
      }
    }
    if (known) rest_.remove_prefix(word.size());
    return known;
  }

  bool read_offset() {
    for (const std::size_t length : {std::size_t{6}, std::size_t{5}}) {
      const auto minutes = zone_offset(rest_.substr(0, length));
      if (!minutes) continue;
      minutes_east_ = *minutes;
      zoned_ = true;
      rest_.remove_prefix(length);
      return true;
    }
    return false;
  }

  [[nodiscard]] std::optional<std::int64_t> at(std::int64_t days) const {
    return days * day_seconds + seconds_.value_or(0) - std::int64_t{minutes_east_} * 60;
  }

  [[nodiscard]] std::optional<std::int64_t> resolve(WallTime now) const {
    const auto local = now + std::chrono::minutes(minutes_east_);
    const auto today = std::chrono::floor<std::chrono::days>(local);
    const std::int64_t now_ms = now.time_since_epoch().count();
    if (!month_) {
      if (day_ || !seconds_) return std::nullopt;
      // Monday is 0.
      const int weekday = static_cast<int>(std::chrono::weekday(today).iso_encoding()) - 1;
      const int ahead = weekday_ ? (*weekday_ - weekday + 7) % 7 : 0;
      const std::int64_t period = day_seconds * (weekday_ ? 7 : 1);
      std::int64_t next = *at(today.time_since_epoch().count() + ahead) - period;
      while ((next + passed_seconds) * 1000 <= now_ms) next += period;
      return next;
    }
    if (!day_) return std::nullopt;
    const int this_year = static_cast<int>(std::chrono::year_month_day(today).year());
    auto days = days_since_1970(year_.value_or(this_year), *month_, *day_);
    // A past date without a year means next year; yesterday is past, today is not.
    if (days && !year_ && (*at(*days) + day_seconds) * 1000 <= now_ms) {
      days = days_since_1970(this_year + 1, *month_, *day_);
    }
    return days ? at(*days) : std::nullopt;
  }

  std::string_view rest_;
  std::optional<int> year_{};
  std::optional<int> month_{};
  std::optional<int> day_{};
  std::optional<int> weekday_{};  // Matters only without a date.
  std::optional<std::int64_t> seconds_{};
  int minutes_east_ = 0;
  bool zoned_ = false;
};

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  if (has_form(text, "AAA, 00 AAA 0000 00:00:00 GMT")) {
    return moment(number(text.substr(12, 4)), text.substr(8, 3), text.substr(5, 2),
                  text.substr(17));
  }
  if (has_form(text, "AAA AAA 00 00:00:00 0000") || has_form(text, "AAA AAA  0 00:00:00 0000")) {
    return moment(number(text.substr(20)), text.substr(4, 3), text.substr(8, 2),
                  text.substr(11, 8));
  }
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || !named(weekdays, text.substr(0, comma))) return {};
  text.remove_prefix(comma);
  if (!has_form(text, ", 00-AAA-00 00:00:00 GMT")) return std::nullopt;
  return moment(full_year(number(text.substr(9, 2))), text.substr(5, 3), text.substr(2, 2),
                text.substr(12));
}

std::optional<std::int64_t> parse_internet_date(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00";
  if (!has_form(text.substr(0, form.size()), form)) return std::nullopt;
  const auto days = days_since_1970(number(text.substr(0, 4)), number(text.substr(5, 2)),
                                    number(text.substr(8, 2)));
  const auto seconds = time_of_day(text.substr(11));
  if (!days || !seconds) return std::nullopt;
  text.remove_prefix(form.size());
  bool rest = false;
  if (!text.empty() && text[0] == '.') {
    for (text.remove_prefix(1); !text.empty() && is_digit(text[0]); text.remove_prefix(1)) {
      rest = rest || text[0] != '0';
    }
  }
  int minutes_east = 0;
  if (const auto offset = text.size() == 6 ? zone_offset(text) : std::nullopt) {
    minutes_east = *offset;
  } else if (text != "Z" && text != "z") {
    return std::nullopt;
  }
  return *days * day_seconds + *seconds + (rest ? 1 : 0) - std::int64_t{minutes_east} * 60;
}

std::optional<std::int64_t> parse_epoch(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{}) return std::nullopt;
  std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  bool more = false;
  if (!rest.empty()) {
    if (rest.front() != '.') return std::nullopt;
    for (rest.remove_prefix(1); !rest.empty(); rest.remove_prefix(1)) {
      if (!is_digit(rest.front())) return std::nullopt;
      more = more || rest.front() != '0';
    }
  }
  constexpr std::int64_t least = 1'000'000'000;
  constexpr std::int64_t most = 10'000'000'000;
  if (value >= least && value < most) return value + (more ? 1 : 0);
  if (value >= least * 1000 && value < most * 1000) {
    return value / 1000 + (value % 1000 != 0 || more ? 1 : 0);
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_moment(std::string_view text, WallTime now) {
  return MomentReader(text).read(now);
}

}  // namespace triage::inline v0_1::detail
