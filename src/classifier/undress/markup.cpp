// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr std::size_t longest_tag = 2048;
constexpr std::size_t longest_entity = 10;

// Elements inside a line; all others end it.
constexpr std::array<std::string_view, 20> inline_tags{
    "a", "abbr", "b",     "big",  "code",   "em",  "font", "i",  "kbd", "mark",
    "s", "samp", "small", "span", "strong", "sub", "sup",  "tt", "u",   "var"};
// Elements whose content is not shown.
constexpr std::array<std::string_view, 4> hidden_tags{"script", "style", "svg", "noscript"};
// Elements that identify HTML and servers' XML.
constexpr std::array<std::string_view, 41> known_tags{"!doctype",
                                                      "?xml",
                                                      "html",
                                                      "head",
                                                      "body",
                                                      "title",
                                                      "meta",
                                                      "div",
                                                      "p",
                                                      "pre",
                                                      "h1",
                                                      "h2",
                                                      "h3",
                                                      "h4",
                                                      "span",
                                                      "b",
                                                      "strong",
                                                      "em",
                                                      "i",
                                                      "code",
                                                      "table",
                                                      "ul",
                                                      "ol",
                                                      "li",
                                                      "br",
                                                      "hr",
                                                      "center",
                                                      "font",
                                                      "a",
                                                      "section",
                                                      "main",
                                                      "article",
                                                      "error",
                                                      "errorresponse",
                                                      "response",
                                                      "fault",
                                                      "soap:envelope",
                                                      "soapenv:envelope",
                                                      "s:envelope",
                                                      "env:envelope",
                                                      "samp"};

std::string_view tag_name(std::string_view text, std::size_t open) {
  std::size_t begin = open + 1;
  if (begin < text.size() && text[begin] == '/') ++begin;
  std::size_t end = begin;
  while (end < text.size() && end - begin < 32 &&
         (is_word(text[end]) || text[end] == '!' || text[end] == '?' || text[end] == ':' ||
          text[end] == '-')) {
    ++end;
  }
  return text.substr(begin, end - begin);
}

// Ids and times in servers' XML.
bool is_metadata(std::string_view name) {
  for (const std::string_view known :
       {"requestid", "hostid", "traceid", "timestamp", "request_id", "date", "path", "instance"}) {
    if (same_word(name, known)) return true;
  }
  return false;
}

struct Entity {
  std::string_view name;
  std::string_view meaning;
};
constexpr Entity entities[] = {
    {"&lt;", "<"},    {"&gt;", ">"},     {"&amp;", "&"},     {"&quot;", "\""},  {"&apos;", "'"},
    {"&nbsp;", " "},  {"&ndash;", "-"},  {"&mdash;", " - "}, {"&hellip;", "…"}, {"&lsquo;", "'"},
    {"&rsquo;", "'"}, {"&ldquo;", "\""}, {"&rdquo;", "\""}};

// Appends the character of an entity and returns the entity's length; 0 if it is not one.
std::size_t read_entity(std::string_view text, std::string& out) {
  for (const Entity& entity : entities) {
    if (!text.starts_with(entity.name)) continue;
    out += entity.meaning;
    return entity.name.size();
  }
  if (!text.starts_with("&#")) return 0;
  const bool hex = text.size() > 2 && lower(text[2]) == 'x';
  unsigned code = 0;
  std::size_t at = hex ? 3 : 2;
  while (at < text.size() && at < longest_entity && (hex ? is_hex(text[at]) : is_digit(text[at]))) {
    const char c = lower(text[at++]);
    code = code * (hex ? 16 : 10) + static_cast<unsigned>(is_digit(c) ? c - '0' : c - 'a' + 10);
  }
  if (at >= text.size() || text[at] != ';') return 0;
  out += code >= 0x20 && code < 0x7F ? static_cast<char>(code) : ' ';
  return at + 1;
}

class MarkupReader {
 public:
  explicit MarkupReader(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '<' && tag()) continue;
      if (text_[at_] == '&') {
        if (const std::size_t length = read_entity(text_.substr(at_, 12), out_)) {
          at_ += length;
          continue;
        }
      }
      const char c = text_[at_++];
      const bool blank = is_blank(c);
      // Indentation distinguishes stack frames from lines of source.
      if (!blank) line_begun_ = c != '\n';
      if (!blank || !line_begun_) {
        out_ += c;
      } else if (out_.back() != ' ') {
        out_ += ' ';
      }
    }
    return std::move(out_);
  }

 private:
  void end_line() {
    line_begun_ = false;
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }

  // Skips a tag, a comment, or a hidden element. False if "<" is just a character.
  bool tag() {
    if (text_.substr(at_, 4) == "<!--") {
      at_ += 4;
      if (skip_to("-->", text_.size())) at_ += 3;
      return true;
    }
    if (text_.substr(at_, 9) == "<![CDATA[") {
      at_ += 9;
      return true;
    }
    const std::string_view name = tag_name(text_, at_);
    if (name.empty()) {
      if (text_.substr(at_, 3) == "]]>") at_ += 3;
      return false;
    }
    const std::size_t end = text_.substr(at_, longest_tag).find('>');
    if (end == std::string_view::npos) return false;
    const bool opens = text_[at_ + 1] != '/';
    const bool closed = text_[at_ + end - 1] == '/';
    at_ += end + 1;
    if (!is_one_of(inline_tags, name)) end_line();
    if (!opens || closed) return true;
    // A sentence may have a placeholder such as <path>, so metadata is short or none.
    if (is_one_of(hidden_tags, name)) skip_to("</" + std::string(name), text_.size());
    if (is_metadata(name)) skip_to("</" + std::string(name), longest_tag);
    return true;
  }

  // Stays where it is if the mark is not there. A mark that the whole rest lacks is not looked for
  // again, so that many open elements take linear time.
  bool skip_to(const std::string& mark, std::size_t reach) {
    if (missing_.contains(mark)) return false;
    const std::size_t found = text_.substr(at_, reach).find(mark);
    if (found != std::string_view::npos) {
      at_ += found;
    } else if (reach >= text_.size() - at_) {
      missing_.insert(mark);
    }
    return found != std::string_view::npos;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_{};
  bool line_begun_ = false;  // More than indentation was written.
  std::set<std::string> missing_{};
};

