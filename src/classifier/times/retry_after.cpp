// SPDX-License-Identifier: MIT
#include "classifier/times/retry_after.hpp"

#include "base/ascii.hpp"
#include "classifier/times/moments.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Waits beyond the range of Duration (292 years) become its maximum.
Duration from_seconds(double seconds) {
  constexpr double most = 9.2e18;
  const double nanoseconds = std::round(seconds * 1e9);
  if (!(nanoseconds > 0)) return Duration::zero();
  if (nanoseconds >= most) return Duration::max();
  return Duration(static_cast<std::int64_t>(nanoseconds));
}

std::string lower_case(std::string_view text) {
  std::string all(text);
  std::transform(all.begin(), all.end(), all.begin(), lower);
  return all;
}

constexpr std::size_t longest_named_wait = 48;  // After the phrase that introduces it.
constexpr std::size_t longest_phrase = 512;     // Of longer introductions only the end is read.
constexpr std::size_t longest_length = 4096;    // "1 hour, 30 minutes and 5 seconds" has 32.
constexpr std::size_t most_headers = 512;       // Real responses have fewer.

// When the limit is replenished, in order of precedence.
constexpr std::string_view reset_headers[] = {"x-ratelimit-reset-after", "ratelimit-reset",
                                              "x-ratelimit-reset", "x-rate-limit-reset"};

// When one of several limits is replenished: x-ratelimit-reset-tokens,
// anthropic-ratelimit-requests-reset.
bool is_reset_header(std::string_view name) {
  constexpr std::string_view first = "x-ratelimit-reset-";
  constexpr std::string_view last = "-reset";
  if (name.size() > first.size() && equal_ignoring_case(name.substr(0, first.size()), first)) {
    return true;
  }
  constexpr std::string_view limits[] = {"anthropic-ratelimit-", "x-ratelimit-", "ratelimit-"};
  return std::any_of(std::begin(limits), std::end(limits), [&](std::string_view limit) {
    return name.size() > limit.size() + last.size() &&
           equal_ignoring_case(name.substr(0, limit.size()), limit) &&
           equal_ignoring_case(name.substr(name.size() - last.size()), last);
  });
}

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

// Skips what may separate two parts: "1 hour and 30 minutes", "1 hour, 30 minutes".
void skip_joint(std::string_view& text) {
  std::string_view rest = text;
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == ',')) rest.remove_prefix(1);
  if (equal_ignoring_case(rest.substr(0, 4), "and ")) rest.remove_prefix(4);
  const bool number_follows = !rest.empty() && is_digit(rest.front());
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (number_follows) text = rest;
}

// "01:30:00", as .NET and Azure write durations.
std::optional<double> clock_length(std::string_view text) {
  constexpr std::string_view form = "00:00:00";
  if (text.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !is_digit(text[i]) : text[i] != ':') return std::nullopt;
  }
  const auto two = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  return two(0) * 3600.0 + two(3) * 60.0 + two(6);
}

// Takes "6m0s" off the front of `text`. A number without a known unit counts as `bare` seconds and
// ends the duration.
std::optional<double> take_length(std::string_view& text, double bare = 1) {
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
    seconds += *number * (end == 0 ? bare : unit.value_or(1));
    any = true;
    if (!unit || end == 0) {
      text.remove_prefix(text.size() - rest.size());
      break;
    }
    text = rest.substr(end);
    skip_joint(text);
  }
  if (!any) return std::nullopt;
  return seconds;
}

std::span<const std::pair<std::string, std::string>> headers_of(const Failure& failure) {
  return std::span(failure.headers).first(std::min(failure.headers.size(), most_headers));
}

std::optional<std::string_view> header(const Failure& failure, std::string_view name) {
  for (const auto& [key, value] : headers_of(failure)) {
    if (equal_ignoring_case(key, name)) return trimmed(value);
  }
  return std::nullopt;
}

