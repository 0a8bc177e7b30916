// SPDX-License-Identifier: MIT
#include "classifier/text/names.hpp"

#include "base/ascii.hpp"
#include "classifier/text/name_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_words = 400;
constexpr std::size_t least_usual_word = 5;  // Bytes, with the blank behind it.

enum class ByteClass : std::uint8_t {
  other,
  letter,
  digit,
  underscore,
  joint,  // Allowed inside a name, between two word bytes.
  quote,
};
// A table: every byte of every text is looked at.
constexpr std::array<ByteClass, 256> byte_classes = [] {
  using enum ByteClass;
  std::array<ByteClass, 256> classes{};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const char byte = static_cast<char>(c);
    if (is_letter(byte) || c >= 0x80) classes[c] = letter;
    if (is_digit(byte)) classes[c] = digit;
  }
  classes['_'] = underscore;
  for (const char c : {'.', '-', '/', '@', '$', ':'}) classes[static_cast<std::size_t>(c)] = joint;
  for (const char c : {'\'', '"', '`'}) classes[static_cast<std::size_t>(c)] = quote;
  return classes;
}();
ByteClass class_of(char c) { return byte_classes[static_cast<unsigned char>(c)]; }
bool is_word_byte(char c) {
  return class_of(c) >= ByteClass::letter && class_of(c) <= ByteClass::underscore;
}
bool is_joining_byte(char c) { return class_of(c) == ByteClass::joint; }
bool is_quote(char c) { return class_of(c) == ByteClass::quote; }

constexpr std::array<std::string_view, 9> printed_quotes{
    "\u00AB", "\u00BB", "\u201C", "\u201D", "\u201E", "\u300C", "\u300D", "\u300E", "\u300F"};

struct Word {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint16_t roles = 0;
  bool quoted = false;
  bool shaped = false;  // snake_case, camelCase, a path, a version: not an ordinary word.
  bool dashed = false;  // Shaped by dashes only: may be an ordinary word, such as "time-out".
  bool name = false;
};

class NameFinder {
 public:
  NameFinder(std::string_view line, std::vector<NamePlace>& places) : line_(line), places_(places) {
    words_.reserve(line.size() / least_usual_word + 1);
  }

