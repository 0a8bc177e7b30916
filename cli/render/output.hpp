// SPDX-License-Identifier: MIT
#pragma once
// How results look: aligned tables for people, one JSON document for programs.

#include "triage/clock.hpp"
#include "triage/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// Columns are as wide as their widest cell; cells are made printable and cut at `longest_cell`
// characters, so that one long label does not destroy the table.
class Table {
 public:
  static constexpr std::size_t longest_cell = 72;

  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_{};
};

void print(std::string_view text);   // To stdout, as it is.
void print_json(const Json& value);  // Indented, with a newline; bad UTF-8 escaped.
void warn(std::string_view text);    // "triage: …" to stderr.

[[nodiscard]] std::string iso_time(WallTime time);     // "2026-11-21T10:00:00.123Z"
[[nodiscard]] std::string short_time(WallTime time);   // "2026-11-21 10:00:00", in UTC.
[[nodiscard]] std::string time_of_day(WallTime time);  // "10:00:00.123", in UTC.
// At most `longest` characters of one line of printable text, with "…" where something was cut.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t longest);
// "1 step", "2 steps".
[[nodiscard]] std::string count(std::size_t number, std::string_view noun);

}  // namespace triage::inline v0_1::cli