std::optional<WallTime> time_of_failure(const Failure& failure, Clock* clock) {
  const auto date = header(failure, "date");
  if (const auto sent = date ? parse_http_date(*date) : std::nullopt) {
    return WallTime(std::chrono::seconds(*sent));
  }
  if (clock == nullptr) return std::nullopt;
  return clock->wall_now();
}

// Never negative.
Duration time_until(std::int64_t moment, WallTime now) {
  const std::int64_t now_ms = now.time_since_epoch().count();
  return from_seconds(static_cast<double>(moment * 1000 - now_ms) / 1000);
}

RetryAfter from_moment(const Failure& failure, std::string_view name, std::int64_t until,
                       Clock* clock) {
  RetryAfter found{.source = std::string(name)};
  const auto now = time_of_failure(failure, clock);
  if (!now) {
    found.note = (name == "retry-after" ? "Retry-After" : std::string(name)) +
                 " is a date, and there is no Date header or clock to measure it against";
    return found;
  }
  found.wait = time_until(until, *now);
  return found;
}

std::optional<std::int64_t> parse_moment(std::string_view text) {
  if (const auto date = parse_http_date(text)) return date;
  if (const auto date = parse_internet_date(text)) return date;
  return parse_epoch(text);
}

RetryAfter from_header(const Failure& failure, std::string_view name, std::string_view value,
                       Clock* clock) {
  if (const auto until = parse_moment(value)) return from_moment(failure, name, *until, clock);
  if (const auto wait = parse_wait(value)) return {.wait = wait, .source = std::string(name)};
  return {.source = std::string(name),
          .note = std::string(name) + " is neither a length nor a date"};
}

// "X-RateLimit-Remaining: 0", "anthropic-ratelimit-tokens-remaining: 0", "RateLimit: api;r=0".
bool says_nothing_remains(std::string_view name, std::string_view value) {
  const std::string key = lower_case(name);
  if (key.find("ratelimit") == std::string::npos && key.find("rate-limit") == std::string::npos) {
    return false;
  }
  if (key.find("-remaining") != std::string::npos) return value == "0";
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(",; "), value.size());
    const std::string_view part = value.substr(0, end);
    if (part == "r=0" || part == "remaining=0") return true;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return false;
}

// Only then the time of a reset matters: it comes with every response, whatever went wrong.
bool hit_a_limit(const Failure& failure, const Classification& found) {
  if (failure.http_status == 429 || found.reason == "rate_limited" ||
      found.type == FailureType::quota_exhausted) {
    return true;
  }
  const int status = failure.http_status.value_or(403);
  if (status != 403 && status != 503) return false;
  const auto headers = headers_of(failure);
  return std::any_of(headers.begin(), headers.end(), [](const auto& header) {
    return says_nothing_remains(header.first, trimmed(header.second));
  });
}

// Of several limits, the last one to be replenished counts.
RetryAfter longest_reset(const Failure& failure, Clock* clock) {
  RetryAfter longest;
  for (const auto& [name, value] : headers_of(failure)) {
    if (!is_reset_header(name)) continue;
    RetryAfter one = from_header(failure, lower_case(name), trimmed(value), clock);
    if (one.wait && (!longest.wait || *one.wait > *longest.wait)) longest = std::move(one);
  }
  return longest;
}

// A number without a unit may have it in the name before it: "retry_after_ms": 5.
double unit_in_name(std::string_view name) {
  while (!name.empty() && !is_letter(name.back())) name.remove_suffix(1);
  for (const std::string_view unit : {"ms", "millis", "milliseconds"}) {
    if (name.size() > unit.size() &&
        equal_ignoring_case(name.substr(name.size() - unit.size()), unit)) {
      return 1e-3;
    }
  }
  return 1;
}