// "nginx/1.22.1", "Apache/2.4.57 (Debian) Server at …"
bool is_server_name(std::string_view line) {
  Reader reader{line};
  const std::string_view program = reader.take_while([](char c) { return is_word(c) || c == '-'; });
  if (!program.empty() && reader.take('/') && is_digit(reader.next()) &&
      line.find(' ') == std::string_view::npos) {
    return true;
  }
  for (const std::string_view name :
       {"nginx", "Apache/", "cloudflare", "openresty", "Microsoft-IIS", "lighttpd", "Werkzeug",
        "envoy", "gunicorn", "Caddy", "Varnish", "Powered by", "Ray ID", "Cloudflare Ray"}) {
    if (line.starts_with(name)) return true;
  }
  return false;
}

// "500 Internal Server Error", "HTTP Status 400 – Bad Request": dropped if there is more text.
bool is_common_headline(std::string_view line) {
  const bool common =
      line.find("500") != std::string_view::npos || line.find("400") != std::string_view::npos;
  if (line.size() > 60 || !common) {
    return same_word(line, "internal server error") || same_word(line, "bad request") ||
           same_word(line, "error page") || same_word(line, "application error");
  }
  return line.find("nternal") != std::string_view::npos ||
         line.find("Bad Request") != std::string_view::npos ||
         line.find("Error") != std::string_view::npos;
}

// Removes Markdown fences, quotes and emphasis around the whole text.
bool unmark(std::string& text) {
  const std::string_view inside = trimmed(text);
  if (inside.starts_with("```")) {
    const std::size_t line = inside.find('\n');
    const std::size_t close = inside.rfind("```");
    if (line == std::string_view::npos || close <= line) return false;
    std::string out(inside.substr(line + 1, close - line - 1));
    out += inside.substr(close + 3);
    if (!has_letter(out)) return false;
    text = std::move(out);
    return true;
  }
  // "**Error:** …", "> …" on every line.
  if (inside.starts_with("**")) {
    const std::size_t close = inside.find("**", 2);
    if (close == std::string_view::npos || close > 60) return false;
    std::string out(inside.substr(2, close - 2));
    out += inside.substr(close + 2);
    text = std::move(out);
    return true;
  }
  return false;
}

bool is_markup(std::string_view text) {
  constexpr std::size_t searched = 400;  // Markup shows at the beginning.
  std::size_t known = 0;
  for (std::size_t at = text.find('<'); at < std::min(text.size(), searched);
       at = text.find('<', at + 1)) {
    if (!is_one_of(known_tags, tag_name(text, at))) continue;
    ++known;
    const bool first = trimmed(text.substr(0, at)).empty();
    if (known >= 2 || (first && text.find('>', at) != std::string_view::npos)) return true;
  }
  return false;
}

// A document of JSON over several lines, from a line that is a bracket to the bracket that closes
// it; empty if there is none.
std::string_view printed_json(std::string_view text) {
  for (const std::string_view line : lines_of(text)) {
    const std::string_view shown = trimmed(line);
    if (shown != "{" && shown != "[") continue;
    const std::string_view rest = text.substr(static_cast<std::size_t>(shown.data() - text.data()));
    std::size_t open = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < rest.size(); ++at) {
      const char c = rest[at];
      if (in_string && c == '\\') ++at;
      if (c == '"') in_string = !in_string;
      if (in_string) continue;
      if (c == '{' || c == '[') ++open;
      if ((c == '}' || c == ']') && --open == 0) return rest.substr(0, at + 1);
    }
    return {};
  }
  return {};
}

// Whether a line of the document has a text of several words: "message": "no such tool".
bool says_something(std::string_view json) {
  const std::vector<std::string_view> lines = lines_of(json);
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    const std::size_t value = line.find("\": \"");
    return value != std::string_view::npos &&
           trimmed(line.substr(value + 4)).find(' ') != std::string_view::npos;
  });
}

}  // namespace

bool unwrap_markup(std::string& text) {
  if (unmark(text)) return true;
  if (!is_markup(text)) return false;
  const std::string plain = MarkupReader(text).run();
  const std::string_view json = printed_json(plain);
  std::vector<std::string_view> lines;
  for (const std::string_view line : lines_of(plain)) {
    if (json.data() <= line.data() && line.data() < json.data() + json.size()) continue;
    const std::string_view shown = trimmed(line);
    if (has_letter(shown) && !is_server_name(shown)) lines.push_back(line);
  }
  const bool more = says_something(json) || std::any_of(lines.begin(), lines.end(), [](auto line) {
                      return !is_common_headline(trimmed(line)) && !says_little(line);
                    });
  if (more) std::erase_if(lines, [](auto line) { return is_common_headline(trimmed(line)); });
  std::string out = telling_lines(lines);
  if (!out.empty() && !json.empty()) out += '\n';
  out += json;
  if (!has_letter(out)) return false;
  text = std::move(out);
  return true;
}

}  // namespace triage::inline v0_1::detail
