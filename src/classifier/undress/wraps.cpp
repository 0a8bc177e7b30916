// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr std::size_t least_width = 20;
constexpr std::size_t most_width = 200;

using Lines = std::vector<std::string_view>;

std::string_view without_end(std::string_view line) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  return line;
}

std::size_t first_word(std::string_view line) { return std::min(line.find(' '), line.size()); }

// Whether a sentence may continue on the next line.
bool goes_on(std::string_view line, std::string_view next) {
  const char last = line.back();
  const char first = next.front();
  const bool ended = last == '.' || last == ':' || last == ';' || last == '!' || last == '?' ||
                     last == '{' || last == '}';
  const bool list = (first == '-' || first == '*' || first == '#' || first == '>') &&
                    next.size() > 1 && is_blank(next[1]);
  const bool begins = is_upper(first) || first == '[' || first == '{';
  return !list && !is_blank(first) && !(ended && begins);
}

// Lines of a log or a list: all but the last begin with the same word.
bool is_enumeration(const Lines& lines) {
  if (lines.size() < 3) return false;
  const std::string_view word = lines.front().substr(0, first_word(lines.front()));
  return !word.empty() && std::all_of(lines.begin(), lines.end() - 1, [&](std::string_view line) {
    return line.substr(0, first_word(line)) == word;
  });
}

// Each line is as long as possible: the next word did not fit.
bool is_wrapped(const Lines& lines) {
  std::size_t width = 0;
  for (const std::string_view line : lines) width = std::max(width, line.size());
  if (width < least_width || width > most_width || is_enumeration(lines)) return false;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i].size() + 1 + first_word(lines[i + 1]) <= width) return false;
    if (!goes_on(lines[i], lines[i + 1])) return false;
  }
  // Of two lines, the longer may come first by chance.
  if (lines.size() > 2) return true;
  const char last = lines[0].back();
  return lines[0].size() >= 30 && (is_lower(last) || last == ',' || is_digit(last)) &&
         !is_upper(lines[1].front());
}

// Cut at one column, through words: all lines but the last are equally long.
bool is_cut(const Lines& lines) {
  const std::size_t width = lines.front().size();
  if (lines.size() < 3 || width < least_width || lines.back().size() > width) return false;
  if (is_enumeration(lines)) return false;
  const bool equal = std::all_of(lines.begin(), lines.end() - 1,
                                 [&](std::string_view line) { return line.size() == width; });
  // If the text was broken between words, the spaces there are lost.
  constexpr std::size_t many = 5;
  const bool blank = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return is_blank(line.front()) || is_blank(line.back());
  });
  return equal && (blank || lines.size() >= many);
}

class Joiner {
 public:
  void line(std::string_view whole) {
    const std::string_view text = without_end(whole);
    if (text.empty()) {
      end_paragraph();
      add_line("");
    } else {
      paragraph_.push_back(text);
      raw_.push_back(whole);
    }
  }
  std::string take() {
    end_paragraph();
    return std::move(out_);
  }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  void end_paragraph() {
    if (paragraph_.empty()) return;
    if (paragraph_.size() > 1 && is_cut(raw_)) {
      join(raw_, "");
    } else if (paragraph_.size() > 1 && is_wrapped(paragraph_)) {
      join(paragraph_, " ");
    } else {
      for (const std::string_view text : paragraph_) add_line(text);
    }
    paragraph_.clear();
    raw_.clear();
  }

  void join(const Lines& lines, std::string_view between) {
    changed_ = true;
    std::string joined;
    for (const std::string_view text : lines) {
      if (!joined.empty()) joined += between;
      joined += text;
    }
    add_line(joined);
  }

  void add_line(std::string_view text) {
    if (!first_) out_ += '\n';
    first_ = false;
    out_ += text;
  }

  Lines paragraph_{};
  Lines raw_{};
  std::string out_{};
  bool first_ = true;
  bool changed_ = false;
};

}  // namespace

bool join_wrapped_lines(std::string& text) {
  if (text.find('\n') == std::string::npos) return false;
  Joiner joiner;
  for (const std::string_view line : lines_of(text)) joiner.line(line);
  std::string out = joiner.take();
  if (!joiner.changed()) return false;
  text = std::move(out);
  return true;
}

}  // namespace triage::inline v0_1::detail
