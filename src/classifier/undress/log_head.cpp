// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/log_items.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr int most_items = 14;
constexpr std::size_t longest_head = 240;

// The head of a log line: items in any order, at least one of which occurs only in logs.
class HeadReader {
 public:
  HeadReader(std::string_view line, IsCode is_code) : line_{line}, is_code_(is_code) {}

  // Where the message begins; 0 if the line has no head.
  std::size_t run() {
    line_.blanks();
    if (klog() || workflow_command()) return line_.at;
    if (priority() || take_container(line_)) anchor();
    for (int i = 0; i < most_items && !line_.done() && line_.at < longest_head; ++i) {
      line_.blanks();
      if (!item()) break;
      line_.blanks();
      while (separator()) line_.blanks();
      if (anchored_) end_ = line_.at;
    }
    return end_;
  }
  [[nodiscard]] Level level() const { return level_; }

 private:
  void anchor() {
    anchored_ = true;
    end_ = line_.at;
  }

  bool item() {
    if (timed(take_timestamp(line_))) return true;
    if (take_log_level()) return true;
    if (line_.next() == '[' && bracket()) return true;
    if (!anchored_) return false;
    return syslog_fields() || stream() || process() || logger();
  }

  bool timed(bool taken) {
    if (!taken) return false;
    timed_ = true;
    anchor();
    return true;
  }

  // "ERROR", "error" after a time, or before a colon and a logger's name.
  bool take_log_level() {
    const std::size_t begin = line_.at;
    const Level found = take_level(line_, timed_ && level_ == Level::none);
    if (found == Level::none) return false;
    const char next = line_.next();
    // "ERROR/ForkPoolWorker-1", "ERROR:root:".
    if (next == '/') line_.take_while([](char c) { return !is_space(c) && c != ']' && c != ':'; });
    if (next == ':' && !is_blank(line_.next(1)) && !line_.done()) {
      const std::size_t colon = line_.at;
      line_.take(':');
      const std::string_view name =
          line_.take_while([](char c) { return is_word(c) || c == '.' || c == '-' || c == '/'; });
      if (name.empty() || !line_.take(':')) {
        line_.at = colon;
        if (is_letter(line_.next(1))) {
          line_.at = begin;
          return false;
        }
      }
    }
    if (level_ == Level::none) level_ = found;
    anchor();
    return true;
  }

  // "invalid_api_key", "RateLimitError": not the name of a logger or thread.
  [[nodiscard]] bool says_what(std::string_view name) const {
    return is_code_(name) || (is_exception_name(name) && !is_common_exception(name));
  }

  // "[main]", "[error    ]", "[core:error]", "[12:00:00 ERR]", "[2024-01-01 12:00:00: ERROR/P-1]"
  bool bracket() {
    const std::size_t close = line_.rest().substr(0, 80).find(']');
    if (close == std::string_view::npos || close < 2) return false;
    const std::string_view inside = trimmed(line_.rest().substr(1, close - 1));
    const BracketKind kind = kind_of_bracket(inside, level_);
    if (kind == BracketKind::words) return false;
    if (kind == BracketKind::name && says_what(inside)) return false;
    line_.at += close + 1;
    if (kind == BracketKind::log) {
      timed_ = true;
      anchor();
    }
    return true;
  }

  // "E0102 15:04:05.000000       1 main.go:12] "
  bool klog() {
    const std::size_t begin = line_.at;
    const char letter = line_.next();
    const bool severity = letter == 'E' || letter == 'W' || letter == 'I' || letter == 'F';
    if (severity && is_digit(line_.next(1))) {
      ++line_.at;
      if (line_.digits(4, 8) && line_.take(' ') && take_clock_time(line_)) {
        const std::size_t close = line_.rest().substr(0, 80).find("] ");
        if (close != std::string_view::npos) {
          line_.at += close + 2;
          level_ = letter == 'W' ? Level::warning : letter == 'I' ? Level::info : Level::error;
          return true;
        }
      }
    }
    line_.at = begin;
    return false;
  }

  // "::error file=a.py,line=3::", "##vso[task.logissue type=error]"
  bool workflow_command() {
    const std::string_view rest = line_.rest();
    const bool github = rest.starts_with("::error") || rest.starts_with("::warning");
    const std::string_view mark = github ? "::" : "]";
    if (!github && !rest.starts_with("##vso[") && !rest.starts_with("##[")) return false;
    const std::size_t close = rest.substr(0, longest_head).find(mark, 3);
    if (close == std::string_view::npos) return false;
    if (rest.find("warning") < close) level_ = Level::warning;
    line_.at += close + mark.size();
    return true;
  }

  // "<34>", "<34>1 "
  bool priority() {
    const std::size_t begin = line_.at;
    if (line_.take('<') && line_.digits(1, 3) && line_.take('>')) {
      if (is_digit(line_.next()) && line_.next(1) == ' ') line_.at += 2;
      syslog_ = true;
      return true;
    }
    line_.at = begin;
    return false;
  }

