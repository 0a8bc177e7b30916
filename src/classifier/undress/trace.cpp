// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"
#include "classifier/undress/line_starts.hpp"
#include "search/mark_finder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

bool ends_with_place(std::string_view line) {
  std::size_t end = line.size();
  while (end > 0 && is_digit(line[end - 1])) --end;
  return end < line.size() && end > 0 && (line[end - 1] == ':' || line[end - 1] == ' ');
}

// "at f (main.js:3:7)", "at com.x.Y.z(Y.java:12)", "at N.M() in /x.cs:line 3", "at /x.js:3:7"
bool is_at_frame(std::string_view line) {
  if (!line.starts_with("at ")) return false;
  const std::string_view rest = trimmed(line.substr(3));
  if (rest.starts_with("async ") || rest.starts_with("<anonymous>")) return true;
  if (rest.find(":line ") != std::string_view::npos) return true;
  const std::size_t open = rest.find('(');
  if (open != std::string_view::npos) {
    const bool name = std::none_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(open),
                                   [](char c) { return c == ',' || c == '"'; });
    return name && (rest.back() == ')' || rest.find(") in ") != std::string_view::npos ||
                    rest.find(") [") != std::string_view::npos);
  }
  return rest.find(' ') == std::string_view::npos && ends_with_place(rest);
}

// "main.main()", "net/http.(*conn).serve(0xc0000a, …)", and "\t/src/x.go:12 +0x1d" below it.
bool is_go_frame(std::string_view line) {
  if (line.starts_with("goroutine ") && line.ends_with("]:")) return true;
  if (line.starts_with("created by ")) return true;
  if (line.starts_with("/") && line.find(".go:") != std::string_view::npos) return true;
  const bool call = line.ends_with(")") && line.find(' ') > line.find('(');
  return call && line.find('.') < line.find('(') && line.find('(') != std::string_view::npos &&
         is_lower(line.empty() ? ' ' : line.front());
}

// "#0  0x7f3a in f () at x.c:3", "#1 /x.php(12): f()", "#2 {main}", "#3   main
// (file:///x.dart:3:5)"
bool is_numbered_frame(std::string_view line) {
  Reader reader{line};
  if (!reader.take('#') || !reader.digits(1, 4) || !is_blank(reader.next())) return false;
  const std::string_view rest = trimmed(reader.rest());
  return rest.starts_with("0x") || rest.starts_with("{main}") || rest.ends_with(")") ||
         rest.find("): ") != std::string_view::npos || ends_with_place(rest);
}

// "   4: core::panicking::panic_fmt", and "at /rustc/…/panicking.rs:72:14" below it.
bool is_rust_frame(std::string_view line, std::size_t indent) {
  Reader reader{line};
  if (!reader.digits(1, 4) || !reader.take(": ")) return false;
  return indent > 0 && reader.rest().find("::") != std::string_view::npos &&
         reader.rest().find(' ') == std::string_view::npos;
}

// "from x.rb:3:in `f'", "x.lua:3: in function 'f'", "(app 0.1.0) lib/x.ex:3: M.f/1"
bool is_script_frame(std::string_view line, std::size_t indent) {
  if (line.starts_with("from ") &&
      (line.find(":in ") != std::string_view::npos || ends_with_place(line))) {
    return true;
  }
  if (indent > 0 && line.find(": in ") != std::string_view::npos &&
      (line.find(".lua:") != std::string_view::npos || line.starts_with("[C]"))) {
    return true;
  }
  return indent > 0 && line.starts_with("(") && line.find(".ex") != std::string_view::npos &&
         line.find("/") != std::string_view::npos;
}

bool is_marks_only(std::string_view line) {
  return line.find_first_not_of("^~-+|=_ \t") == std::string_view::npos;
}

class TraceReader {
 public:
  explicit TraceReader(std::string_view text) : lines_(lines_of(text)) {}

