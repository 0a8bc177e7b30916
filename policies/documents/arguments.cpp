// SPDX-License-Identifier: MIT
#include "triage/policies/arguments.hpp"

#include "triage/detail/nearest.hpp"
#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/duration.hpp"
#include "triage/taxonomy.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace triage::inline v0_1 {
namespace {

// Parses exactly `length` digits at `from`; -1 if there is anything else.
int digits_at(std::string_view text, std::size_t from, std::size_t length) {
  int value = 0;
  if (from + length > text.size()) return -1;
  for (const char c : text.substr(from, length)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

const Json* Arguments::find(std::string_view key) {
  known_.emplace_back(key);
  const auto found = object_->find(std::string(key));
  return found == object_->end() ? nullptr : &*found;
}

const Json* Arguments::require(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) refuse(key, " is missing; " + strategy_ + " needs it");
  return value;
}

void Arguments::refuse(std::string_view key, const std::string& text) {
  if (std::find(refused_.begin(), refused_.end(), key) != refused_.end()) return;
  refused_.emplace_back(key);
  detail::add_problems(problems_, detail::behind("." + std::string(key), text));
}

void Arguments::wrong_type(std::string_view key, const Json& value, std::string_view allowed) {
  refuse(key, " is " + detail::shown(value) + "; allowed is " + std::string(allowed));
}

void Arguments::read(std::string_view key, bool& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_boolean()) return wrong_type(key, *json, "true or false");
  value = json->get<bool>();
}

void Arguments::read(std::string_view key, int& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  constexpr std::string_view allowed = "a whole number of at most 2147483647";
  constexpr auto most = std::numeric_limits<int>::max();
  if (json->is_number_unsigned()) {
    if (json->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
      return wrong_type(key, *json, allowed);
    }
  } else if (!json->is_number_integer() || json->get<std::int64_t>() < -std::int64_t{most} ||
             json->get<std::int64_t>() > std::int64_t{most}) {
    return wrong_type(key, *json, allowed);
  }
  value = json->get<int>();
}

void Arguments::read(std::string_view key, double& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_number()) return wrong_type(key, *json, "a number");
  value = json->get<double>();
}

void Arguments::read(std::string_view key, std::string& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_string()) return wrong_type(key, *json, "a text");
  value = json->get<std::string>();
}

void Arguments::read(std::string_view key, Duration& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_string() && !json->is_number()) {
    return wrong_type(key, *json,
                      "a duration such as \"500ms\" or \"1m30s\", or a number of seconds");
  }
  const auto duration = json->is_string() ? parse_duration(json->get_ref<const std::string&>())
                                          : duration_from_seconds(json->get<double>());
  if (!duration) return refuse(key, ": " + duration.error().detail);
  value = duration.value();
}

void Arguments::read(std::string_view key, std::vector<std::string>& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  const auto is_text = [](const Json& element) { return element.is_string(); };
  if (!json->is_array() || !std::all_of(json->begin(), json->end(), is_text)) {
    return wrong_type(key, *json, "a list of texts");
  }
  value = json->get<std::vector<std::string>>();
}

void Arguments::read(std::string_view key, std::optional<WallTime>& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_string()) return wrong_type(key, *json, "a time such as \"2026-12-24T18:00:00Z\"");
  const auto time = parse_wall_time(json->get_ref<const std::string&>());
  if (!time) return refuse(key, ": " + time.error().detail);
  value = time.value();
}

void Arguments::check_keys() {
  for (const auto& [key, value] : object_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (key == "default" || parse_failure_type(key)) {
      refuse(printable(key), " is " + detail::shown(value) + ", but \"" + printable(key) +
                                 "\" belongs to the top level of the document, not into the "
                                 "arguments of " +
                                 strategy_ + detail::allowed_names(key, known_));
    } else {
      refuse(printable(key), " is " + detail::shown(value) + ", but " + strategy_ +
                                 " has no such argument" + detail::allowed_names(key, known_));
    }
  }
}

Result<void> Arguments::check() {
  check_keys();
  if (problems_.empty()) return outcome::success();
  return Error{Errc::invalid_argument, problems_};
}

Result<Strategy> Arguments::finish(const std::function<Strategy()>& make) {
  TRIAGE_TRYV(check());
  Strategy strategy = make();
  if (!strategy.problem().empty()) return Error{Errc::invalid_argument, "." + strategy.problem()};
  return outcome::success(std::move(strategy));
}

Result<WallTime> parse_wall_time(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  const Error refused{Errc::invalid_argument,
                      "\"" + printable(text.substr(0, 80)) +
                          "\" is not a time; allowed is UTC in the form \"2026-12-24T18:00:00Z\""};
  if (text.size() < shape.size() + 1) return refused;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 'd' && text[i] != shape[i]) return refused;
  }
  const std::string_view rest = text.substr(shape.size());
  const int milliseconds = rest == "Z" ? 0 : digits_at(rest, 1, 3);
  if (rest != "Z" && (rest.size() != 5 || rest[0] != '.' || rest[4] != 'Z')) return refused;

  namespace chrono = std::chrono;
  const int year = digits_at(text, 0, 4);
  const int month = digits_at(text, 5, 2);
  const int day = digits_at(text, 8, 2);
  const int hour = digits_at(text, 11, 2);
  const int minute = digits_at(text, 14, 2);
  const int second = digits_at(text, 17, 2);
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  const bool right = year >= 0 && month > 0 && day > 0 && date.ok() && hour >= 0 && hour < 24 &&
                     minute >= 0 && minute < 60 && second >= 0 && second < 60 && milliseconds >= 0;
  if (!right) return refused;
  return WallTime(chrono::sys_days(date) + chrono::hours(hour) + chrono::minutes(minute) +
                  chrono::seconds(second) + chrono::milliseconds(milliseconds));
}

}  // namespace triage::inline v0_1
