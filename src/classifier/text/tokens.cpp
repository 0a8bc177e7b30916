// SPDX-License-Identifier: MIT
#include "classifier/text/tokens.hpp"

#include "base/ascii.hpp"
#include "classifier/text/char_kinds.hpp"
#include "classifier/text/file_kinds.hpp"
#include "classifier/text/units.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_quoted_name = 64;
constexpr std::size_t longest_word = 48;

bool is_name_char(char c) {
  return is_token_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == ':' ||
         c == '/' || c == '@' || c == '$' || c == '*' || c == '#' || c == '+';
}

// Meaningful numbers: HTTP errors, exit statuses of shells, and signals.
bool is_telling_number(unsigned value) {
  return (value >= 400 && value <= 599) || (value >= 124 && value <= 143) ||
         (value >= 32600 && value <= 32603) || value == 32700;
}

class LineTokenizer {
 public:
  LineTokenizer(std::string_view line, const Lexicon& lexicon, std::vector<Token>& tokens)
      : line_(line), lexicon_(lexicon), tokens_(tokens) {}

  void run() {
    while (at_ < line_.size()) step();
  }

 private:
  void step() {
    const char c = line_[at_];
    switch (kind_of(c)) {
      case CharKind::digit: number(); return;
      case CharKind::lower:
      case CharKind::upper:
      case CharKind::high: word(TokenKind::word); return;
      case CharKind::space: ++at_; return;
      case CharKind::other: punctuation(c); return;
    }
  }

  void mark(std::uint32_t hash, TokenKind kind = TokenKind::mark) {
    tokens_.push_back({.hash = hash, .kind = kind});
  }

  void punctuation(char c) {
    if (c == '\'' || c == '"' || c == '`') {
      if (quoted_name(c)) return;
    } else if (c == '/' && path()) {
      return;
    } else if (c == ';' || c == '!' || c == '?' || c == '|' ||
               (c == '.' &&
                (at_ + 1 == line_.size() || kind_of(line_[at_ + 1]) == CharKind::space))) {
      mark(sentence_end_mark);
    } else if (c == '>' || c == '<') {
      const bool spaced = at_ > 0 && line_[at_ - 1] == ' ' && at_ + 1 < line_.size() &&
                          (line_[at_ + 1] == ' ' || line_[at_ + 1] == '=');
      if (spaced) mark(mark_hash("<compared>"));
    }
    ++at_;
  }

  // 'name', "name" or `name`: masked, its words become inner tokens. False if not a name.
  bool quoted_name(char quote) {
    const bool after_word =
        at_ > 0 && (is_token_letter(line_[at_ - 1]) || is_digit(line_[at_ - 1]));
    if (after_word && quote == '\'') return false;  // An apostrophe.
    std::size_t end = at_ + 1;
    while (end < line_.size() && end - at_ <= longest_quoted_name && is_name_char(line_[end]))
      ++end;
    if (end >= line_.size() || line_[end] != quote || end == at_ + 1) return false;
    mark(mark_hash("<q>"), TokenKind::name);
    const std::string_view inside = line_.substr(0, end);
    const std::string_view whole = line_;
    ++at_;
    line_ = inside;
    while (at_ < line_.size()) {
      if (is_token_letter(line_[at_])) {
        word(TokenKind::inner);
      } else if (is_digit(line_[at_])) {
        number();
      } else {
        ++at_;
      }
    }
    line_ = whole;
    at_ = end + 1;
    return true;
  }

  // "/usr/lib/x": something with at least two parts.
  bool path() {
    if (at_ > 0 &&
        (is_token_letter(line_[at_ - 1]) || is_digit(line_[at_ - 1]) || line_[at_ - 1] == '/'))
      return false;
    std::size_t end = at_ + 1;
    std::size_t parts = 0;
    while (end < line_.size() && (is_name_char(line_[end]) || line_[end] == '%')) {
      if (line_[end] == '/') ++parts;
      ++end;
    }
    if (end < at_ + 3) return false;
    mark(mark_hash(parts == 0 ? "<slash>" : "<path>"), TokenKind::place);
    file_kind(line_.substr(at_, end - at_));
    at_ = end;
    return true;
  }

