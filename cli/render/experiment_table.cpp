// SPDX-License-Identifier: MIT
#include "experiment_table.hpp"

#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

using Figures = std::map<std::string, lab::Mean, std::less<>>;

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "93.1 % (91.4–94.5)"
std::string rate_text(double rate, const lab::Interval& interval) {
  return number("%.1f %%", rate * 100) + " (" + number("%.1f", interval.low * 100) + "–" +
         number("%.1f", interval.high * 100) + ")";
}

// "+21.3 (+18.9 to +23.6)"
std::string change_text(double change, const lab::Interval& interval, const char* format,
                        double factor) {
  if (std::isnan(interval.low)) return number(format, change * factor);
  return number(format, change * factor) + " (" + number(format, interval.low * factor) + " to " +
         number(format, interval.high * factor) + ")";
}

// Omits figures that are 0 everywhere, and `correct` if all results are right.
std::vector<std::string> telling_figures(const lab::ExperimentReport& report) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : report.conditions.front().figures) {
    const bool tells = std::any_of(
        report.conditions.begin(), report.conditions.end(), [&name = name](const auto& condition) {
          const auto found = condition.figures.find(name);
          if (found == condition.figures.end()) return false;
          return name == "correct" ? std::abs(found->second.value - condition.rate) > 1e-9
                                   : found->second.value != 0;
        });
    if (tells) names.push_back(name);
  }
  return names;
}

std::string figure_of(const Figures& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? "" : lab::short_number(found->second.value);
}

std::string conditions_table(const lab::ExperimentReport& report) {
  std::vector<Column> columns;
  for (const auto& [factor, level] : report.conditions.front().condition.levels()) {
    columns.emplace_back(factor.c_str(), Cut::never);
  }
  const std::size_t factors = columns.size();
  columns.emplace_back("SUCCESS", Cut::never);
  const auto names = telling_figures(report);
  for (const std::string& name : names) columns.emplace_back(name.c_str(), Cut::never);
  Table table(std::move(columns), factors);
  for (const auto& one : report.conditions) {
    std::vector<std::string> cells;
    for (const auto& [factor, level] : one.condition.levels()) cells.push_back(level);
    cells.push_back(rate_text(one.rate, one.interval));
    for (const std::string& name : names) cells.push_back(figure_of(one.figures, name));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string differences_table(const lab::ExperimentReport& report) {
  std::vector<Column> columns;
  const auto& factors = report.conditions.front().condition.levels();
  for (const auto& [factor, level] : factors) columns.emplace_back(factor.c_str(), Cut::never);
  columns.emplace_back("AGAINST", Cut::never);
  columns.emplace_back("POINTS OF SUCCESS", Cut::never);
  const bool tokens = report.differences.front().figures.count("tokens") > 0;
  if (tokens) columns.emplace_back("TOKENS", Cut::never);
  Table table(std::move(columns), factors.size());
  for (const auto& one : report.differences) {
    std::vector<std::string> cells;
    for (const auto& [factor, level] : report.conditions[one.to].condition.levels()) {
      cells.push_back(level);
    }
    cells.push_back(report.conditions[one.from].condition.levels().front().second);
    cells.push_back(change_text(one.rate, one.interval, "%+.1f", 100));
    if (const auto spent = one.figures.find("tokens"); tokens && spent != one.figures.end()) {
      cells.push_back(change_text(spent->second.value, spent->second.interval, "%+.0f", 1));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string experiment_tables(const lab::ExperimentReport& report) {
  std::string text;
  if (!report.conditions.empty()) text = conditions_table(report);
  if (!report.failed.empty())
    text += (text.empty() ? "" : "\n") + std::string("Without a result:\n");
  for (const auto& one : report.failed) text += one.condition.text() + "\n";
  if (report.differences.empty()) return text;
  return text + "\nDifferences by seed, with 95 % intervals:\n" + differences_table(report);
}

}  // namespace triage::inline v0_1::cli
