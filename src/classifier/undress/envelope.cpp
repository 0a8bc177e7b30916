// SPDX-License-Identifier: MIT
#include "base/utf8.hpp"
#include "classifier/undress/envelope_keys.hpp"
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr std::size_t deepest = 24;        // Nested objects; deeper ones are skipped.
constexpr std::size_t most_encodings = 4;  // JSON in a string in JSON …
constexpr std::size_t most_messages = 12;
constexpr std::size_t most_candidates = 4;  // Places where an envelope may begin.
constexpr std::size_t longest_code = 64;

// Where a byte occurs next in a text that is read from left to right. It remembers the place, so
// the text is searched once, however many other bytes come in between.
class NextPlace {
 public:
  explicit NextPlace(char wanted) : wanted_(wanted) {}

  // The first place at or behind `from`; the size of the text if there is none.
  std::size_t in(std::string_view text, std::size_t from) {
    if (!place_ || *place_ < from) place_ = std::min(text.find(wanted_, from), text.size());
    return *place_;
  }

 private:
  char wanted_;
  std::optional<std::size_t> place_{};
};

// Reads JSON as found in practice: truncated, with single quotes, True and None, or line breaks
// inside strings. Reads from left to right once and builds no tree.
class EnvelopeReader {
 public:
  explicit EnvelopeReader(std::string_view text) : text_(text) {}

  // True if an object or array with a message begins at `at` and only closing marks follow it.
  bool read(std::size_t at) {
    at_ = at;
    value(Role::other, 0);
    if (!whole_) return false;
    while (at_ < text_.size() && is_closing(text_[at_])) ++at_;
    return at_ >= text_.size();
  }

  // The messages found, followed by what the codes add.
  [[nodiscard]] std::vector<std::string> take() {
    if (!codes_.empty() && !messages_.empty()) messages_.push_back(std::move(codes_));
    return std::move(messages_);
  }
  [[nodiscard]] bool found() const { return !messages_.empty(); }

 private:
  static bool is_closing(char c) {
    return is_space(c) || c == '\'' || c == '"' || c == ')' || c == ']' || c == '}' || c == ';' ||
           c == '.' || c == ',' || c == '>' || c == '`';
  }

