// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"
#include "classifier/undress/line_starts.hpp"
#include "classifier/undress/log_items.hpp"

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

bool ends_sentence(std::string_view line) {
  return std::string_view(".:;!?{}").find(line.back()) != std::string_view::npos;
}

bool is_inside_sentence(char first) {
  return is_lower(first) || is_digit(first) || is_high(first) ||
         std::string_view("'\"`(/").find(first) != std::string_view::npos;
}

// Whether a sentence may continue on the next line.
bool goes_on(std::string_view line, std::string_view next) {
  if (line.back() == ':' && line.find("panicked at ") != std::string_view::npos) return false;
  const char first = next.front();
  const bool list = (first == '-' || first == '*' || first == '#' || first == '>') &&
                    next.size() > 1 && is_blank(next[1]);
  const bool begins = is_upper(first) || first == '[' || first == '{';
  return !list && !is_blank(first) && !(ends_sentence(line) && begins);
}

// "    at f", "    at async f", "    at new F", "        at": its place is on the next line.
bool is_half_frame(std::string_view line) {
  if (!is_blank(line.front())) return false;
  std::string_view text = trimmed(line);
  if (text == "at") return true;
  if (!text.starts_with("at ") || text.find_first_of("(:<") != std::string_view::npos) return false;
  text.remove_prefix(3);
  for (const std::string_view word : {"async ", "new "}) {
    if (text.starts_with(word)) text.remove_prefix(word.size());
  }
  return text.find(' ') == std::string_view::npos;
}

// Whether the next line ends what has begun on this one: the exception of "Caused by:", the message
// of "app.ParseError:", the place of a frame. What is indented is never the rest of a line.
bool completes(std::string_view line, std::string_view next) {
  if (is_blank(next.front()) || next.starts_with("at ") || next.front() == '#' ||
      next.starts_with("File \"") || is_marker(next) || !introduction_of(next).empty()) {
    return false;
  }
  if (is_half_frame(line)) {
    const std::string_view word = next.substr(0, first_word(next));
    return word.find('(') != std::string_view::npos || word.front() == '/';
  }
  const std::string_view text = trimmed(line);
  return is_introduction(text) ||
         (text.back() == ':' && exception_name_at_start(text) + 1 == text.size());
}

// Source below a frame of a trace, not a frame.
bool is_source(std::string_view line) {
  constexpr std::size_t least_indent = 4;
  const std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view text = line.substr(indent);
  const bool frame = (text.starts_with("at ") && text.find('(') != std::string_view::npos) ||
                     text.starts_with("File \"");
  return (indent >= least_indent || line.front() == '\t') && !frame;
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
  if (is_source(lines.front())) return false;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (completes(lines[i], lines[i + 1])) continue;
    if (lines[i].size() + 1 + first_word(lines[i + 1]) <= width) return false;
    if (!goes_on(lines[i], lines[i + 1])) return false;
  }
  // Of two lines, the longer may come first by chance.
  if (lines.size() > 2 || completes(lines[0], lines[1])) return true;
  const char last = lines[0].back();
  const bool in_sentence = is_lower(last) || last == ',' || is_digit(last);
  return lines[0].size() >= 30 &&
         (in_sentence ? is_inside_sentence(lines[1].front())
                      : is_lower(lines[1].front()) && !ends_sentence(lines[0]));
}

// Lines of a log begin with their time, perhaps in brackets, or with their source. A date alone may
// be part of a sentence.
bool begins_log_line(std::string_view line) {
  Reader reader{line};
  reader.take('[');
  if (take_timestamp(reader) && line.substr(0, reader.at).find(':') != std::string_view::npos)
    return true;
  reader.at = 0;
  return take_container(reader);
}

// Cut at one column, through words: all lines but the last are equally long.
bool is_cut(const Lines& lines) {
  const std::size_t width = lines.front().size();
  if (lines.size() < 3 || width < least_width || lines.back().size() > width) return false;
  if (is_enumeration(lines) || std::any_of(lines.begin() + 1, lines.end(), begins_log_line))
    return false;
  const bool equal = std::all_of(lines.begin(), lines.end() - 1,
                                 [&](std::string_view line) { return line.size() == width; });
  // If the text was broken between words, the spaces there are lost.
  constexpr std::size_t many = 5;
  const bool blank = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return is_blank(line.front()) || is_blank(line.back());
  });
  return equal && (blank || lines.size() >= many);
}

// Frames of a trace are indented, and links of its chain begin with an introduction or a name.
bool begins_paragraph(std::string_view line) {
  return is_blank(line.front()) || begins_log_line(line) || line.starts_with("at ") ||
         is_marker(line) || is_introduction(line) || !introduction_of(line).empty() ||
         exception_name_at_start(line) > 0;
}

class Joiner {
 public:
  void line(std::string_view whole) {
    const std::string_view text = without_end(whole);
    if (text.empty()) {
      end_block();
      add_line("");
    } else {
      block_.push_back(text);
      raw_.push_back(whole);
    }
  }
  std::string take() {
    end_block();
    return std::move(out_);
  }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  // Lines without an empty one between them.
  void end_block() {
    if (block_.size() > 1 && is_cut(raw_)) {
      join(raw_, "");
    } else {
      Lines paragraph;
      for (const std::string_view text : block_) {
        const bool goes_on = !paragraph.empty() && completes(paragraph.back(), text);
        if (!goes_on && begins_paragraph(text)) add_paragraph(paragraph);
        paragraph.push_back(text);
      }
      add_paragraph(paragraph);
    }
    block_.clear();
    raw_.clear();
  }

  // Empties the paragraph. One that is not wrapped may have lines that others complete.
  void add_paragraph(Lines& paragraph) {
    if (paragraph.size() > 1 && is_wrapped(paragraph)) {
      join(paragraph, " ");
    } else {
      Lines together;
      for (std::size_t i = 0; i < paragraph.size(); ++i) {
        together.push_back(paragraph[i]);
        if (i + 1 < paragraph.size() && completes(paragraph[i], paragraph[i + 1])) continue;
        join(together, " ");
        together.clear();
      }
    }
    paragraph.clear();
  }

  void join(const Lines& lines, std::string_view between) {
    changed_ = changed_ || lines.size() > 1;
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

  Lines block_{};
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