  // Marks a path whose file name tells its kind: "/app/main.go:3:6".
  void file_kind(std::string_view path) {
    path = path.substr(0, path.find(':'));
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos) return;
    if (const std::uint32_t kind = file_kind_mark(path.substr(dot + 1))) mark(kind);
  }

  // True if the word from `begin` to here is a file extension: "main.go", but not "a.b.c" or
  // "x.h(".
  [[nodiscard]] bool is_extension(std::size_t begin) const {
    if (begin < 2 || line_[begin - 1] != '.') return false;
    if (!is_token_letter(line_[begin - 2]) && !is_digit(line_[begin - 2])) return false;
    if (at_ == line_.size()) return true;
    const char next = line_[at_];
    // "x.pas(29,14)" is a position in a file.
    if (next == '(' && at_ + 1 < line_.size() && is_digit(line_[at_ + 1])) return true;
    return next != '.' && next != '_' && next != '(' && next != '-';
  }

  void number() {
    std::size_t end = at_;
    unsigned value = 0;
    while (end < line_.size() && is_digit(line_[end])) {
      if (end - at_ < 9) value = value * 10 + static_cast<unsigned>(line_[end] - '0');
      ++end;
    }
    const std::size_t digits = end - at_;
    const bool glued = at_ > 0 && (is_token_letter(line_[at_ - 1]) || line_[at_ - 1] == '_');
    // 1,234 and 1.5 and 12:30:01 are one number.
    bool broken = false;
    while (end + 1 < line_.size() &&
           (line_[end] == '.' || line_[end] == ',' || line_[end] == ':') &&
           is_digit(line_[end + 1])) {
      broken = true;
      ++end;
      while (end < line_.size() && is_digit(line_[end])) ++end;
    }
    const std::size_t before = at_;
    at_ = end;
    if (const std::uint32_t unit = take_unit()) {
      mark(unit);
      return;
    }
    if (at_ < line_.size() && is_token_letter(line_[at_]) && !glued_word()) {  // 3f2a, 2nd: an id.
      while (at_ < line_.size() && (is_token_letter(line_[at_]) || is_digit(line_[at_]))) ++at_;
      mark(mark_hash("<id>"), TokenKind::number);
      return;
    }
    if (!glued && n_of_m()) return;
    if (!broken && !glued && is_telling_number(value) && digits >= 3) {
      std::uint32_t hash = mark_hash("<code>");
      for (std::size_t i = before; i < end; ++i) {
        hash = hash_byte(hash, static_cast<unsigned char>(line_[i]));
      }
      mark(hash, TokenKind::number);
      return;
    }
    mark(mark_hash(digits >= 4 && !broken ? "<N>" : "<n>"), TokenKind::number);
  }

  // What is not ASCII ends an id, as it does behind other digits.
  static bool is_hex_or_high(char c) {
    return kind_of(c) == CharKind::high || (lower(c) >= 'a' && lower(c) <= 'f');
  }

  // A word stands behind a number without a blank: "429retry later".
  [[nodiscard]] bool glued_word() const {
    constexpr std::size_t least = 4;  // Shorter ones end ids: "2nd", "4xx", "7fed".
    std::size_t end = at_;
    bool hexadecimal = true;
    for (; end < line_.size() && is_token_letter(line_[end]); ++end)
      hexadecimal = hexadecimal && is_hex_or_high(line_[end]);
    return end - at_ >= least && !hexadecimal && (end == line_.size() || !is_digit(line_[end]));
  }

  // The unit after a number, with or without a space.
  std::uint32_t take_unit() {
    std::size_t begin = at_;
    if (begin < line_.size() && line_[begin] == ' ') ++begin;
    std::size_t end = begin;
    char name[16];
    while (end < line_.size() && end - begin < sizeof name && is_token_letter(line_[end])) {
      const char c = line_[end];
      name[end - begin] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      ++end;
    }
    if (end == begin || (end < line_.size() && is_token_letter(line_[end]))) return 0;
    const std::string_view given(name, end - begin);
    if (begin > at_ && given.size() < 2) return 0;  // "3 s" is ambiguous.
    const std::uint32_t unit = unit_mark(given);
    if (unit != 0) at_ = end;
    return unit;
  }

  // "3 of 7", "3/7", "3 out of 7", after the first number.
  bool n_of_m() {
    const std::string_view rest = line_.substr(at_);
    std::size_t skip = 0;
    for (const std::string_view middle :
         {"/", " of ", " out of ", " von ", " de ", " sur ", " di "}) {
      if (rest.starts_with(middle)) skip = middle.size();
    }
    if (skip == 0 || skip >= rest.size() || !is_digit(rest[skip])) return false;
    std::size_t end = skip;
    while (end < rest.size() && is_digit(rest[end])) ++end;
    if (end < rest.size() && (rest[end] == '/' || is_token_letter(rest[end])))
      return false;  // A date.
    mark(mark_hash("<n of m>"));
    at_ += end;
    return true;
  }

  // The length of the character at `at`, and its lower-case form in `out`.
  std::size_t lowered(std::size_t at, unsigned char (&out)[4]) const {
    const auto byte = static_cast<unsigned char>(line_[at]);
    out[0] = byte;
    if (byte < 0x80) {
      if (byte >= 'A' && byte <= 'Z') out[0] = static_cast<unsigned char>(byte - 'A' + 'a');
      return 1;
    }
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    if (at + length > line_.size()) return 1;
    for (std::size_t i = 1; i < length; ++i) out[i] = static_cast<unsigned char>(line_[at + i]);
    if (byte == 0xC3 && out[1] >= 0x80 && out[1] <= 0x9E) out[1] += 0x20;  // Latin-1 capitals.
    if (byte == 0xD0 && out[1] >= 0x90 && out[1] <= 0x9F) {                // Cyrillic ones.
      out[1] += 0x20;
    } else if (byte == 0xD0 && out[1] >= 0xA0 && out[1] <= 0xAF) {
      out[0] = 0xD1;
      out[1] -= 0x20;
    }
    return length;
  }

  [[nodiscard]] bool apostrophe_inside() const {
    return at_ + 1 < line_.size() && line_[at_] == '\'' &&
           kind_of(line_[at_ + 1]) == CharKind::lower;
  }

  // A typographic apostrophe between letters.
  [[nodiscard]] bool curly_inside() const {
    return line_.substr(at_, 3) == "\xE2\x80\x99" && at_ + 3 < line_.size() &&
           kind_of(line_[at_ + 3]) == CharKind::lower;
  }

  // Chinese, Japanese: there are no spaces between words, so each pair of characters is a token.
  [[nodiscard]] bool ideographic() const {
    const auto byte = static_cast<unsigned char>(line_[at_]);
    return byte >= 0xE3 && byte <= 0xE9 && at_ + 3 <= line_.size();
  }

  void ideographs() {
    const std::size_t begin = at_;
    while (at_ < line_.size() && ideographic()) {
      const std::size_t first = at_;
      at_ += 3;
      const bool pair = at_ < line_.size() && ideographic();
      if (!pair && first > begin) return;  // The last character is already in a pair.
      std::uint32_t hash = hash_seed;
      for (const char byte : line_.substr(first, pair ? 6 : 3)) {
        hash = hash_byte(hash, static_cast<unsigned char>(byte));
      }
      tokens_.push_back({.hash = hash, .kind = TokenKind::word, .meaning = lexicon_.word(hash)});
    }
  }

  // "https://…": one token up to the next blank or quote.
  bool url(std::size_t end) {
    if (end + 2 >= line_.size() || line_[end] != ':' || line_.substr(end, 3) != "://") return false;
    while (end < line_.size() && kind_of(line_[end]) != CharKind::space && line_[end] != '"' &&
           line_[end] != '\'' && line_[end] != '`' && line_[end] != ')' && line_[end] != '>') {
      ++end;
    }
    at_ = end;
    mark(mark_hash("<url>"), TokenKind::place);
    return true;
  }

  // A word as it is read, byte by byte.
  struct WordBytes {
    Token token{.hash = hash_seed};
    std::uint32_t recent = 0;  // The last three bytes.
    std::size_t length = 0;

    void put(unsigned char byte, const Lexicon& lexicon) {
      if (length == longest_word) return;
      token.hash = hash_byte(token.hash, byte);
      recent = (recent << 8U | byte) & 0xFFFFFFU;
      ++length;
      if (length < 3) return;
      if (length == 4) token.prefix = hash_byte(token.hash, '^');
      if (const Concept meaning = lexicon.prefix(token.hash)) token.meaning = meaning;
    }
  };

  // One word, up to its end or a change in CamelCase.
  void word(TokenKind kind) {
    if (ideographic()) {
      ideographs();
      return;
    }
    WordBytes word;
    const std::size_t begin = at_;
    while (at_ < line_.size() && take_letter(begin, word)) {}
    if (at_ == begin) ++at_;  // A stray byte.
    Token& token = word.token;
    token.kind = kind;
    if (word.length >= 6) {
      token.suffix = hash_byte(hash_byte(word.recent * 2654435761U, '$'), '$');
    }
    if (word.length < 5) token.prefix = 0;
    if (const Concept meaning = lexicon_.word(token.hash)) token.meaning = meaning;
    if (url(at_)) return;
    if (is_extension(begin)) {
      if (const std::uint32_t file = file_kind_mark(line_.substr(begin, at_ - begin))) {
        mark(file);
        return;
      }
    }
    tokens_.push_back(token);
  }

  // Takes the next letter, or an apostrophe between letters. False at the word's end.
  bool take_letter(std::size_t begin, WordBytes& word) {
    const char c = line_[at_];
    switch (kind_of(c)) {
      case CharKind::lower: break;
      case CharKind::upper:
        if (at_ > begin && new_part(begin)) return false;
        break;
      case CharKind::high: return take_high(begin, word);
      default:
        if (word.length == 0 || !apostrophe_inside()) return false;
        break;
    }
    word.put(static_cast<unsigned char>(lower(c)), lexicon_);
    ++at_;
    return true;
  }

  // A letter that is not ASCII.
  bool take_high(std::size_t begin, WordBytes& word) {
    if (at_ > begin && ideographic()) return false;
    const bool curly = curly_inside();
    unsigned char bytes[4] = {'\''};
    const std::size_t taken = curly ? 3 : lowered(at_, bytes);
    for (std::size_t i = 0; i < (curly ? 1 : taken); ++i) word.put(bytes[i], lexicon_);
    at_ += taken;
    return true;
  }

  // True where CamelCase begins a new part: "rateL|imit", "JSOND|ecode".
  [[nodiscard]] bool new_part(std::size_t begin) const {
    if (kind_of(line_[at_]) != CharKind::upper) return false;
    if (kind_of(line_[at_ - 1]) == CharKind::lower) return true;
    return at_ > begin && kind_of(line_[at_ - 1]) == CharKind::upper && at_ + 1 < line_.size() &&
           kind_of(line_[at_ + 1]) == CharKind::lower &&
           (at_ + 2 >= line_.size() || kind_of(line_[at_ + 2]) == CharKind::lower);
  }

  std::string_view line_;
  const Lexicon& lexicon_;
  std::vector<Token>& tokens_;
  std::size_t at_ = 0;
};

}  // namespace

void tokenize_line(std::string_view line, const Lexicon& lexicon, std::vector<Token>& tokens) {
  LineTokenizer(line, lexicon, tokens).run();
}

}  // namespace triage::inline v0_1::detail
