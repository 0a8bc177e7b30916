// SPDX-License-Identifier: MIT
#pragma once
// The pieces that the pictures of experiments are made of.

#include "triage/json.hpp"

#include <array>
#include <cstdio>
#include <string>

namespace triage::inline v0_1::lab::detail {

// Distinguishable with colour blindness. Source: M. Okabe, K. Ito, 2008.
inline constexpr std::array<const char*, 7> svg_colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                        "#e69f00", "#56b4e9", "#555555"};

[[nodiscard]] inline std::string svg_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

[[nodiscard]] inline std::string xml_escaped(const std::string& text) {
  std::string all;
  for (const char c : printable(text)) {
    if (c == '<')
      all += "&lt;";
    else if (c == '>')
      all += "&gt;";
    else if (c == '&')
      all += "&amp;";
    else if (c == '"')
      all += "&quot;";
    else
      all += c;
  }
  return all;
}

// more: further attributes, with a blank before each.
[[nodiscard]] inline std::string svg_text(double x, double y, const std::string& text,
                                          const char* more = "") {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\"" + more + ">" +
         xml_escaped(text) + "</text>\n";
}

[[nodiscard]] inline std::string svg_line(double x1, double y1, double x2, double y2,
                                          const std::string& style) {
  return "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) + "\" x2=\"" +
         svg_number(x2) + "\" y2=\"" + svg_number(y2) + "\" " + style + "/>\n";
}

// The whole picture on white.
[[nodiscard]] inline std::string svg_picture(double width, double height,
                                             const std::string& content) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svg_number(width) + " " +
         svg_number(height) + "\" width=\"" + svg_number(width) +
         "\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n" +
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + content + "</svg>\n";
}

}  // namespace triage::inline v0_1::lab::detail
