// SPDX-License-Identifier: MIT
#pragma once
// Output formats: aligned tables for people, one JSON document for programs.

#include "triage/clock.hpp"
#include "triage/detail/counted.hpp"
#include "triage/detail/shell_word.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// How a column's cells are shortened if a table is too wide.
enum class Cut {
  end,     // "a long te…"
  middle,  // "01KAQW…8ZK3XJ": both ends of an id identify it.
  never,
  wrap,  // Not shortened, but wrapped to the next line. For the last column.
};
struct Column {
  Column(const char* text, Cut what = Cut::end) : heading(text), cut(what) {}
  std::string heading;
  Cut cut;
};

// Columns are as wide as their widest cell. Cells are made printable and cut at `longest_cell`
// characters, so that one long label cannot ruin the table, and further until the lines fit the
// screen: the widest columns first, none below `narrowest` characters or its heading.
class Table {
 public:
  static constexpr std::size_t longest_cell = 72;
  static constexpr std::size_t narrowest = 8;

  // repeated: where lines do not fit the screen, the columns without room make tables of their own
  // below, each behind these first columns. 0: then columns are cut.
  explicit Table(std::vector<Column> columns, std::size_t repeated = 0);
  void add(std::vector<std::string> cells);
  // width: of a line; 0: as wide as the screen.
  [[nodiscard]] std::string text(std::size_t width = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  void fit(std::vector<std::size_t>& widths, std::size_t limit) const;
  // columns: which, in this order.
  [[nodiscard]] std::string lines(const std::vector<std::size_t>& columns,
                                  const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_{};
  std::size_t repeated_;
  std::vector<std::vector<std::string>> rows_{};
};

// The terminal's width if the output is a terminal wider than 80 characters, else 80.
[[nodiscard]] std::size_t screen_width() noexcept;
// A command's help with no line wider than 80 characters, but for examples: the column of what
// explains options is kept.
[[nodiscard]] std::string folded_help(const std::string& help);

void print(std::string_view text);   // To stdout, unchanged.
void print_json(const Json& value);  // Indented, with a newline; bad UTF-8 escaped.
// What a command has done: as a line, or as JSON.
void print_done(bool as_json, const std::string& sentence, const Json& facts);
void warn(std::string_view text);  // "triage: …" to stderr; a line of JSON where JSON is asked for.
// What warn() prints, with its end.
[[nodiscard]] std::string warning(std::string_view text);
// What ends a line on standard error: a terminal that a program has may need a carriage return.
[[nodiscard]] const char* line_end() noexcept;
// Errors: Errc::io if any of what was printed so far, also by std::cout, could not be written.
[[nodiscard]] Result<void> flush_output();

[[nodiscard]] std::string iso_time(WallTime time);    // "2026-11-21T10:00:00.123Z"
[[nodiscard]] std::string short_time(WallTime time);  // "2026-11-21 10:00:00", in UTC.
[[nodiscard]] std::string short_duration(std::chrono::milliseconds time);  // "2.5 s", "4 min"
[[nodiscard]] std::string time_of_day(WallTime time);  // "10:00:00.123", in UTC.
// At most `longest` characters of one printable line, with "…" where it was cut.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t longest);
// At most `longest` characters of a printable text, cut in the middle with "…".
[[nodiscard]] std::string shorten_middle(const std::string& text, std::size_t longest);
using detail::counted;
using detail::shell_word;

}  // namespace triage::inline v0_1::cli
