// SPDX-License-Identifier: MIT
#include "triage/lab/experiment_plots.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::detail {
extern const std::string_view chart_library;      // Chart.js; empty if the build lacks it.
extern const std::string_view experiment_script;  // data/experiment_report.js
}  // namespace triage::inline v0_1::detail

namespace triage::inline v0_1::lab {
namespace {

constexpr const char* style =
    R"(body{font:15px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:13px}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right}.chart{position:relative;height:22rem;margin:1rem 0}svg{max-width:100%;height:auto}
.scroll{overflow-x:auto})";

std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : printable(text)) {
    if (c == '<') {
      all += "&lt;";
    } else if (c == '&') {
      all += "&amp;";
    } else {
      all += c;
    }
  }
  return all;
}

Json data_of(const ExperimentReport& report) {
  Json data{{"factors", Json::array()}, {"conditions", Json::array()}};
  for (const ConditionReport& one : report.conditions) {
    Json levels = Json::array();
    for (const auto& [factor, level] : one.condition.levels()) levels.push_back(level);
    Json figures = Json::object();
    for (const auto& [name, mean] : one.figures) {
      figures[name] = Json::array({mean.value, mean.interval.low, mean.interval.high});
    }
    data["conditions"].push_back(
        {{"levels", std::move(levels)},
         {"rate", Json::array({one.rate, one.interval.low, one.interval.high})},
         {"figures", std::move(figures)}});
  }
  for (const auto& [factor, level] : report.conditions.front().condition.levels()) {
    data["factors"].push_back(factor);
  }
  return data;
}

// Escaped so that no text in it can end the script element.
std::string inside_script(const Json& data) {
  std::string all;
  for (const char c : show(data)) all += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return all;
}

std::string table_of(const ExperimentReport& report) {
  std::string html = "<div class=\"scroll\"><table><tr>";
  for (const auto& [factor, level] : report.conditions.front().condition.levels()) {
    html += "<th>" + escaped(factor);
  }
  html += "<th>success, %<th>95 %";
  const auto& first = report.conditions.front().figures;
  for (const auto& [name, mean] : first) html += "<th>" + escaped(name);
  html += "\n";
  for (const ConditionReport& one : report.conditions) {
    html += "<tr>";
    for (const auto& [factor, level] : one.condition.levels()) html += "<td>" + escaped(level);
    html += "<td class=n>" + short_number(one.rate * 100) + "<td>" +
            short_number(one.interval.low * 100) + " to " + short_number(one.interval.high * 100);
    for (const auto& [name, unused] : first) {
      const auto found = one.figures.find(name);
      html +=
          "<td class=n>" + (found == one.figures.end() ? "" : short_number(found->second.value));
    }
    html += "\n";
  }
  return html + "</table></div>\n";
}

std::string differences_of(const ExperimentReport& report) {
  if (report.differences.empty()) return {};
  std::string html =
      "<h2>Differences</h2>\n<p>Of success, seed by seed, with 95 % intervals.</p>\n"
      "<div class=\"scroll\"><table><tr><th>condition<th>against<th>points<th>95 %\n";
  for (const Difference& one : report.differences) {
    html += "<tr><td>" + escaped(report.conditions[one.to].condition.text()) + "<td>" +
            escaped(report.conditions[one.from].condition.levels().front().second) +
            "<td class=n>" + short_number(one.rate * 100) + "<td>" +
            short_number(one.interval.low * 100) + " to " + short_number(one.interval.high * 100) +
            "\n";
  }
  return html + "</table></div>\n";
}

std::string charts_of(const ExperimentReport& report) {
  if (!has_chart_library()) {
    return "<p>This build of triage has no chart library (Debian's libjs-chart.js), so cost is "
           "told "
           "by the table alone.</p>\n" +
           success_svg(report);
  }
  return "<div class=\"chart\"><canvas id=\"success\"></canvas></div>\n"
         "<h2>Cost against success</h2>\n<div class=\"chart\"><canvas "
         "id=\"cost\"></canvas></div>\n";
}

std::string timelines_of(const std::vector<ShownTrial>& trials) {
  if (trials.empty()) return {};
  return "<h2>Single runs</h2>\n<p>The attempts of one seed, on simulated time.</p>\n<div "
         "class=\"scroll\">" +
         timelines_svg(trials) + "</div>\n";
}

}  // namespace

bool has_chart_library() noexcept { return !triage::detail::chart_library.empty(); }

std::vector<ShownTrial> shown_trials(const ScriptedExperiment& experiment,
                                     const ExperimentReport& report, std::size_t most) {
  std::vector<ShownTrial> trials;
  const std::size_t count = report.conditions.size();
  const std::size_t shown = std::min(count, most);
  const std::uint64_t seed = experiment.options().first_seed;
  for (std::size_t i = 0; i < shown; ++i) {
    const Condition& condition = report.conditions[i * count / shown].condition;
    trials.push_back({.title = condition.text() + ", seed " + std::to_string(seed),
                      .spans = experiment.timeline(condition, seed)});
  }
  return trials;
}

std::string html_report(const ScriptedExperiment& experiment, const ExperimentReport& report,
                        const std::vector<ShownTrial>& trials) {
  const std::string name = escaped(experiment.name());
  std::string html = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + name +
                     "</title>\n<style>" + style + "</style>\n<h1>" + name + "</h1>\n<p>" +
                     escaped(experiment.about()) + "</p>\n";
  for (const FailedCondition& one : report.failed) html += "<p>" + escaped(one.text()) + "</p>\n";
  if (report.conditions.empty()) return html + "</html>\n";
  html += "<p>" + std::to_string(report.conditions.front().trials) +
          " seeds for each condition; the same for all. Intervals are of 95 %: Wilson's for "
          "shares, Student's for means.</p>\n<h2>Success</h2>\n" +
          charts_of(report) + timelines_of(trials) + "<h2>All conditions</h2>\n" +
          table_of(report) + differences_of(report);
  if (has_chart_library()) {
    html += "<script type=\"application/json\" id=\"data\">" + inside_script(data_of(report)) +
            "</script>\n<script>";
    html += triage::detail::chart_library;
    html += "</script>\n<script>";
    html += triage::detail::experiment_script;
    html += "</script>\n";
  }
  return html + "</html>\n";
}

}  // namespace triage::inline v0_1::lab
