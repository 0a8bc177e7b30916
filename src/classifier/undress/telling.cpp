// SPDX-License-Identifier: MIT
// Which lines and names are informative about a failure.
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"
#include "search/word_set.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr std::size_t longest_little = 120;
constexpr std::size_t longest_name = 160;

// Words that say only that something failed, and where.
constexpr WordSet little_words(std::to_array<std::string_view>({"a",
                                                                "abort",
                                                                "aborted",
                                                                "action",
                                                                "activity",
                                                                "agent",
                                                                "an",
                                                                "and",
                                                                "app",
                                                                "at",
                                                                "attempt",
                                                                "been",
                                                                "body",
                                                                "by",
                                                                "call",
                                                                "callable",
                                                                "caught",
                                                                "chain",
                                                                "code",
                                                                "command",
                                                                "during",
                                                                "encountered",
                                                                "err",
                                                                "error",
                                                                "errors",
                                                                "event",
                                                                "exception",
                                                                "exceptions",
                                                                "execute",
                                                                "executing",
                                                                "execution",
                                                                "failed",
                                                                "failing",
                                                                "failure",
                                                                "fatal",
                                                                "flow",
                                                                "for",
                                                                "from",
                                                                "function",
                                                                "got",
                                                                "graph",
                                                                "handled",
                                                                "handler",
                                                                "handling",
                                                                "has",
                                                                "have",
                                                                "in",
                                                                "invocation",
                                                                "invoke",
                                                                "invoking",
                                                                "is",
                                                                "it",
                                                                "iteration",
                                                                "its",
                                                                "job",
                                                                "last",
                                                                "main",
                                                                "message",
                                                                "node",
                                                                "occurred",
                                                                "occured",
                                                                "of",
                                                                "on",
                                                                "oops",
                                                                "operation",
                                                                "our",
                                                                "phase",
                                                                "pipeline",
                                                                "problem",
                                                                "process",
                                                                "processing",
                                                                "raised",
                                                                "run",
                                                                "runner",
                                                                "running",
                                                                "script",
                                                                "something",
                                                                "stage",
                                                                "step",
                                                                "sub",
                                                                "subtask",
                                                                "sub-exception",
                                                                "sub-exceptions",
                                                                "task",
                                                                "tasks",
                                                                "terminated",
                                                                "the",
                                                                "there",
                                                                "this",
                                                                "thread",
                                                                "threw",
                                                                "thrown",
                                                                "to",
                                                                "tool",
                                                                "traceback",
                                                                "uncaught",
                                                                "unexpected",
                                                                "unhandled",
                                                                "was",
                                                                "went",
                                                                "were",
                                                                "while",
                                                                "with",
                                                                "worker",
                                                                "workflow",
                                                                "wrong"}));

// Parts of names that fit any failure.
constexpr WordSet common_parts(std::to_array<std::string_view>(
    {"abstract",     "agent",      "aggregate", "app",       "application", "base",     "chain",
     "crew",         "custom",     "e",         "err",       "error",       "errors",   "exception",
     "exceptions",   "execution",  "flow",      "framework", "general",     "generic",  "graph",
     "group",        "handler",    "illegal",   "job",       "library",     "my",       "node",
     "orchestrator", "pipeline",   "program",   "run",       "runner",      "runtime",  "script",
     "standard",     "state",      "step",      "string",    "system",      "task",     "throwable",
     "uncaught",     "unexpected", "unhandled", "value",     "worker",      "workflow", "wrap"}));

// 400 and 500 are sent for everything.
bool is_telling_status(std::string_view number) {
  return number.size() == 3 && (number[0] == '4' || number[0] == '5') && number != "400" &&
         number != "500";
}

// A line of pretty-printed JSON with brackets only.
bool is_bracket(std::string_view line) {
  line = trimmed(line);
  if (line.empty()) return false;
  return line.find_first_not_of("{}[],") == std::string_view::npos ||
         (line.front() == '"' && line.find("\":") != std::string_view::npos);
}

// "openai.RateLimitError" -> "RateLimitError"
std::string_view last_part(std::string_view name) {
  const auto divides = [](char c) {
    return c == '.' || c == ':' || c == '$' || c == '\\' || c == '/';
  };
  return name.substr(last_where(name, divides) + 1);  // All of it if there is none.
}

}  // namespace

bool says_little(std::string_view line) {
  line = trimmed(line);
  if (line.size() > longest_little) return false;
  Reader reader{line};
  while (!reader.done()) {
    reader.take_while([](char c) { return !is_word(c) && !is_high(c); });
    const std::string_view word =
        reader.take_while([](char c) { return is_word(c) || is_high(c) || c == '-'; });
    if (word.empty()) continue;
    const bool number = std::all_of(word.begin(), word.end(), is_digit);
    if (number ? is_telling_status(word)
               : !little_words.contains(word) && !is_common_exception(word)) {
      return false;
    }
  }
  return true;
}

bool is_common_exception(std::string_view name) {
  name = last_part(name);
  std::size_t parts = 0;
  for (std::size_t begin = 0; begin < name.size(); ++parts) {
    std::size_t end = begin + 1;
    while (end < name.size() && !is_upper(name[end]) && name[end] != '_') ++end;
    if (!common_parts.contains(name.substr(begin, end - begin))) return false;
    begin = end;
    while (begin < name.size() && name[begin] == '_') ++begin;
  }
  return parts > 0;
}

bool is_exception_name(std::string_view name) {
  const std::string_view last = last_part(name);
  if (last.size() < 5 || !is_letter(last.front())) return false;
  for (const std::string_view ending :
       {"Error", "Exception", "Failure", "Fault", "Warning", "Exit", "Interrupt", "Timeout",
        "ExceptionGroup", "Failed", "Err", "Throwable", "NotFound", "Invalid", "Exceeded"}) {
    if (last.ends_with(ending)) return true;
  }
  return false;
}

std::size_t exception_name_at_start(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && end < longest_name &&
         (is_word(line[end]) || line[end] == '.' || line[end] == '$' || line[end] == '\\' ||
          (line[end] == ':' && end + 2 < line.size() && line[end + 1] == ':' &&
           is_word(line[end + 2])) ||
          (line[end] == ':' && end > 0 && line[end - 1] == ':'))) {
    ++end;
  }
  if (end < line.size() && line[end] != ':') return 0;
  const std::string_view name = line.substr(0, end);
  if (is_exception_name(name)) return end;
  const std::string_view last = last_part(name);
  const bool named = last.size() >= 5 && last.size() < name.size() && is_upper(last.front());
  return named ? end : 0;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  lines.reserve(16);  // Most texts have fewer.
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string telling_lines(const std::vector<std::string_view>& lines) {
  constexpr std::size_t most_compared = 16;  // Envelopes repeat a text a few times only.
  std::vector<std::string_view> kept;
  for (const bool all : {false, true}) {
    for (const std::string_view given : lines) {
      const std::string_view line = all ? trimmed(given) : given;
      const bool bracket = is_bracket(line);
      if (!bracket && (!has_letter(line) || (!all && says_little(line)))) continue;
      const std::size_t from = kept.size() - std::min(kept.size(), most_compared);
      const bool known = std::find(kept.begin() + static_cast<std::ptrdiff_t>(from), kept.end(),
                                   line) != kept.end();
      if (!known || bracket) kept.push_back(line);
    }
    if (!std::all_of(kept.begin(), kept.end(), is_bracket)) break;
    kept.clear();
  }
  std::string text;
  for (const std::string_view line : kept) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

}  // namespace triage::inline v0_1::detail
