// SPDX-License-Identifier: MIT
#include "triage/lab/experiment_plots.hpp"

#include "lab/experiment/svg.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using detail::svg_line;
using detail::svg_number;
using detail::svg_text;

// In units of the picture.
constexpr double picture_width = 1000;
constexpr double before_bars = 60;  // For the names of jobs.
constexpr double bar_height = 10;
constexpr double row_height = 16;
constexpr double title_height = 26;
constexpr double axis_height = 34;
constexpr double legend_height = 24;
constexpr double bars_width = picture_width - before_bars - 20;
constexpr double narrow = 2;  // Bars below this width are joined, and gaps below it do not show.

// A picture stays readable, and a page small.
constexpr std::uint64_t most_jobs = 20;
constexpr std::size_t most_bars = 300;  // Of a trial.

double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

std::string amount(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// 1, 2 or 5 times a power of ten, so that at most ten fit.
double tick_for(double longest) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(longest, 1e-9) / 10)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (longest / (power * factor) <= 10) return power * factor;
  }
  return power * 10;
}

// Attempts of one job with the same end, next to each other.
struct Bar {
  TimelineSpan span{};
  int last_attempt = 1;
};

class Timelines {
 public:
  explicit Timelines(const std::vector<ShownTrial>& trials) : trials_(trials) {
    for (const ShownTrial& trial : trials) {
      for (const TimelineSpan& span : trial.spans) {
        ends_.insert(span.end);
        longest_ = std::max(longest_, in_seconds(span.to));
      }
    }
    if (longest_ == 0) longest_ = 1;
  }
  [[nodiscard]] std::string svg() {
    std::string content = legend();
    for (const ShownTrial& trial : trials_) content += timeline(trial);
    return detail::svg_picture(picture_width, y_, content);
  }

 private:
  [[nodiscard]] std::string legend();
  [[nodiscard]] std::string timeline(const ShownTrial& trial);
  [[nodiscard]] std::vector<Bar> bars_of(const ShownTrial& trial, double joined_below) const;
  [[nodiscard]] std::string axis(double top) const;
  [[nodiscard]] double x_of(double seconds) const {
    return before_bars + seconds / longest_ * bars_width;
  }
  [[nodiscard]] const char* colour_of(const std::string& end) const;

  const std::vector<ShownTrial>& trials_;
  std::set<std::string> ends_{};
  double longest_ = 0;  // Seconds; all trials have the same scale.
  double y_ = 0;        // Where the next part begins.
};

const char* Timelines::colour_of(const std::string& end) const {
  if (end == "done") return "#009e73";
  if (end == "killed") return "#000000";
  static constexpr std::array<const char*, 6> others{"#d55e00", "#cc79a7", "#e69f00",
                                                     "#56b4e9", "#0072b2", "#555555"};
  return others[static_cast<std::size_t>(std::distance(ends_.begin(), ends_.find(end))) %
                others.size()];
}

std::string Timelines::legend() {
  std::string svg;
  double x = before_bars;
  for (const std::string& end : ends_) {
    const double width = 50 + 7.0 * static_cast<double>(end.size());
    if (x + width > picture_width) {
      x = before_bars;
      y_ += row_height;
    }
    svg += "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y_ + 6) +
           "\" width=\"24\" height=\"" + svg_number(bar_height) + "\" fill=\"" + colour_of(end) +
           "\"/>\n" + svg_text(x + 30, y_ + 15, end);
    x += width;
  }
  y_ += legend_height;
  return svg;
}

std::vector<Bar> Timelines::bars_of(const ShownTrial& trial, double joined_below) const {
  std::vector<TimelineSpan> spans = trial.spans;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TimelineSpan& one, const TimelineSpan& other) {
                     return std::pair(one.job, one.attempt) < std::pair(other.job, other.attempt);
                   });
  const auto width = [this](Duration from, Duration to) {
    return in_seconds(to - from) / longest_ * bars_width;
  };
  std::vector<Bar> bars;
  for (TimelineSpan& span : spans) {
    if (span.job >= most_jobs) break;
    const int attempt = span.attempt;
    if (!bars.empty()) {
      Bar& before = bars.back();
      if (before.span.job == span.job && before.span.end == span.end &&
          width(span.from, span.to) < joined_below && width(before.span.to, span.from) < narrow) {
        before.span.to = span.to;
        before.last_attempt = attempt;
        continue;
      }
    }
    bars.push_back({std::move(span), attempt});
  }
  return bars;
}

// The seconds below a timeline, and a line for each upwards.
std::string Timelines::axis(double top) const {
  std::string svg;
  const double tick = tick_for(longest_);
  for (int i = 0; i * tick <= longest_ * 1.0001; ++i) {
    svg += svg_line(x_of(i * tick), top, x_of(i * tick), y_ + 2, "stroke=\"#dddddd\"");
    svg += svg_text(x_of(i * tick), y_ + 14, amount(i * tick) + (i == 0 ? " s" : ""),
                    " text-anchor=\"middle\" fill=\"#666666\"");
  }
  return svg;
}

std::string Timelines::timeline(const ShownTrial& trial) {
  std::vector<Bar> bars = bars_of(trial, narrow);
  for (double wider = 2 * narrow; bars.size() > most_bars && wider < bars_width; wider *= 2) {
    bars = bars_of(trial, wider);
  }
  std::uint64_t jobs = 0;
  for (const TimelineSpan& span : trial.spans) jobs = std::max(jobs, span.job + 1);
  const std::uint64_t shown = std::min(jobs, most_jobs);
  std::string left_out;
  if (jobs > shown) left_out = ", the first " + std::to_string(shown) + " jobs";
  if (bars.size() > most_bars) left_out += ", without its last attempts";
  const double top = y_ + title_height;
  std::string svg = svg_text(before_bars, y_ + 18, trial.title + left_out, " font-weight=\"bold\"");
  y_ = top + static_cast<double>(shown) * row_height;
  svg += axis(top);
  for (std::uint64_t job = 0; job < shown; ++job) {
    svg += svg_text(before_bars - 8, top + static_cast<double>(job) * row_height + 11,
                    "job " + std::to_string(job + 1), " text-anchor=\"end\"");
  }
  for (std::size_t i = 0; i < std::min(bars.size(), most_bars); ++i) {
    const TimelineSpan& span = bars[i].span;
    const double from = in_seconds(span.from);
    const double to = in_seconds(span.to);
    const std::string attempts = bars[i].last_attempt == span.attempt
                                     ? "attempt " + std::to_string(span.attempt)
                                     : "attempts " + std::to_string(span.attempt) + " to " +
                                           std::to_string(bars[i].last_attempt);
    svg += "<rect x=\"" + svg_number(x_of(from)) + "\" y=\"" +
           svg_number(top + static_cast<double>(span.job) * row_height + 2) + "\" width=\"" +
           svg_number(std::max(x_of(to) - x_of(from), 0.5)) + "\" height=\"" +
           svg_number(bar_height) + "\" fill=\"" + colour_of(span.end) +
           "\" stroke=\"white\" stroke-width=\"0.5\"><title>" + attempts + ": " +
           detail::xml_escaped(span.end) + ", " + amount(from) + " s to " + amount(to) +
           " s</title></rect>\n";
  }
  y_ += axis_height;
  return svg;
}

}  // namespace

std::string timelines_svg(const std::vector<ShownTrial>& trials) {
  if (trials.empty()) return {};
  return Timelines(trials).svg();
}

}  // namespace triage::inline v0_1::lab
