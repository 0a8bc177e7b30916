// SPDX-License-Identifier: MIT
#include "classifier/blame/talk_words.hpp"
#include "base/ascii.hpp"
#include "triage/detail/fnv1a.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>

namespace triage::inline v0_1::detail {
namespace {

bool has(const RE2& pattern, std::string_view text) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

// Ignores case; bytes need not be UTF-8.
struct Pattern : RE2 {
  explicit Pattern(const char* text) : RE2(text, options()) {}

  static RE2::Options options() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_case_sensitive(false);
    options.set_log_errors(false);
    return options;
  }
};

bool is_letter_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 0x80;
}

constexpr std::size_t least_letters = 4;
constexpr std::size_t longest_word = 64;  // Longer ones are identified by their beginning.

// Words common to all conversations.
bool is_filler(std::string_view word) {
  constexpr std::array<std::string_view, 60> common{
      "about",  "accurate", "also",   "answer",   "based",     "been",   "code",    "correct",
      "could",  "data",     "ensure", "final",    "following", "from",   "have",    "information",
      "into",   "need",     "only",   "other",    "output",    "please", "provide", "provided",
      "result", "results",  "should", "some",     "step",      "steps",  "task",    "than",
      "that",   "their",    "them",   "then",     "there",     "these",  "they",    "this",
      "those",  "using",    "used",   "verified", "verify",    "were",   "what",    "when",
      "where",  "which",    "will",   "with",     "would",     "your",   "here",    "make",
      "each",   "more",     "does",   "just"};
  return std::find(common.begin(), common.end(), word) != common.end();
}

