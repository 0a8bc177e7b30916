// SPDX-License-Identifier: MIT
// Intervals and tables of experiments.
#include "lab/base/statistics.hpp"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace triage::inline v0_1::lab {
namespace {

constexpr double z = 1.959963984540054;  // Of 95 %.

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

bool is_known(const Interval& interval) { return !std::isnan(interval.low); }

Json json_of(const Interval& interval) {
  return is_known(interval) ? Json::array({interval.low, interval.high}) : Json();
}

Json json_of(const std::map<std::string, Mean, std::less<>>& figures) {
  Json json = Json::object();
  for (const auto& [name, mean] : figures) {
    json[name] = Json{{"mean", mean.value}, {"interval", json_of(mean.interval)}};
  }
  return json;
}

// A field of CSV. Source: RFC 4180.
std::string field_of(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string percent(double low, double high) {
  return number("%.1f", low * 100) + " to " + number("%.1f %%", high * 100);
}

std::string mean_text(const std::string& name, const Mean& mean) {
  const std::string value = name + " " + short_number(mean.value);
  if (!is_known(mean.interval)) return value;
  return value + " (" + short_number(mean.interval.low) + " to " +
         short_number(mean.interval.high) + ")";
}

}  // namespace

std::string short_number(double value) {
  return number(std::abs(value) < 1000 ? "%.4g" : "%.0f", value);
}

namespace detail {

void Moments::add(double value) noexcept {
  ++count;
  const double before = value - mean;
  mean += before / static_cast<double>(count);
  squares += before * (value - mean);
}

void Moments::add(const Moments& more) noexcept {
  if (more.count == 0) return;
  const auto mine = static_cast<double>(count);
  const auto others = static_cast<double>(more.count);
  const double apart = more.mean - mean;
  count += more.count;
  mean += apart * others / (mine + others);
  squares += more.squares + apart * apart * mine * others / (mine + others);
}

Mean Moments::result() const noexcept {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (count < 2) return {.value = mean, .interval = {unknown, unknown}};
  const auto n = static_cast<double>(count);
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  return {.value = mean, .interval = {mean - half, mean + half}};
}

}  // namespace detail

Interval wilson_interval(std::uint64_t successes, std::uint64_t trials) {
  const auto n = static_cast<double>(trials);
  const double rate = static_cast<double>(successes) / n;
  const double middle = (rate + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
  // Exactly 0 and 1 at the ends, where the formula has rounding errors.
  return {.low = successes == 0 ? 0.0 : std::max(0.0, middle - half),
          .high = successes == trials ? 1.0 : std::min(1.0, middle + half)};
}

Interval paired_interval(std::uint64_t gained, std::uint64_t lost, std::uint64_t trials) {
  const double n = static_cast<double>(trials) + 2;
  const double more = static_cast<double>(gained) + 0.5;
  const double less = static_cast<double>(lost) + 0.5;
  const double difference = (more - less) / n;
  const double half = z * std::sqrt((more + less) / n - difference * difference) / std::sqrt(n);
  return {.low = std::max(-1.0, difference - half), .high = std::min(1.0, difference + half)};
}

std::string FailedCondition::text() const {
  return condition.text() + " has no result: seed " + std::to_string(seed) + " " + why;
}

std::string ExperimentReport::text() const {
  std::string text;
  for (const ConditionReport& one : conditions) {
    text += one.condition.text() + "\n  success " + number("%.1f %%", one.rate * 100) + " (" +
            percent(one.interval.low, one.interval.high) + "), " + std::to_string(one.trials) +
            " seeds\n";
    for (const auto& [name, mean] : one.figures) text += "  " + mean_text(name, mean) + "\n";
  }
  for (const Difference& one : differences) {
    text += conditions[one.to].condition.text() + ", against " +
            conditions[one.from].condition.text() + "\n  success " +
            number("%+.1f", one.rate * 100) + " points (" +
            number("%+.1f", one.interval.low * 100) + " to " +
            number("%+.1f", one.interval.high * 100) + "), by seed\n";
    for (const auto& [name, mean] : one.figures) text += "  " + mean_text(name, mean) + "\n";
  }
  for (const FailedCondition& one : failed) text += one.text() + "\n";
  return text;
}

std::string ExperimentReport::csv() const {
  std::map<std::string, int, std::less<>> names;
  for (const ConditionReport& one : conditions) {
    for (const auto& [name, mean] : one.figures) names.emplace(name, 0);
  }
  std::string text;
  if (conditions.empty() && failed.empty()) return text;
  const Condition& any =
      conditions.empty() ? failed.front().condition : conditions.front().condition;
  for (const auto& [factor, level] : any.levels()) {
    text += field_of(factor) + ",";
  }
  text += "trials,successes,rate,rate_low,rate_high";
  for (const auto& [name, unused] : names) {
    text += "," + field_of(name) + "," + field_of(name + "_low") + "," + field_of(name + "_high");
  }
  text += "\n";
  for (const ConditionReport& one : conditions) {
    for (const auto& [factor, level] : one.condition.levels()) text += field_of(level) + ",";
    text += std::to_string(one.trials) + "," + std::to_string(one.successes) + "," +
            number("%.9g", one.rate) + "," + number("%.9g", one.interval.low) + "," +
            number("%.9g", one.interval.high);
    for (const auto& [name, unused] : names) {
      const auto found = one.figures.find(name);
      if (found == one.figures.end()) {
        text += ",,,";
        continue;
      }
      const Mean& mean = found->second;
      text += "," + number("%.9g", mean.value) + ",";
      if (!is_known(mean.interval)) {
        text += ",";
        continue;
      }
      text += number("%.9g", mean.interval.low) + "," + number("%.9g", mean.interval.high);
    }
    text += "\n";
  }
  for (const FailedCondition& one : failed) {
    for (const auto& [factor, level] : one.condition.levels()) text += field_of(level) + ",";
    text += "0,0,,," + std::string(3 * names.size(), ',') + "\n";
  }
  return text;
}

Json ExperimentReport::json() const {
  const auto levels_of = [](const Condition& condition) {
    Json levels = Json::object();
    for (const auto& [factor, level] : condition.levels()) levels[factor] = level;
    return levels;
  };
  Json all = Json::array();
  for (const ConditionReport& one : conditions) {
    all.push_back({{"levels", levels_of(one.condition)},
                   {"trials", one.trials},
                   {"successes", one.successes},
                   {"rate", one.rate},
                   {"interval", json_of(one.interval)},
                   {"figures", json_of(one.figures)}});
  }
  Json compared = Json::array();
  for (const Difference& one : differences) {
    compared.push_back({{"from", one.from},
                        {"to", one.to},
                        {"rate", one.rate},
                        {"interval", json_of(one.interval)},
                        {"figures", json_of(one.figures)}});
  }
  Json without = Json::array();
  for (const FailedCondition& one : failed) {
    without.push_back({{"levels", levels_of(one.condition)}, {"seed", one.seed}, {"why", one.why}});
  }
  return Json{{"conditions", std::move(all)},
              {"differences", std::move(compared)},
              {"failed", std::move(without)}};
}

}  // namespace triage::inline v0_1::lab