  // After a syslog time: host and program, or host, program, process, message, data.
  bool syslog_fields() {
    if (!timed_ || fields_read_) return false;
    const std::size_t begin = line_.at;
    const auto field = [&] {
      return line_.take_while([](char c) { return !is_space(c) && c != '['; });
    };
    if (syslog_) {  // RFC 5424: four fields, then bracketed data or a dash.
      int fields = 0;
      while (fields < 4 && !field().empty() && line_.take(' ')) ++fields;
      const bool data = line_.next() == '[' || (line_.next() == '-' && is_blank(line_.next(1)));
      if (fields == 4 && data) {
        while (line_.next() == '[') {
          line_.take_while([](char c) { return c != ']'; });
          line_.take(']');
        }
        line_.take('-');
        fields_read_ = true;
        return true;
      }
      line_.at = begin;
    }
    const std::string_view host = field();
    line_.blanks();
    const bool has_host = !host.empty() && host.find(':') == std::string_view::npos;
    if (has_host && take_program(line_)) {
      fields_read_ = true;
      return true;
    }
    line_.at = begin;
    return false;
  }

  // What Kubernetes and Docker write after the time.
  bool stream() {
    for (const std::string_view name : {"stderr F ", "stdout F ", "stderr P ", "stdout P "}) {
      if (line_.take(name)) return true;
    }
    return line_.take("##[error]") || line_.take("##[warning]");
  }

  // "12345 --- ", "4711#4711: *9 ", "(1234)", an id.
  bool process() {
    const std::size_t begin = line_.at;
    if (line_.digits(1, 10)) {
      if (line_.take(" --- ") || line_.take(" - ") || line_.take(" | ")) return true;
      if (line_.take('#') && line_.digits(1, 10) && line_.take(": ")) {
        if (line_.take('*')) line_.digits(1, 12);
        return true;
      }
      line_.at = begin;
    }
    if (line_.take('(')) {
      const std::string_view inside =
          line_.take_while([](char c) { return is_word(c) || c == '.' || c == '-' || c == ':'; });
      if (!inside.empty() && line_.take(')') &&
          (std::all_of(inside.begin(), inside.end(), is_digit) || line_.next() == ':')) {
        return true;
      }
      line_.at = begin;
    }
    if (take_id(line_)) return true;
    line_.at = begin;
    return take_pair(line_);
  }

  bool logger() {
    const std::size_t begin = line_.at;
    if (take_logger(line_)) return true;
    line_.at = begin;
    return false;
  }

  // Between items; a dash or bar with no item after it ends the head.
  bool separator() {
    for (const std::string_view mark : {"- ", "| ", ": ", "\xE2\x80\x94 ", "\xE2\x80\x93 ", ">> ",
                                        "> ", "--- ", "|| ", "\xC2\xBB "}) {
      if (line_.take(mark)) return true;
    }
    return false;
  }

  Reader line_;
  IsCode is_code_;
  std::size_t end_ = 0;
  Level level_ = Level::none;
  bool anchored_ = false;
  bool timed_ = false;
  bool syslog_ = false;
  bool fields_read_ = false;
};

// "level=error msg="…" err=…": the values that contain words. Empty if it is not such a line.
std::string said_by_pairs(std::string_view line) {
  Reader reader{line};
  std::string said;
  std::size_t pairs = 0;
  while (!reader.done()) {
    reader.blanks();
    const std::string_view key = reader.take_while(
        [](char c) { return is_word(c) || c == '.' || c == '-' || c == '@' || c == '/'; });
    if (key.empty() || !reader.take('=')) return {};
    const std::string value = take_pair_value(reader);
    ++pairs;
    if (!is_message_key(key) || !has_letter(value)) continue;
    if (!said.empty()) said += '\n';
    said += value;
  }
  return pairs >= 2 ? said : std::string();
}

}  // namespace

bool cut_log_heads(std::string& text, IsCode is_code) {
  const std::string_view whole = text;
  bool changed = false;
  std::string out;  // The lines so far, as soon as one of them has a head.
  for (std::size_t at = 0, end = 0; at < whole.size(); at = end + 1) {
    end = std::min(whole.find('\n', at), whole.size());
    const std::string_view line = whole.substr(at, end - at);
    HeadReader head(line, is_code);
    const std::size_t begin = head.run();
    // Indented text after a container's name may be a stack trace.
    std::string_view words = line.substr(begin);
    while (!words.empty() && is_space(words.back())) words.remove_suffix(1);
    const std::string said = said_by_pairs(words);
    const bool cut = begin != 0 || !said.empty();
    if (!cut && !changed) continue;
    if (!changed) {
      const std::size_t first = std::min(whole.find_first_not_of('\n'), at);
      out = whole.substr(first, at - std::min(at, first + 1));
      changed = true;
    }
    if (!out.empty()) out += '\n';
    if (!cut) {
      out += line;
      continue;
    }
    // Errors are the default; only a lower level is worth stating.
    if (head.level() == Level::warning) out += "warning: ";
    if (head.level() == Level::info) out += "info: ";
    out += said.empty() ? words : std::string_view(said);
  }
  if (!changed || !has_letter(out)) return false;
  text = std::move(out);
  return true;
}

}  // namespace triage::inline v0_1::detail