// Calls use(hash, is_number) for each meaningful word.
template <class Use>
void each_word(std::string_view text, Use use) {
  std::string word;
  for (std::size_t i = 0; i < text.size();) {
    const bool number = is_digit(text[i]);
    if (!number && !is_letter_byte(text[i])) {
      ++i;
      continue;
    }
    word.clear();
    for (; i < text.size(); ++i) {
      const char c = text[i];
      const bool inside =
          number ? is_digit(c) || c == ',' || c == '.' : is_letter_byte(c) || c == '\'' || c == '-';
      if (!inside) break;
      if (c == ',' || word.size() == longest_word) continue;
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    while (!word.empty() && (word.back() == '.' || word.back() == '-' || word.back() == '\'')) {
      word.pop_back();
    }
    if (number || (word.size() >= least_letters && !is_filler(word))) use(fnv1a(word), number);
  }
}

void keep_distinct(std::vector<std::uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

bool speaks_of_assuming(std::string_view text) {
  static const Pattern pattern(
      R"(\b(?:assum(?:e|es|ed|ing|ption|ptions)|simulat\w*|hypothe\w*|placeholders?|mock\w*|dummy|fictional|made-?up|for demonstration|illustrat\w*|generally|typical(?:ly)?|estimat\w*|(?:sample|example) (?:data\w*|csv|files?|scripts?|values?)|(?:general|common) knowledge)\b)");
  return has(pattern, text);
}

bool speaks_of_guessing(std::string_view text) {
  static const Pattern pattern(
      R"(\bwell[- ]known\b|\b(?:general|common|background|prior) knowledge\b|\bfrom memory\b|\bguess\w*\b|\b(?:most )?(?:probabl[ey]|likely|plausibl[ey])\b|\bassum\w+\b|\bestimat\w+\b|\bbest (?:available )?answer\b|\bas far as i know\b)");
  return has(pattern, text);
}

bool does_by_hand(std::string_view text) {
  static const Pattern pattern(R"(\bmanual(?:ly)?\b|\bby hand\b)");
  return has(pattern, text);
}

bool asks_others(std::string_view text) {
  static const Pattern pattern(
      R"(could you|can you|would you|please (?:provide|share|confirm|verify|review|proceed|search|find|visit|go|click|open|use|look|check|help|perform|navigate))");
  return has(pattern, text);
}

bool closes_talk(std::string_view text) {
  static const Pattern pattern(
      R"(\bterminate\b|\bi agree\b|\bagreed\b|\bconfirmed\b|\bconclude\b|(?:conditions|criteria|requirements) (?:have been|are) met|task is (?:now )?(?:complete|done|finished))");
  return has(pattern, text);
}

bool tells_raised(std::string_view output) {
  static const Pattern pattern(
      R"(^\s*(?:error\b|exit ?(?:code|status):? *-?[1-9])|traceback \(most recent call last\)|(?m:^[\w.]*(?:error|exception): )|(?m:^panic: ))");
  return has(pattern, output);
}

bool shows_page(std::string_view text) {
  static const Pattern pattern(R"(\bviewport\b|\bscreenshot of\b|^address: \S+\s+title: )");
  return has(pattern, text);
}

bool had_nothing_to_do(std::string_view output) {
  static const Pattern pattern(
      R"(^\W*(?:there (?:is|was) )?(?:no (?:code|command|commands|script|tool call)\b|nothing (?:to (?:run|execute|do)|was (?:run|executed))))");
  return has(pattern, output);
}

bool name_says_change(std::string_view tool) {
  // A server or module before the name proper.
  const std::size_t at = tool.find_last_of("./:");
  if (at != std::string_view::npos) tool.remove_prefix(at + 1);
  if (const std::size_t two = tool.rfind("__"); two != std::string_view::npos) {
    tool.remove_prefix(two + 2);
  }
  std::string verb;  // The first word of "cancel_order", "cancelOrder", "CancelOrder".
  for (const char c : tool.substr(0, longest_word)) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (!is_letter_byte(c) || (upper && !verb.empty())) break;
    verb += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  constexpr std::array<std::string_view, 48> verbs{
      "add",      "approve", "assign", "book",   "buy",       "cancel", "change",   "charge",
      "close",    "create",  "delete", "deploy", "drop",      "edit",   "exchange", "insert",
      "install",  "merge",   "modify", "move",   "overwrite", "patch",  "pay",      "post",
      "publish",  "purge",   "push",   "put",    "refund",    "remove", "rename",   "replace",
      "reserve",  "reset",   "return", "revoke", "save",      "send",   "set",      "submit",
      "transfer", "update",  "upload", "write",  "commit",    "grant",  "schedule", "withdraw"};
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

std::string_view stated_answer(std::string_view text) {
  static const Pattern pattern(R"(final answer(?: is\b|\W{0,3}:))");
  re2::StringPiece rest(text.data(), text.size());
  std::string_view answer;
  while (RE2::FindAndConsume(&rest, pattern)) answer = {rest.data(), rest.size()};
  return answer.substr(0, answer.find("\n\n"));
}

bool shows_search(std::string_view text) {
  static const Pattern pattern(
      R"(- search\]|/search\?|search results?|\bthe results show\b|[?&]q=|\bsearch(?:ed)? (?:for|engine))");
  return has(pattern, text);
}

bool tells_to_open(std::string_view text) {
  static const Pattern pattern(R"(\b(?:open|click|visit|go to|navigate to|official|website)\b)");
  return has(pattern, text);
}

bool says_of_its_own(std::string_view text) {
  static const Pattern done(
      R"(^\W*(?:i (?:clicked|typed|scrolled|navigated|opened|searched|went|reloaded|selected|hovered|pressed|downloaded|entered)|here is a screenshot|here is the|the viewport|automatic ocr|address:|title:|viewport|path:|the web ?browser))");
  static const Pattern statement(
      R"(\b(?:is|are|was|were|has|have|costs?|there|according|therefore|contains?|lists?|shows?|opens?|leaves?|arrives?)\b)");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.size() < 30 || has(done, line)) continue;
    const std::size_t last = line.find_last_not_of(" \t\r*");
    if (last == line.npos || (line[last] != '.' && line[last] != ':')) continue;
    if (has(statement, line)) return true;
  }
  return false;
}

std::vector<std::uint64_t> distinct_words(std::string_view text) {
  std::vector<std::uint64_t> hashes;
  each_word(text, [&](std::uint64_t hash, bool) { hashes.push_back(hash); });
  keep_distinct(hashes);
  return hashes;
}

std::vector<std::uint64_t> marked_words(std::string_view text) {
  std::vector<std::uint64_t> hashes;
  each_word(text, [&](std::uint64_t hash, bool number) {
    if (number) hashes.push_back(hash);
  });
  static const Pattern marked(R"re(\*\*([^*\n]{1,80})\*\*|"([^"\n]{1,80})"|`([^`\n]{1,60})`)re");
  re2::StringPiece rest(text.data(), text.size());
  std::array<re2::StringPiece, 3> found;
  while (RE2::FindAndConsume(&rest, marked, &found[0], &found[1], &found[2])) {
    for (const re2::StringPiece& one : found) {
      each_word(std::string_view(one.data(), one.size()),
                [&](std::uint64_t hash, bool) { hashes.push_back(hash); });
    }
  }
  keep_distinct(hashes);
  return hashes;
}

}  // namespace triage::inline v0_1::detail