  void run() {
    read_words();
    const bool speaks_of_names = std::any_of(words_.begin(), words_.end(), [](const Word& word) {
      return (word.roles & (noun | listing | thing | absent | taking)) != 0;
    });
    if (!speaks_of_names) return;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i].roles & noun) != 0) {
        behind_noun(i);
        behind_absence(i);
      }
      if ((words_[i].roles & thing) != 0) behind_thing(i);
      if ((words_[i].roles & denial) != 0) behind_denial(i);
      if (has(i, denial) && has(i, absent)) behind_unknown(i);
      if ((words_[i].roles & calling) != 0) behind_call(i);
      if ((words_[i].roles & (listing | noun)) != 0) list_behind(i);
      in_front_of_noun(i);
      in_front_of_arguments(i);
      beside_another(i);
    }
    for (const Word& word : words_) {
      if (word.name) places_.push_back({word.begin, word.end});
    }
  }

 private:
  // Words, and names with dots, dashes and slashes inside.
  void read_words() {
    for (std::size_t at = 0; at < line_.size() && words_.size() < most_words;) {
      const std::size_t quote = printed_quote(at);
      if (quote > 0 || !is_word_byte(line_[at])) {
        at += std::max<std::size_t>(quote, 1);
        continue;
      }
      Word word{.begin = at};
      while (at < line_.size() && (is_word_byte(line_[at]) || joins(at)) && printed_quote(at) == 0)
        ++at;
      word.end = at;
      const std::string_view text = text_of(word);
      const bool number = is_digit(text.front());
      word.shaped = !number && is_shaped(text);
      word.dashed = word.shaped && text.find_first_of("_./:") == std::string_view::npos &&
                    text.find('-') != std::string_view::npos;
      word.quoted = is_quoted(word);
      if (!word.quoted) word.roles = number ? std::uint16_t{pronoun} : name_roles(text);
      const bool member = at + 1 < line_.size() && line_[at] == '"' && line_[at + 1] == ':';
      if (word.quoted && member) word.roles = name_roles(text) & noun;
      words_.push_back(word);
    }
  }

  // The length of a quotation mark as books and other languages have it: «x», “x”, 「x」. Not
  // ‘x’, which ends with an apostrophe.
  [[nodiscard]] std::size_t printed_quote(std::size_t at) const {
    if (static_cast<unsigned char>(line_[at]) < 0x80) return 0;
    for (const std::string_view quote : printed_quotes) {
      if (line_.substr(at, quote.size()) == quote) return quote.size();
    }
    return 0;
  }

  // In a pair of quotes, or as `this'.
  [[nodiscard]] bool is_quoted(const Word& word) const {
    if (word.begin == 0 || word.end >= line_.size()) return false;
    if (printed_quote(word.end) > 0) {
      const std::string_view before = line_.substr(0, word.begin);
      return std::any_of(printed_quotes.begin(), printed_quotes.end(),
                         [&](std::string_view quote) { return before.ends_with(quote); });
    }
    const char opened = line_[word.begin - 1];
    const char closed = line_[word.end];
    return is_quote(opened) && (closed == opened || (opened == '`' && closed == '\''));
  }

  [[nodiscard]] bool joins(std::size_t at) const {
    const char c = line_[at];
    if (at + 1 >= line_.size() || !is_word_byte(line_[at + 1])) return false;
    return is_joining_byte(c) || (c == '\'' && lower(line_[at + 1]) == 't');
  }

  static bool is_shaped(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const char c = word[i];
      if (c == '_' || c == '.' || c == '/' || c == '-' || c == ':' || is_digit(c)) return true;
      if (c >= 'A' && c <= 'Z' && word[i - 1] >= 'a' && word[i - 1] <= 'z') return true;
    }
    return false;
  }

  [[nodiscard]] std::string_view text_of(const Word& word) const {
    return line_.substr(word.begin, word.end - word.begin);
  }
  [[nodiscard]] std::string_view between(std::size_t i) const {  // Words i and i + 1.
    return line_.substr(words_[i].end, words_[i + 1].begin - words_[i].end);
  }
  [[nodiscard]] bool has(std::size_t i, std::uint16_t role) const {
    return i < words_.size() && (words_[i].roles & role) != 0;
  }
  [[nodiscard]] bool is_clear_name(std::size_t i) const {
    return words_[i].quoted || (words_[i].shaped && words_[i].roles == 0);
  }
  // Not an ordinary word whatever stands around it.
  [[nodiscard]] bool is_surely_name(std::size_t i) const {
    return is_clear_name(i) && (words_[i].quoted || !words_[i].dashed);
  }
  [[nodiscard]] bool ends_sentence(std::size_t i) const {
    if (i + 1 >= words_.size()) return true;
    return between(i).find_first_of(".;,!?)(:") != std::string_view::npos;
  }

  static bool begins_with_colon(std::string_view gap) {
    return gap.starts_with(":") || gap.starts_with(" :");  // The latter in French.
  }

  // "tool refund is not …", "tool 'x'", "function: f_g", "no such tool named x"
  void behind_noun(std::size_t i) {
    std::size_t next = i + 1;
    while (next < words_.size() && next <= i + 3 && has(next, link) && !words_[next].quoted) ++next;
    if (next >= words_.size()) return;
    // A new sentence, or a list.
    const std::string_view gap = line_.substr(words_[i].end, words_[next].begin - words_[i].end);
    if (gap.find_first_of(".;!?,>") != std::string_view::npos) return;
    if (is_clear_name(next)) {
      words_[next].name = true;
      return;
    }
    if (words_[next].roles != 0 && (words_[next].roles & (noun | denial)) == 0) return;
    const bool colon = gap.find(':') != std::string_view::npos;
    const bool spoken_of = !colon && has(next + 1, verdict);
    const bool named = colon || next > i + 1;
    const bool denied = (i >= 1 && has(i - 1, denial)) || (i >= 2 && has(i - 2, denial));
    if (spoken_of || (denied && ends_sentence(next)) || (named && ends_sentence(next))) {
      words_[next].name = true;
    }
  }

  // "method not found: refund", "No such tool exists: 'x'"
  void behind_absence(std::size_t i) {
    constexpr std::uint16_t between_both = verdict | about | denial | pronoun | listing | absent;
    bool is_absent = false;
    for (std::size_t next = i + 1; next < words_.size() && next <= i + 5; ++next) {
      const std::string_view gap = between(next - 1);
      if (gap.find_first_of(".;!?,") != std::string_view::npos) return;
      if (begins_with_colon(gap)) {
        if (is_absent && (is_clear_name(next) || (words_[next].roles == 0 && ends_sentence(next))))
          words_[next].name = true;
        return;
      }
      if (words_[next].quoted || !has(next, between_both)) return;
      is_absent = is_absent || has(next, absent);
    }
  }

  // "resource x_y", "no node named x_y", "KeyError: 'x'"
  void behind_thing(std::size_t i) {
    std::size_t next = i + 1;
    if (has(next, link) && next + 1 < words_.size() && !words_[next].quoted) ++next;
    if (next >= words_.size()) return;
    if (!is_surely_name(next) && !(is_clear_name(next) && has(next + 1, verdict))) return;
    const std::string_view gap = line_.substr(words_[i].end, words_[next].begin - words_[i].end);
    const bool only_blanks =
        gap.find_first_not_of(words_[next].quoted ? " '\"`" : " ") == std::string_view::npos ||
        (next > i + 1 && gap.find(':') == std::string_view::npos);
    if (only_blanks || (gap.starts_with(": ") && words_[next].quoted && ends_in_error(i)))
      words_[next].name = true;
  }
  [[nodiscard]] bool ends_in_error(std::size_t i) const {
    const std::string_view text = text_of(words_[i]);
    return text.ends_with("Error") || text.ends_with("error");
  }

  // "there is no x_y among the functions"
  void behind_denial(std::size_t i) {
    const bool follows = i + 1 < words_.size() && is_surely_name(i + 1) && speaks_of_nouns();
    if (follows && between(i).find_first_of(".:;!?,") == std::string_view::npos)
      words_[i + 1].name = true;
  }

  // "unknown policy requested: x", "unknown policy: x_y", but not "unknown error: x_y"
  void behind_unknown(std::size_t i) {
    bool asked = false;
    for (std::size_t next = i + 1; next < words_.size() && next <= i + 4; ++next) {
      const std::string_view gap = between(next - 1);
      if (begins_with_colon(gap)) {
        const bool is_word = words_[next].roles == 0 && ends_sentence(next) && asked;
        if (next > i + 1 && (is_clear_name(next) || is_word)) words_[next].name = true;
        return;
      }
      asked = asked || has(next, calling);
      if (gap.find_first_of(".;!?,") != std::string_view::npos || has(next, fault)) return;
    }
  }

  // "refund() takes 2 positional arguments"
  void in_front_of_arguments(std::size_t i) {
    if (words_[i].roles == 0 && has(i + 1, taking) && between(i).starts_with("() "))
      words_[i].name = true;
  }

  // "called x_y", "asked for 'x'", "a call to x_y", "invoked refund, but"
  void behind_call(std::size_t i) {
    if (i + 1 >= words_.size()) return;
    const bool linked =
        has(i + 1, link) || text_of(words_[i + 1]) == "to" || text_of(words_[i + 1]) == "for";
    const std::size_t next = linked && i + 2 < words_.size() ? i + 2 : i + 1;
    if (between(i).find_first_of(".;!?") != std::string_view::npos) return;
    if (speaks_of_nouns() ? is_clear_name(next) : is_surely_name(next)) {
      words_[next].name = true;
    } else if (words_[next].roles == 0 && next + 1 < words_.size() &&
               (between(next).starts_with(",") || between(next).starts_with(";") ||
                has(next + 1, verdict)) &&
               speaks_of_nouns()) {
      words_[next].name = true;
    }
  }

  [[nodiscard]] bool speaks_of_nouns() const {
    return std::any_of(words_.begin(), words_.end(),
                       [](const Word& word) { return (word.roles & noun) != 0; });
  }

  // "only a_b and c_d are registered", in a line about tools.
  void beside_another(std::size_t i) {
    if (i + 1 >= words_.size() || !is_clear_name(i) || !follows_in_list(i)) return;
    const std::size_t next = has(i + 1, joining) && i + 2 < words_.size() ? i + 2 : i + 1;
    const bool listed = std::any_of(words_.begin(), words_.end(),
                                    [](const Word& word) { return (word.roles & listing) != 0; });
    if (!is_clear_name(next) || !speaks_of_nouns() || !listed) return;
    words_[i].name = true;
    words_[next].name = true;
  }

  // "refund is not a known tool", "'x' is no tool"
  void in_front_of_noun(std::size_t i) {
    constexpr std::size_t reach = 8;
    const bool candidate = is_clear_name(i) || words_[i].roles == 0;
    const bool first = i == 0 || between(i - 1).find_first_of(".:;,\n") != std::string_view::npos;
    // As shells say it: "sh: 1: refund: command not found".
    if (candidate && first && i > 0 && has(i + 1, noun) && has(i + 2, verdict) &&
        has(i + 3, absent) && between(i).starts_with(": ")) {
      words_[i].name = true;
    }
    if (!candidate || (!words_[i].quoted && !words_[i].shaped && !first) || !has(i + 1, verdict)) {
      return;
    }
    for (std::size_t next = i + 2; next < words_.size() && next <= i + reach; ++next) {
      if (between(next - 1).find_first_of(".;!?") != std::string_view::npos) return;
      if (has(next, noun)) {
        words_[i].name = true;
        return;
      }
    }
  }

  // "Available tools: a, b", "valid: [a, b]", "tools are a, b and c", "did you mean x_y?"
  void list_behind(std::size_t i) {
    std::size_t next = i + 1;
    const std::size_t furthest = i + 5;
    while (next < words_.size() && next < furthest && !words_[next].quoted &&
           (words_[next].roles & (noun | listing | verdict | link | joining | pronoun)) != 0 &&
           (words_[next].roles & calling) == 0) {
      ++next;
    }
    if (next >= words_.size()) return;
    const std::string_view gap = line_.substr(words_[i].end, words_[next].begin - words_[i].end);
    if (gap.find_first_of(".;!") != std::string_view::npos) return;
    const bool opened = gap.find_first_of(":=[({") != std::string_view::npos;
    std::size_t last = next;
    while (last + 1 < words_.size() && follows_in_list(last)) {
      ++last;
      if (has(last, joining) && last + 1 < words_.size()) ++last;
    }
    const std::size_t items = last - next + 1;
    if (!opened && items < 2 && !is_clear_name(next)) return;
    if (!opened && !has(i, listing)) return;
    for (std::size_t item = next; item <= last; ++item) {
      if (is_clear_name(item) || (words_[item].roles & (joining | pronoun)) == 0) {
        if (opened || items >= 2 || is_clear_name(item)) words_[item].name = is_item(item, items);
      }
    }
  }

  [[nodiscard]] bool is_item(std::size_t i, std::size_t items) const {
    return words_[i].name || is_clear_name(i) || items >= 2 || ends_sentence(i);
  }

  // Only a comma, a bar, quotes or "and" separate this item from the next.
  [[nodiscard]] bool follows_in_list(std::size_t i) const {
    const std::string_view gap = between(i);
    const bool marks = gap.find_first_not_of(" ,|/'\"`&+") == std::string_view::npos;
    const bool divided = gap.find_first_of(",|/&") != std::string_view::npos;
    return marks && (divided || has(i + 1, joining));
  }

  std::string_view line_;
  std::vector<NamePlace>& places_;
  std::vector<Word> words_{};
};

}  // namespace

bool may_be_in_name(std::string_view words) noexcept {
  return std::all_of(words.begin(), words.end(),
                     [](char c) { return is_word_byte(c) || is_joining_byte(c) || c == '\''; });
}

void find_names(std::string_view line, std::vector<NamePlace>& places) {
  if (line.size() <= longest_line_with_names) NameFinder(line, places).run();
}

std::string without_names(std::string_view line, const std::vector<NamePlace>& places) {
  std::string text;
  std::size_t at = 0;
  for (const NamePlace& place : places) {
    const bool quoted = place.begin > 0 && is_quote(line[place.begin - 1]) &&
                        place.end < line.size() && is_quote(line[place.end]);
    text += line.substr(at, place.begin - at);
    text += quoted ? "_" : "'_'";
    at = place.end;
  }
  text += line.substr(at);
  return text;
}

}  // namespace triage::inline v0_1::detail