  void value(Role role, std::size_t depth) {
    blanks();
    if (at_ >= text_.size()) return;
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      if (depth >= deepest) {
        skip_nested();
      } else {
        members(c == '{', role, depth);
      }
    } else if (c == '"' || c == '\'') {
      say(string(), role, depth);
    } else {
      scalar(role);
    }
  }

  void members(bool object, Role role, std::size_t depth) {
    const char close = object ? '}' : ']';
    ++at_;
    while (true) {
      blanks();
      if (at_ >= text_.size()) return;
      if (text_[at_] == close) {
        ++at_;
        return;
      }
      const std::size_t begin = at_;
      Role inner = role;
      if (object) {
        const std::string key = name();
        blanks();
        if (at_ < text_.size() && text_[at_] != ':' && text_[at_] != '=') {
          whole_ = false;  // Not an object: a set of names, or prose in braces.
          return;
        }
        ++at_;
        inner = role_of(key);
      }
      value(inner, depth + 1);
      if (!whole_) return;
      blanks();
      if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ';')) {
        ++at_;
      } else if (at_ < text_.size() && text_[at_] != close) {
        whole_ = false;
        return;
      }
      if (at_ == begin) ++at_;
    }
  }

  std::string name() {
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return string();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '-')) ++at_;
    if (at_ == begin) whole_ = false;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // A string without its quotes, unescaped.
  std::string string() {
    const char quote = text_[at_++];
    NextPlace& closing = quote == '"' ? double_quote_ : single_quote_;
    std::string out;
    while (true) {
      const std::size_t end =
          std::min({closing.in(text_, at_), backslash_.in(text_, at_), line_break_.in(text_, at_)});
      out += text_.substr(at_, end - at_);
      at_ = end;
      if (at_ >= text_.size() || text_[at_] == quote) break;
      const char c = text_[at_++];
      if (c == '\n') {
        out += ' ';  // Strict JSON has no line breaks inside strings.
      } else if (at_ < text_.size()) {
        escaped(out);
      } else {
        out += c;  // The text was truncated after a backslash.
      }
    }
    if (at_ < text_.size()) ++at_;
    return out;
  }

  void escaped(std::string& out) {
    const char c = text_[at_++];
    switch (c) {
      case 'n': out += '\n'; return;
      case 't': out += '\t'; return;
      case 'r': out += '\r'; return;
      case 'b':
      case 'f': out += ' '; return;
      case 'x': out += static_cast<char>(hex(2) & 0xFFU); return;
      case 'u': unicode(out); return;
      default: out += c; return;
    }
  }

  unsigned hex(std::size_t most) {
    unsigned value = 0;
    for (std::size_t i = 0; i < most && at_ < text_.size() && is_hex(text_[at_]); ++i, ++at_) {
      const char c = lower(text_[at_]);
      value = value * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return value;
  }

  void unicode(std::string& out) {
    unsigned code = hex(4);
    const bool pair = code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u";
    if (pair) {
      at_ += 2;
      code = 0x10000 + ((code - 0xD800) << 10U) + ((hex(4) - 0xDC00) & 0x3FFU);
    }
    append_utf8(code, out);
  }

  void scalar(Role role) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']' &&
           text_[at_] != '\n' && text_[at_] != '{' && text_[at_] != '"') {
      ++at_;
    }
    const std::string_view given = trimmed(text_.substr(begin, at_ - begin));
    if (given.empty() || given.size() > longest_code) whole_ = whole_ && at_ >= text_.size();
    if (role == Role::code) number(given);
    if (is_wait(role) && !given.empty() && is_digit(given.front())) wait(given, role);
  }

  // Only a specific status or JSON-RPC code is informative; 400 and 500 are sent for everything.
  void number(std::string_view given) {
    const bool rpc = given.size() == 6 && given.starts_with("-32");
    const bool status = given.size() == 3 && (given[0] == '4' || given[0] == '5') &&
                        std::all_of(given.begin(), given.end(), is_digit) && given != "400" &&
                        given != "500";
    if (rpc) add_code("code " + std::string(given));
    if (status) add_code("status " + std::string(given));
  }

  static bool is_wait(Role role) { return role == Role::wait || role == Role::wait_ms; }
  void wait(std::string_view given, Role role) {
    add_code("retry after " + std::string(given) + (role == Role::wait_ms ? " ms" : " seconds"));
  }

  void add_code(const std::string& code) {
    if (codes_.find(code) != std::string::npos || codes_.size() > 4 * longest_code) return;
    if (!codes_.empty()) codes_ += ", ";
    codes_ += code;
  }

  void say(std::string text, Role role, std::size_t depth) {
    if (role == Role::other || messages_.size() >= most_messages || !has_something(text)) return;
    const bool name = text.size() <= longest_code && text.find_first_of(" \n") == std::string::npos;
    if (role == Role::code || (role == Role::message && name && is_code_like(text))) {
      if (std::all_of(text.begin(), text.end(), is_digit)) {
        number(text);
      } else if (name && !is_common_code(text) && text.find("://") == std::string::npos &&
                 has_letter(text)) {
        add_code(text);
      } else if (!name && role == Role::code && text.size() <= longest_code && !says_little(text)) {
        add_code(text);
      }
      return;
    }
    if (is_wait(role)) {
      if (is_digit(text.front())) wait(text, role);
      return;
    }
    const std::string_view inside = trimmed(text);
    if ((inside.front() == '{' || inside.front() == '[') && encodings_ < most_encodings) {
      EnvelopeReader inner(inside);
      inner.encodings_ = encodings_ + 1;
      if (inner.read(0) && inner.found()) {
        for (std::string& message : inner.take()) messages_.push_back(std::move(message));
        return;
      }
    }
    (void)depth;
    messages_.push_back(std::move(text));
  }

  static bool has_something(std::string_view text) { return !trimmed(text).empty(); }
  // "rate_limit_exceeded", "PERMISSION_DENIED": a name in place of words.
  static bool is_code_like(std::string_view text) {
    return text.find('_') != std::string_view::npos &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '.'; });
  }

  void blanks() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  // Skips what is nested too deeply.
  void skip_nested() {
    std::size_t open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        (void)string();
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++open;
      if ((c == '}' || c == ']') && --open == 0) return;
    }
  }

  std::string_view text_;
  NextPlace double_quote_{'"'};
  NextPlace single_quote_{'\''};
  NextPlace backslash_{'\\'};
  NextPlace line_break_{'\n'};
  std::size_t at_ = 0;
  std::size_t encodings_ = 0;
  bool whole_ = true;
  std::vector<std::string> messages_{};
  std::string codes_{};
};

