// SPDX-License-Identifier: MIT
#include "triage/lab/experiment_plots.hpp"

#include "lab/experiment/svg.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace triage::inline v0_1::lab {
namespace {

using detail::svg_number;
using detail::xml_escaped;

// In units of the picture.
constexpr double panel_width = 300;
constexpr double panel_height = 170;
constexpr double left = 44;   // Of a panel, for its axis.
constexpr double above = 34;  // For its title.
constexpr double below = 40;  // For the levels.
constexpr double line = 18;   // Of the legend.
constexpr std::size_t most_in_a_row = 3;

std::vector<std::string> add_once(std::vector<std::string> known, const std::string& one) {
  if (std::find(known.begin(), known.end(), one) == known.end()) known.push_back(one);
  return known;
}

std::size_t place_of(const std::vector<std::string>& all, const std::string& one) {
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), one) - all.begin());
}

// How a condition is drawn.
struct Place {
  std::string series{};
  std::string panel{};
  std::string level{};
};

Place place_of(const Condition& condition) {
  const auto& levels = condition.levels();
  Place place{.series = levels.front().second};
  if (levels.size() > 1) place.level = levels.back().second;
  for (std::size_t i = 1; i + 1 < levels.size(); ++i) {
    place.panel += (place.panel.empty() ? "" : ", ") + levels[i].first + ": " + levels[i].second;
  }
  return place;
}

class Picture {
 public:
  explicit Picture(const ExperimentReport& report) : report_(report) {
    for (const ConditionReport& one : report.conditions) {
      const Place place = place_of(one.condition);
      series_ = add_once(std::move(series_), place.series);
      panels_ = add_once(std::move(panels_), place.panel);
      levels_ = add_once(std::move(levels_), place.level);
    }
  }
  [[nodiscard]] std::string svg() const;

 private:
  [[nodiscard]] std::string legend() const;
  [[nodiscard]] std::string frame(std::size_t panel) const;
  [[nodiscard]] std::string points(std::size_t series) const;
  [[nodiscard]] double x_of(std::size_t panel) const {
    return static_cast<double>(panel % most_in_a_row) * panel_width + left;
  }
  [[nodiscard]] double y_of(std::size_t panel, double rate) const {
    return static_cast<double>(panel / most_in_a_row) * (panel_height + above + below) + top() +
           above + (1 - rate) * panel_height;
  }
  [[nodiscard]] double top() const { return static_cast<double>(series_.size()) * line + 8; }
  [[nodiscard]] double step() const {
    return (panel_width - left - 12) / static_cast<double>(levels_.size());
  }

  const ExperimentReport& report_;
  std::vector<std::string> series_{};
  std::vector<std::string> panels_{};
  std::vector<std::string> levels_{};
};

std::string Picture::legend() const {
  std::string svg;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const double y = static_cast<double>(i) * line + 14;
    svg += "<circle cx=\"12\" cy=\"" + svg_number(y - 4) + "\" r=\"4\" fill=\"" +
           detail::svg_colours[i % detail::svg_colours.size()] + "\"/>\n" +
           detail::svg_text(22, y, series_[i]);
  }
  return svg;
}

// A panel without its points.
std::string Picture::frame(std::size_t panel) const {
  const double x = x_of(panel);
  std::string svg =
      detail::svg_text(x, y_of(panel, 1) - 12, panels_[panel], " font-weight=\"bold\"");
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = y_of(panel, percent / 100.0);
    svg += detail::svg_line(x, y, x + panel_width - left - 12, y, "stroke=\"#cccccc\"");
    svg += detail::svg_text(x - 6, y + 4, std::to_string(percent) + (percent == 100 ? " %" : ""),
                            " text-anchor=\"end\"");
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    svg += detail::svg_text(x + (static_cast<double>(i) + 0.5) * step(), y_of(panel, 0) + 16,
                            levels_[i], " text-anchor=\"middle\"");
  }
  const std::string& factor = report_.conditions.front().condition.levels().back().first;
  if (levels_.size() > 1) {
    svg += detail::svg_text(x + (panel_width - left - 12) / 2, y_of(panel, 0) + 32, factor,
                            " text-anchor=\"middle\" fill=\"#666666\"");
  }
  return svg;
}

std::string Picture::points(std::size_t series) const {
  const std::string colour = detail::svg_colours[series % detail::svg_colours.size()];
  std::string svg;
  for (const ConditionReport& one : report_.conditions) {
    const Place place = place_of(one.condition);
    if (place.series != series_[series]) continue;
    const std::size_t panel = place_of(panels_, place.panel);
    // Side by side, so that equal values stay distinguishable.
    const double aside = (static_cast<double>(series) + 0.5) / static_cast<double>(series_.size());
    const double x =
        x_of(panel) +
        (static_cast<double>(place_of(levels_, place.level)) + 0.2 + 0.6 * aside) * step();
    svg += detail::svg_line(x, y_of(panel, one.interval.low), x, y_of(panel, one.interval.high),
                            "stroke=\"" + colour + "\" stroke-width=\"2\"");
    svg += "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y_of(panel, one.rate)) +
           "\" r=\"3.5\" fill=\"" + colour + "\"><title>" + xml_escaped(one.condition.text()) +
           ": " + svg_number(one.rate * 100) + " % (" + svg_number(one.interval.low * 100) +
           " to " + svg_number(one.interval.high * 100) + ")</title></circle>\n";
  }
  return svg;
}

std::string Picture::svg() const {
  const std::size_t columns = std::min(panels_.size(), most_in_a_row);
  const std::size_t rows = (panels_.size() + most_in_a_row - 1) / most_in_a_row;
  const double width = static_cast<double>(columns) * panel_width + 12;
  const double height = top() + static_cast<double>(rows) * (panel_height + above + below) + 4;
  std::string svg = legend();
  for (std::size_t i = 0; i < panels_.size(); ++i) svg += frame(i);
  for (std::size_t i = 0; i < series_.size(); ++i) svg += points(i);
  return detail::svg_picture(width, height, svg);
}

}  // namespace

std::string success_svg(const ExperimentReport& report) {
  if (report.conditions.empty()) return {};
  return Picture(report).svg();
}

}  // namespace triage::inline v0_1::lab
