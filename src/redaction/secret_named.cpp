// SPDX-License-Identifier: MIT
// Secrets recognised by the name in front of them.
#include "base/ascii.hpp"
#include "redaction/secret_spans.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_name = 64;

bool is_named(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool same(std::string_view name, std::string_view lower_case) {
  return std::equal(name.begin(), name.end(), lower_case.begin(), lower_case.end(),
                    [](char given, char known) { return lower(given) == known; });
}
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

// Scans one text.
class Named {
 public:
  Named(std::string_view text, const std::vector<std::string>& more, Spans& found)
      : text_(text), more_(more), found_(found) {}

  void find() {
    for (std::size_t at = 0; at < text_.size(); at = std::max(at + 1, done_)) {
      const char c = text_[at];
      if (c == ':' || c == '=') behind_separator(at);
      if (c == '-') behind_option(at);
      if (c == '<') in_element(at);
      if (is_blank(c) && at > 0 && !is_blank(text_[at - 1])) in_sentence(at);
    }
  }

 private:
  [[nodiscard]] char at(std::size_t place) const {
    return place < text_.size() ? text_[place] : '\0';
  }
  [[nodiscard]] bool is_secret(std::string_view name) const {
    if (name.empty()) return false;
    return is_secret_name(name) || (!more_.empty() && std::find(more_.begin(), more_.end(),
                                                                flat_name(name)) != more_.end());
  }
  [[nodiscard]] std::size_t skip_blanks(std::size_t place) const {
    while (is_blank(at(place))) ++place;
    return place;
  }

  // The name that ends before `place`, which may be quoted, with backslashes before the quote.
  [[nodiscard]] std::string_view name_before(std::size_t place) const {
    while (place > 0 && is_blank(text_[place - 1])) --place;
    if (place > 0 && (is_quote(text_[place - 1]) || text_[place - 1] == ']')) --place;
    if (place > 0 && is_quote(text_[place - 1])) --place;  // x["password"] = …
    while (place > 0 && text_[place - 1] == '\\') --place;
    std::size_t begin = place;
    std::size_t behind_escape = place;
    while (begin > 0 && is_named(text_[begin - 1]) && place - begin <= longest_name) {
      --begin;
      if (behind_escape == place && is_behind_escape(text_, begin)) behind_escape = begin;
    }
    const std::string_view name = text_.substr(begin, place - begin);
    // "C:\\token" has no escape in it, but "\\ncookie" has.
    if (behind_escape == place || is_secret(name)) return name;
    return text_.substr(behind_escape, place - behind_escape);
  }

  void take(std::size_t begin, std::size_t end) {
    if (end <= begin) return;
    found_.push_back({begin, end});
    done_ = end;  // Never scanned again, so the search stays linear.
  }

  // The position of the quote that closes one opened by `quote` behind `slashes` backslashes, or
  // the end of the line.
  [[nodiscard]] std::size_t quoted_end(std::size_t begin, char quote, std::size_t slashes) const {
    std::size_t run = 0;
    for (std::size_t place = begin; place < text_.size(); ++place) {
      if (text_[place] == quote && run <= slashes && (run == slashes || run % 2 == 0)) {
        return place - std::min(run, slashes);
      }
      run = text_[place] == '\\' ? run + 1 : 0;
    }
    return std::min(text_.find('\n', begin), text_.size());
  }

  // Of an unquoted value.
  [[nodiscard]] static std::size_t bare_size(std::string_view value) {
    constexpr std::string_view ends = " \t\r\n,;&)]}\"'`<>|\\";
    return std::min(value.find_first_of(ends), value.size());
  }
  [[nodiscard]] std::size_t bare_end(std::size_t begin) const {
    return begin >= text_.size() ? text_.size() : begin + bare_size(text_.substr(begin));
  }

  // A value at `begin`: quoted, the rest of a header's line, or one word.
  void value(std::size_t begin, std::string_view name, char separator) {
    std::size_t slashes = 0;
    while (at(begin + slashes) == '\\') ++slashes;
    if (is_quote(at(begin + slashes))) {
      const std::size_t inside = begin + slashes + 1;
      return take(inside, quoted_end(inside, at(begin + slashes), slashes));
    }
    const std::string flat = flat_name(name);
    const bool header = flat.ends_with("authorization") || flat.ends_with("cookie");
    if (header && separator == ':') {
      const std::size_t end = std::min(text_.find_first_of("\r\n\"'", begin), text_.size());
      return take(begin, end);
    }
    const std::size_t end = bare_end(begin);
    if (is_value(text_.substr(begin, end - begin), name, separator)) take(begin, end);
  }

  // False for placeholders and, after a colon, for ordinary words: "token: expired".
  [[nodiscard]] static bool is_value(std::string_view value, std::string_view name,
                                     char separator) {
    constexpr std::array<std::string_view, 7> none{"null",  "none", "None",     "true",
                                                   "false", "nil",  "undefined"};
    if (value.empty() || value.front() == '$' || value.front() == '{' || value.front() == '[' ||
        value.find_first_not_of("*.x") == std::string_view::npos) {
      return false;
    }
    if (std::find(none.begin(), none.end(), value) != none.end()) return false;
    if (is_password_name(name)) return true;
    const bool number = value.find_first_not_of("0123456789.") == std::string_view::npos;
    if (number && value.size() < 6) return false;
    if (separator != ':') return true;
    constexpr std::size_t least = 6;
    return value.size() >= least &&
           std::any_of(value.begin(), value.end(), [](char c) { return c < 'a' || c > 'z'; });
  }

  void behind_separator(std::size_t place) {
    if (text_.substr(place).starts_with("://")) return;
    const std::string_view name = name_before(place);
    if (name.empty()) return;  // So the rest of a row of separators is passed only once.
    std::size_t begin = place + 1;
    while (at(begin) == '=' || at(begin) == '>' || at(begin) == ':') ++begin;  // "=>", "::", "=="
    // In YAML the line may end after a name; what follows on the next line is something else.
    begin = skip_blanks(begin);
    constexpr std::size_t near = 120;
    const bool of_pair = same(name, "value") && pair_ > 0 && place - pair_ <= near;
    if (of_pair || is_secret(name)) {
      value(begin, of_pair ? std::string_view("password") : name, text_[place]);
    } else if (same(name, "name") || same(name, "key")) {
      const std::size_t inside = is_quote(at(begin)) ? begin + 1 : begin;
      const std::string_view named = text_.substr(inside, longest_name + 1);
      pair_ = is_secret(named.substr(0, bare_size(named))) ? place : 0;
    }
  }

  // "--token VALUE" and "-u USER:PASSWORD".
  void behind_option(std::size_t place) {
    if (place > 0 && !is_blank(text_[place - 1]) && !is_quote(text_[place - 1])) return;
    const std::size_t begin = text_.find_first_not_of('-', place);
    if (begin == std::string_view::npos) return;
    std::size_t end = begin;
    while (is_named(at(end))) ++end;
    const std::string_view name = text_.substr(begin, end - begin);
    std::size_t next = end;
    while (is_quote(at(next)) || at(next) == ',' || is_blank(at(next)))
      ++next;  // An array of words.
    if (next == end || at(next) == '-') return;
    if (begin - place == 2 && is_secret(name)) return take(next, bare_end(next));
    const bool user = name == "u" || name == "user" || name == "U" || name == "proxy-user";
    if (!user) return;
    const std::size_t last = bare_end(next);
    const std::size_t colon = text_.substr(0, last).find(':', next);
    if (colon != std::string_view::npos) take(colon + 1, last);
  }

  // "<password>…</password>"
  void in_element(std::size_t place) {
    std::size_t end = place + 1;
    while (is_named(at(end))) ++end;
    if (at(end) != '>' || !is_secret(text_.substr(place + 1, end - place - 1))) return;
    // Without a closing tag (a placeholder, or cut off), only the rest of the line is taken.
    take(end + 1, std::min(text_.find_first_of("<\r\n", end), text_.size()));
  }

  // "the password is hunter2", "the API key 4f6c…": only values that do not look like a word.
  void in_sentence(std::size_t place) {
    std::string_view name = name_before(place);
    if (name.empty()) return;
    if (same(name, "key")) {  // "API key", but not every "key".
      const auto begin = static_cast<std::size_t>(name.data() - text_.data());
      const std::string_view before = name_before(begin);
      if (before.empty() || before.data() > name.data()) return;
      name = std::string_view(before.data(), before.size() + 1 + name.size());
    }
    if (!is_secret(name)) return;
    std::size_t begin = skip_blanks(place);
    for (const std::string_view filler : {"is ", "was ", "of ", "= "}) {
      if (text_.substr(begin).starts_with(filler)) begin += filler.size();
    }
    const bool password = is_password_name(name);
    if (password && is_quote(at(begin))) {
      const std::size_t end = text_.substr(begin + 1, longest_name).find(at(begin));
      if (end != std::string_view::npos) take(begin + 1, begin + 1 + end);
      return;
    }
    const std::size_t end = bare_end(begin);
    const std::string_view word = text_.substr(begin, end - begin);
    const auto any = [word](auto fits) { return std::any_of(word.begin(), word.end(), fits); };
    const bool digit = any([](char c) { return c >= '0' && c <= '9'; });
    const bool letter = any([](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; });
    if (word.size() >= (password ? 5U : 16U) && digit && letter) take(begin, end);
  }

  std::string_view text_;
  const std::vector<std::string>& more_;
  Spans& found_;
  std::size_t done_ = 0;  // End of what was taken so far.
  std::size_t pair_ = 0;  // Where a secret's name was the value of "name" or "key"; 0: nowhere.
};

}  // namespace

void find_named(std::string_view text, const std::vector<std::string>& more, Spans& found) {
  Named(text, more, found).find();
}

}  // namespace triage::inline v0_1::detail