// "less than a minute" -> 60 s, "a few seconds" -> 3 s: an article or a vague number and a unit.
std::optional<Duration> find_length_in_words(std::string_view phrase) {
  constexpr std::pair<std::string_view, int> numbers[] = {
      {"a", 1}, {"an", 1}, {"one", 1}, {"couple", 2}, {"few", 3}};
  std::optional<int> number;
  while (!phrase.empty()) {
    std::size_t end = 0;
    while (end < phrase.size() && is_letter(phrase[end])) ++end;
    const std::string_view word = phrase.substr(0, end);
    phrase.remove_prefix(std::max<std::size_t>(end, 1));
    if (word.empty()) continue;
    for (const auto& [name, value] : numbers) {
      if (equal_ignoring_case(word, name)) number = value;
    }
    const bool moment = equal_ignoring_case(word.substr(0, 6), "moment");
    const auto unit = moment ? std::optional(1.0) : unit_seconds(word);
    if (number && unit) return from_seconds(*number * *unit);
  }
  return std::nullopt;
}

// The first duration in a phrase: "try again in 6m0s" -> 6 minutes.
std::optional<Duration> find_length(std::string_view phrase) {
  for (std::size_t at = 0; at < phrase.size(); ++at) {
    if (!is_digit(phrase[at])) continue;
    std::string_view length = phrase.substr(at);
    const auto seconds = take_length(length, unit_in_name(phrase.substr(0, at)));
    if (seconds) return from_seconds(*seconds);
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_wait(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text.size() > longest_length || !is_digit(text.front())) return std::nullopt;
  if (const auto seconds = clock_length(text)) return from_seconds(*seconds);
  const auto seconds = take_length(text);
  if (!seconds || !text.empty()) return std::nullopt;
  return from_seconds(*seconds);
}

WaitInText find_wait(std::string_view text, std::string_view phrase, bool date_only,
                     const Failure& failure, Clock* clock) {
  phrase.remove_prefix(phrase.size() - std::min(phrase.size(), longest_phrase));
  const auto begin = static_cast<std::size_t>(phrase.data() - text.data());
  const std::string_view rest =
      text.substr(begin, text.substr(begin, phrase.size() + longest_named_wait).find('\n'));
  const std::string_view seen = rest.substr(0, phrase.size() + longest_named_wait);
  const auto now = time_of_failure(failure, clock);
  for (std::size_t at = 0; at < phrase.size(); ++at) {
    const bool word_begins = at == 0 || !(is_letter(seen[at - 1]) || is_digit(seen[at - 1]));
    if (!word_begins || !(is_letter(seen[at]) || is_digit(seen[at]))) continue;
    const auto moment = read_moment(seen.substr(at), now.value_or(WallTime{}));
    if (moment && !now) return {.undated = true};
    if (moment) return {.wait = time_until(*moment, *now)};
  }
  if (date_only) return {};
  // What follows a length in words is another matter, but that of a number may continue there.
  const bool in_words = std::none_of(phrase.begin(), phrase.end(), is_digit);
  return {.wait = in_words ? find_length_in_words(phrase) : find_length(seen)};
}

RetryAfter find_retry_after(const Failure& failure, const Classification& found, Clock* clock) {
  if (failure.retry_after) {
    return {.wait = std::max(*failure.retry_after, Duration::zero()), .source = "retry_after"};
  }
  if (failure.headers.empty()) return {};
  for (const std::string_view name : {"retry-after-ms", "x-ms-retry-after-ms"}) {
    const auto value = header(failure, name);
    if (!value) continue;
    if (const auto wait = parse_wait(std::string(*value) + "ms")) {
      return {.wait = wait, .source = std::string(name)};
    }
  }
  RetryAfter useless;
  const auto read = [&](std::string_view name) -> std::optional<RetryAfter> {
    const auto value = header(failure, name);
    if (!value) return std::nullopt;
    RetryAfter asked = from_header(failure, name, *value, clock);
    if (asked.wait) return asked;
    if (useless.note.empty()) useless = std::move(asked);
    return std::nullopt;
  };
  if (auto asked = read("retry-after")) return *std::move(asked);
  if (!hit_a_limit(failure, found)) return useless;
  for (const std::string_view name : reset_headers) {
    if (auto asked = read(name)) return *std::move(asked);
  }
  const RetryAfter longest = longest_reset(failure, clock);
  return longest.wait ? longest : useless;
}

}  // namespace triage::inline v0_1::detail
