// SPDX-License-Identifier: MIT
#pragma once
// Plots of an experiment's report: SVG, and a self-contained page.

#include "triage/lab/experiment.hpp"
#include "triage/lab/experiment_file.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab {

// Success rates with their intervals as SVG: the last factor's levels from left to right, the first
// one's as colours, and a panel for each combination of the others. Empty without conditions.
[[nodiscard]] std::string success_svg(const ExperimentReport& report);

// One trial, for a timeline.
struct ShownTrial {
  std::string title{};
  std::vector<TimelineSpan> spans{};
};
// Trials of the first seed, under at most `most` conditions spread evenly.
[[nodiscard]] std::vector<ShownTrial> shown_trials(const ScriptedExperiment& experiment,
                                                   const ExperimentReport& report,
                                                   std::size_t most = 12);

// The attempts of each trial as SVG, on one scale of simulated time: a row for each of its first 20
// jobs, at most 300 bars. Empty without trials.
[[nodiscard]] std::string timelines_svg(const std::vector<ShownTrial>& trials);

// A self-contained HTML file: success with intervals, cost against success, a table of all
// conditions, and timelines. Uses Chart.js if the build includes it (has_chart_library());
// otherwise the page says so and shows success as SVG.
[[nodiscard]] std::string html_report(const ScriptedExperiment& experiment,
                                      const ExperimentReport& report,
                                      const std::vector<ShownTrial>& trials);
[[nodiscard]] bool has_chart_library() noexcept;

}  // namespace triage::inline v0_1::lab