// Whether an object or an array of objects may begin here: a quoted name follows.
bool may_begin(std::string_view text, std::size_t at) {
  std::size_t next = at + 1;
  while (next < text.size() && (is_space(text[next]) || text[next] == '[' || text[next] == '{')) {
    if (next - at > 32) return false;
    ++next;
  }
  return next < text.size() && (text[next] == '"' || text[next] == '\'' ||
                                (text[next] == '\\' && next + 1 < text.size()));
}

// Unescapes quotes that were escaped once more: {\"error\": …}.
std::string with_plain_quotes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
    out += text[i];
  }
  return out;
}

// Lines before a body that name no failure: HTTP headers, fields of an event stream.
std::vector<std::string_view> told_before(std::string_view before) {
  const std::string_view start = trimmed(before);
  const bool message =
      start.starts_with("HTTP/") || start.find("\nHTTP/") != std::string_view::npos;
  std::vector<std::string_view> kept;
  for (const std::string_view line : lines_of(before)) {
    const std::string_view text = trimmed(line);
    const bool field = text.starts_with("data:") || text.starts_with("event:") ||
                       text.starts_with("id:") || text.starts_with("retry:");
    const std::size_t colon = text.find(':');
    const bool header = message && colon != std::string_view::npos && colon > 0 &&
                        std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                                    [](char c) { return is_word(c) || c == '-'; });
    if (!text.empty() && !field && !header) kept.push_back(line);
  }
  return kept;
}

// The content of a text that is a single quoted string in a language's notation: "…", b'…', u"…".
std::optional<std::string> unquoted(std::string_view text) {
  const std::string_view inside = trimmed(text);
  const std::size_t quote = !inside.empty() && is_letter(inside[0]) ? 1 : 0;
  if (inside.size() < quote + 3) return std::nullopt;
  const char c = inside[quote];
  if ((c != '"' && c != '\'' && c != '`') || inside.back() != c) return std::nullopt;
  std::string out;
  for (std::size_t i = quote + 1; i + 1 < inside.size(); ++i) {
    if (inside[i] == c) return std::nullopt;  // More than one string.
    if (inside[i] == '\\' && i + 2 < inside.size()) {
      ++i;
      out += inside[i] == 'n' ? '\n' : inside[i] == 't' ? '\t' : inside[i];
    } else {
      out += inside[i];
    }
  }
  return out;
}

bool unwrap_at(std::string& text, std::size_t at) {
  const bool escaped = text.compare(at, 3, "{\\\"") == 0;
  const std::string plain = escaped ? with_plain_quotes(std::string_view(text).substr(at)) : "";
  EnvelopeReader reader(escaped ? std::string_view(plain) : std::string_view(text));
  if (!reader.read(escaped ? 0 : at) || !reader.found()) return false;
  const std::vector<std::string> said = reader.take();
  std::vector<std::string_view> lines = told_before(std::string_view(text).substr(0, at));
  for (const std::string& message : said) {
    for (const std::string_view line : lines_of(message)) lines.push_back(line);
  }
  std::string out = telling_lines(lines);
  if (!has_letter(out)) return false;
  text = std::move(out);
  return true;
}

}  // namespace

bool unwrap_envelope(std::string& text) {
  if (auto inside = unquoted(text); inside && has_letter(*inside)) {
    text = std::move(*inside);
    return true;
  }
  const std::string_view whole = text;
  std::size_t tried = 0;
  std::size_t brace = whole.find('{');
  std::size_t bracket = whole.find('[');
  while (tried < most_candidates) {
    const std::size_t at = std::min(brace, bracket);
    if (at == std::string_view::npos) break;
    (at == brace ? brace : bracket) = whole.find(whole[at], at + 1);
    if (!may_begin(whole, at)) continue;
    ++tried;
    if (unwrap_at(text, at)) return true;
  }
  return false;
}

}  // namespace triage::inline v0_1::detail