  // The lines without frames; empty if there are no frames.
  std::vector<std::string_view> run() {
    for (number_ = 0; number_ < lines_.size(); ++number_) line(lines_[number_]);
    return found_ ? std::move(kept_) : std::vector<std::string_view>{};
  }

 private:
  void line(std::string_view whole) {
    // Exception groups draw a margin: "  | ", "    | ".
    std::size_t indent = 0;
    while (indent < whole.size() && (is_blank(whole[indent]) || whole[indent] == '|')) ++indent;
    const std::string_view text = trimmed(whole.substr(indent));
    if (box(text)) return;
    if (in_source(text, indent)) return;
    if (text.empty()) return;
    if (is_marker(text.starts_with("+ ") ? text.substr(2) : text)) {
      found_ = true;
      return;
    }
    if (text.starts_with("File \"") && text.find("\", line ") != std::string_view::npos) {
      found_ = true;
      source_indent_ = indent;
      after_file_ = true;
      return;
    }
    const bool frame = is_at_frame(text) || is_numbered_frame(text) || is_go_frame(text) ||
                       is_rust_frame(text, indent) || is_script_frame(text, indent);
    if (frame && (indent > 0 || found_ || text.starts_with("goroutine ") || !is_go_frame(text))) {
      found_ = true;
      return;
    }
    if (found_ && is_marks_only(text)) return;
    if (is_pointed_at()) return;
    keep(text);
  }

  // Source lines below a Python frame are indented further.
  bool in_source(std::string_view text, std::size_t indent) {
    if (!after_file_) return false;
    if (!text.empty() && indent > source_indent_) return true;
    after_file_ = false;
    return false;
  }

  // A box drawn around a traceback, as by rich.
  bool box(std::string_view text) {
    if (text.starts_with("\xE2\x95\xAD") && text.find("Traceback") != std::string_view::npos) {
      in_box_ = true;
      found_ = true;
    }
    if (!in_box_) return false;
    if (text.starts_with("\xE2\x95\xB0")) in_box_ = false;
    return true;
  }

  // "/x.js:12", a line of source and a caret below it: Node prints these before the error.
  bool is_pointed_at() {
    if (number_ + 2 >= lines_.size()) return false;
    const std::string_view caret = trimmed(lines_[number_ + 2]);
    if (caret.empty() || caret.find_first_not_of('^') != std::string_view::npos) return false;
    const std::string_view here = trimmed(lines_[number_]);
    const bool place =
        ends_with_place(here) && here.find(' ') == std::string_view::npos &&
        (here.starts_with("/") || here.starts_with("file:") || here.starts_with("node:"));
    if (!place) return false;
    found_ = true;
    number_ += 2;
    return true;
  }

  void keep(std::string_view text) {
    std::string_view start = introduction_of(text);
    // No introduction has a part of what is looked for.
    const bool is_own = !start.empty() && is_runtimes_own(text);
    for (; !start.empty(); start = introduction_of(text)) {
      found_ = found_ || start != "** ";
      if (is_own) break;
      text.remove_prefix(start.size());
    }
    text = without_thread(text);
    if (ruby(text)) return;
    if (text.starts_with("exit status ") && found_) return;
    if (!text.empty()) kept_.push_back(text);
  }

  // A bug found by the language's runtime; its introduction is kept because it says what raised it.
  static bool is_runtimes_own(std::string_view text) {
    return text.find("runtime error: ") != std::string_view::npos ||
           text.find("unwrap()` on a") != std::string_view::npos;
  }

