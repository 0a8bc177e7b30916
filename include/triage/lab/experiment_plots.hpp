// SPDX-License-Identifier: MIT
#pragma once
// Pictures of an experiment's report: SVG, and a page that needs no network.

#include "triage/lab/experiment.hpp"
#include "triage/lab/experiment_file.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab {

// Success with its intervals as SVG: the levels of the last factor from left to right, those of the
// first in colours, and a panel for each combination of the others. Empty without conditions.
[[nodiscard]] std::string success_svg(const ExperimentReport& report);

// One trial, for a timeline.
struct ShownTrial {
  std::string title{};
  std::vector<TimelineSpan> spans{};
};
// Trials of the first seed, under at most `most` conditions, evenly among all of them.
[[nodiscard]] std::vector<ShownTrial> shown_trials(const ScriptedExperiment& experiment,
                                                   const ExperimentReport& report,
                                                   std::size_t most = 12);

// One HTML file that refers to no other: success with intervals, cost against success, a table of
// all conditions and timelines. Its charts are drawn by Chart.js if the build has it, which
// has_chart_library() says; else the page says so, and has the SVG and tables instead.
[[nodiscard]] std::string html_report(const ScriptedExperiment& experiment,
                                      const ExperimentReport& report,
                                      const std::vector<ShownTrial>& trials);
[[nodiscard]] bool has_chart_library() noexcept;

}  // namespace triage::inline v0_1::lab
