// SPDX-License-Identifier: MIT
#include "render/output.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

// Characters, as UTF-8 counts them: bytes that do not continue another one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

std::string format_time(WallTime time, const char* form) {
  const auto since = time.time_since_epoch().count();
  const auto seconds = static_cast<std::time_t>(since >= 0 ? since / 1000 : (since - 999) / 1000);
  std::tm parts{};
  char text[64] = "?";
  if (::gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, form, &parts);
  return text;
}

std::string milliseconds_of(WallTime time) {
  const auto milliseconds = ((time.time_since_epoch().count() % 1000) + 1000) % 1000;
  char text[16];
  std::snprintf(text, sizeof text, ".%03d", static_cast<int>(milliseconds));
  return text;
}

}  // namespace

Table::Table(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = shorten(cell, longest_cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const Json& value) { print(show(value, 2) + "\n"); }

void warn(std::string_view text) { std::fprintf(stderr, "triage: %s\n", printable(text).c_str()); }

std::string iso_time(WallTime time) {
  return format_time(time, "%Y-%m-%dT%H:%M:%S") + milliseconds_of(time) + "Z";
}

std::string time_of_day(WallTime time) {
  return format_time(time, "%H:%M:%S") + milliseconds_of(time);
}

std::string short_time(WallTime time) { return format_time(time, "%Y-%m-%d %H:%M:%S"); }

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

std::string count(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace triage::inline v0_1::cli