  // "Exception in thread "main" x.Y: …"; "thread 'main' panicked at …".
  std::string_view without_thread(std::string_view text) {
    if (text.starts_with("Exception in thread ")) {
      found_ = true;
      text.remove_prefix(20);
      if (text.starts_with("\"")) text.remove_prefix(std::min(text.find('"', 1) + 1, text.size()));
      return trimmed(text);
    }
    if (!text.starts_with("thread ")) return text;
    constexpr std::string_view verb = " panicked at ";
    const std::size_t panicked = text.find(verb);
    if (panicked == std::string_view::npos) return text;
    found_ = true;
    const std::string_view whole = text;
    text = text.substr(panicked + verb.size());
    if (text.ends_with(":") && text.find(".rs:") != std::string_view::npos) {
      const bool bug = number_ + 1 < lines_.size() && is_runtimes_own(lines_[number_ + 1]);
      return bug ? whole : std::string_view();
    }
    const std::size_t place = text.rfind(", ");
    if (text.starts_with("'") && place != std::string_view::npos &&
        text.find(".rs:", place) != std::string_view::npos && !is_runtimes_own(text)) {
      text = text.substr(1, place - 1);
      if (text.ends_with("'")) text.remove_suffix(1);
    }
    return text;
  }

  // "x.rb:3:in `f': no such tool (RuntimeError)", "… in /x.php:3"
  bool ruby(std::string_view text) {
    const std::size_t rb = text.find(".rb:");
    const std::size_t in = text.find(":in ", rb == std::string_view::npos ? 0 : rb);
    if (rb == std::string_view::npos || in == std::string_view::npos || rb > 120) return false;
    const std::size_t colon = text.find("': ", in);
    if (colon == std::string_view::npos || text.substr(0, rb).find(' ') != std::string_view::npos) {
      return false;
    }
    found_ = true;
    text = text.substr(colon + 3);
    const std::size_t type = text.rfind(" (");
    if (type != std::string_view::npos && text.ends_with(")")) {
      const std::string_view name = text.substr(type + 2, text.size() - type - 3);
      if (is_common_exception(name)) text = text.substr(0, type);
    }
    kept_.push_back(text);
    return true;
  }

  std::vector<std::string_view> lines_;
  std::vector<std::string_view> kept_{};
  std::size_t number_ = 0;
  std::size_t source_indent_ = 0;
  bool after_file_ = false;
  bool in_box_ = false;
  bool found_ = false;
};

// "… in /srv/x.php:12" after the message, if a PHP trace follows.
std::string_view without_php_place(std::string_view line) {
  const std::size_t in = line.rfind(" in /");
  if (in == std::string_view::npos || line.find(".php", in) == std::string_view::npos) return line;
  return line.substr(0, in);
}

// Without names that any failure may have: "Error: java.lang.RuntimeException: no such tool".
std::string_view without_common_names(std::string_view line) {
  while (true) {
    const std::size_t name = exception_name_at_start(line);
    if (name == 0 || name + 1 >= line.size() || !is_common_exception(line.substr(0, name)))
      return line;
    const std::string_view rest = trimmed(line.substr(name + 1));
    if (!has_letter(rest) && rest != "{" && rest != "[") return line;
    line = rest;
  }
}

// Most traces contain one of these; other texts are not read line by line.
constexpr MarkFinder trace_marks(std::to_array<std::string_view>({"Traceback",
                                                                  "  at ",
                                                                  "\n\tat ",
                                                                  "\nat ",
                                                                  "Caused by",
                                                                  "goroutine ",
                                                                  "panicked at",
                                                                  "panic: ",
                                                                  "File \"",
                                                                  "Stack trace",
                                                                  "stack trace",
                                                                  "backtrace",
                                                                  "\n\tfrom ",
                                                                  "#0 ",
                                                                  "#1 ",
                                                                  " ---> ",
                                                                  "Unhandled exception",
                                                                  "Uncaught ",
                                                                  "Exception in thread",
                                                                  "[cause]",
                                                                  "\n    (",
                                                                  "Stacktrace"}));

}  // namespace

bool unfold_trace(std::string& text) {
  if (!trace_marks.any_in(text)) return false;
  std::vector<std::string_view> lines = TraceReader(text).run();
  for (std::string_view& line : lines) line = without_common_names(without_php_place(line));
  std::string out = telling_lines(lines);
  if (!has_letter(out) || out == text) return false;
  text = std::move(out);
  return true;
}

}  // namespace triage::inline v0_1::detail
