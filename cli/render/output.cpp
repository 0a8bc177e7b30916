// SPDX-License-Identifier: MIT
#include "render/output.hpp"

#include "command_status.hpp"
#include "triage/detail/utc_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <utility>

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t gap = 2;  // Between columns.

// The number of UTF-8 characters: bytes that do not continue another one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

// Wraps text at spaces to lines of at most `most` characters, indenting all but the first.
std::string wrapped(std::string_view text, std::size_t most, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size() - 1) + 1;
    const std::string_view word = text.substr(0, end);
    if (used > 0 && used + width(word) > most + (word.back() == ' ' ? 1 : 0)) {
      out.erase(out.find_last_not_of(' ') + 1);
      out.append("\n").append(indent, ' ');
      used = 0;
    }
    out += word;
    used += width(word);
    text.remove_prefix(end);
  }
  return out;
}

// A cell fitted to a column of this width that begins at `indent`.
std::string fitted(const std::string& cell, Cut cut, std::size_t columns, std::size_t indent) {
  if (width(cell) <= columns) return cell;
  if (cut == Cut::wrap) return wrapped(cell, columns, indent);
  return cut == Cut::middle ? shorten_middle(cell, columns) : shorten(cell, columns);
}

}  // namespace

Table::Table(std::vector<Column> columns, std::size_t repeated)
    : columns_(std::move(columns)), repeated_(repeated) {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  rows_.push_back(std::move(headings));
}

void Table::add(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cut cut = columns_[i].cut;
    cells[i] = cut == Cut::middle
                   ? shorten_middle(printable(cells[i]), longest_cell)
                   : shorten(cells[i], cut == Cut::wrap ? 8 * longest_cell : longest_cell);
  }
  rows_.push_back(std::move(cells));
}

// Narrows the widest columns that may be cut until the line fits, or none can be narrower.
void Table::fit(std::vector<std::size_t>& widths, std::size_t limit) const {
  std::size_t total = gap * (widths.size() - 1);
  for (const std::size_t one : widths) total += one;
  for (; total > limit; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::size_t least = std::max(narrowest, width(columns_[i].heading));
      if (columns_[i].cut == Cut::never || widths[i] <= least) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  return widths;
}

std::string Table::lines(const std::vector<std::size_t>& columns,
                         const std::vector<std::size_t>& widths) const {
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (const std::size_t i : columns) {
      const std::string cell = fitted(row[i], columns_[i].cut, widths[i], width(line));
      line += cell;
      line.append(widths[i] - std::min(widths[i], width(cell)) + gap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string Table::text(std::size_t limit) const {
  if (limit == 0) limit = screen_width();
  std::vector<std::size_t> widths = this->widths();
  std::vector<std::size_t> first;
  std::size_t room = limit + gap;
  for (std::size_t i = 0; i < repeated_; ++i) {
    first.push_back(i);
    room -= std::min(room, widths[i] + gap);
  }
  if (repeated_ == 0) fit(widths, limit);
  std::string out;
  for (std::size_t next = repeated_; next < columns_.size();) {
    std::vector<std::size_t> shown = first;
    std::size_t used = 0;
    do {
      used += widths[next] + gap;
      shown.push_back(next++);
    } while (next < columns_.size() && (repeated_ == 0 || used + widths[next] + gap <= room));
    out += (out.empty() ? "" : "\n") + lines(shown, widths);
  }
  return out;
}

std::size_t screen_width() noexcept {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 80;
  return std::max<std::size_t>(80, size.ws_col);
}

std::string folded_help(const std::string& help) {
  constexpr std::size_t most = 80;
  constexpr std::size_t option_column = 30;  // CLI11's.
  std::string out;
  std::string carried;  // Of the line before, for the paragraph's next one.
  bool footer = false;
  bool example = false;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    example = line.starts_with("Example: ") || (example && !line.empty());
    footer = footer || example || line.starts_with("Exit status: ");
    if (!carried.empty() && (line.empty() || line.front() == ' ')) {
      out += std::exchange(carried, "") + "\n";
    }
    if (!carried.empty()) line = std::exchange(carried, "") + " " + line;
    const bool option = !footer && line.size() > option_column && line[option_column - 1] == ' ' &&
                        line[option_column] != ' ' && line.front() == ' ';
    const std::size_t indent = option ? option_column : std::min(line.find_first_not_of(' '), most);
    if (example || width(line) <= most) {
      out += line + "\n";
      continue;
    }
    line = line.substr(0, indent) + wrapped(line.substr(indent), most - indent, indent);
    if (footer && indent == 0) {
      const std::size_t last = line.rfind('\n');
      carried = line.substr(last + 1);
      line.resize(last);
    }
    out += line + "\n";
  }
  return carried.empty() ? out : out + carried + "\n";
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const Json& value) { print(show(value, 2) + "\n"); }

void print_done(bool as_json, const std::string& sentence, const Json& facts) {
  if (as_json) return print_json(facts);
  print(sentence + "\n");
}

const char* line_end() noexcept {
  termios modes{};
  const bool raw = ::tcgetattr(STDERR_FILENO, &modes) == 0 && (modes.c_oflag & OPOST) == 0;
  return raw ? "\r\n" : "\n";
}

std::string warning(std::string_view text) {
  if (!asked_for_json()) return "triage: " + printable(text) + line_end();
  return show(Json{{"event", "warning"}, {"message", text}}) + line_end();
}

void warn(std::string_view text) { std::fputs(warning(text).c_str(), stderr); }

// A write that failed before may have left nothing to flush.
Result<void> flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !std::cout.fail()) {
    return outcome::success();
  }
  const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  return Error{Errc::io, "the output could not be written" + why};
}

std::string iso_time(WallTime time) { return detail::utc_text_ms(time, "%Y-%m-%dT%H:%M:%S") + "Z"; }

std::string time_of_day(WallTime time) { return detail::utc_text_ms(time, "%H:%M:%S"); }

std::string short_time(WallTime time) { return detail::utc_text(time, "%Y-%m-%d %H:%M:%S"); }

std::string short_duration(std::chrono::milliseconds time) {
  const auto seconds = static_cast<double>(time.count()) / 1000;
  char text[32];
  if (seconds < 100) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (seconds < 100 * 60) {
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  } else if (seconds < 100 * 3600) {
    std::snprintf(text, sizeof text, "%.0f h", seconds / 3600);
  } else {
    std::snprintf(text, sizeof text, "%.0f d", seconds / 86400);
  }
  return text;
}

std::string shorten(std::string_view text, std::size_t longest) {
  std::string line = printable(text.substr(0, longest * 8));
  if (width(line) <= longest && text.size() <= longest * 8) return line;
  std::string cut;
  std::size_t characters = 0;
  for (const char byte : line) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U && ++characters >= longest) break;
    cut += byte;
  }
  return cut + "…";
}

std::string shorten_middle(const std::string& text, std::size_t longest) {
  const std::size_t have = width(text);
  if (have <= longest) return text;
  const std::size_t behind = (longest - 1) / 2;  // Characters kept on either side.
  const std::size_t before = longest - 1 - behind;
  std::string cut;
  std::size_t character = 0;
  for (const char byte : text) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U && character++ == before) cut += "…";
    if (character <= before || character > have - behind) cut += byte;
  }
  return cut;
}

}  // namespace triage::inline v0_1::cli
