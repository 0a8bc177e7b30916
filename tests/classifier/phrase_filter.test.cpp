// SPDX-License-Identifier: MIT
#include "classifier/phrases/phrase_filter.hpp"
#include "classifier/phrases/rules_table.hpp"
#include "classifier/phrases/word_index.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include "triage/clock.hpp"
#include "triage/json.hpp"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {
extern const std::string_view rules_text;   // data/rules.tsv
extern const std::string_view rules_words;  // data/rules_words.tsv
}  // namespace triage::inline v0_1::detail

namespace {

namespace detail = triage::detail;
using triage::detail::PhraseFilter;

// Patterns with their filter, like the table of rules.
class Filtered {
 public:
  explicit Filtered(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      phrases_.emplace_back(3);
      int id = 0;
      REQUIRE(phrases_.back().Add(pattern, options(), &id) == RE2::NoError);
      const auto words = detail::words_needed(phrases_.back());
      REQUIRE(words);
      filter_.add(*words);
    }
    REQUIRE(filter_.finish());
  }

  [[nodiscard]] std::vector<std::size_t> candidates(const std::string& line) const {
    std::vector<std::size_t> found;
    filter_.for_each_candidate(line, [&](std::size_t phrase) { found.push_back(phrase); });
    return found;
  }
  [[nodiscard]] std::vector<std::size_t> matches(const std::string& line) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < phrases_.size(); ++i) {
      if (RE2::PartialMatch(line, phrases_[i].GetRE2(0))) found.push_back(i);
    }
    return found;
  }

 private:
  static RE2::Options options() {
    RE2::Options bytes;
    bytes.set_encoding(RE2::Options::EncodingLatin1);
    bytes.set_log_errors(false);
    return bytes;
  }

  std::vector<re2::FilteredRE2> phrases_{};
  PhraseFilter filter_{};
};

using Numbers = std::vector<std::size_t>;

// A hundred words, each of which requires "zebra" beside it.
std::string many_words() {
  std::string pattern = "zebra.*(?:";
  for (char a = 'a'; a <= 'j'; ++a) {
    for (char b = 'a'; b <= 'j'; ++b) pattern += std::string{a, b, 'x', '|'};
  }
  pattern.back() = ')';
  return pattern;
}

}  // namespace

TEST_CASE("a phrase is a candidate where its words are", "[classifier][rules]") {
  const Filtered filtered(
      {"(?i)timed out", "(?i)(?:open|done).*(?:task|goal)", "(?i)plan|task list"});
  CHECK(filtered.candidates("it TIMED OUT") == Numbers{0});
  CHECK(filtered.candidates("a goal is open") == Numbers{1});   // The order is checked later.
  CHECK(filtered.candidates("the task and the goal").empty());  // Two words that are not enough.
  CHECK(filtered.candidates("an open door").empty());
  CHECK(filtered.candidates("plan: open task") == Numbers{1, 2});
  CHECK(filtered.candidates("").empty());
}

TEST_CASE("a phrase is a candidate only if each of its clauses has a word", "[classifier][rules]") {
  const Filtered filtered({"(?i)(?:task|goal) (?:is|was) (?:open|left).*(?:today|now)",
                           "one.*two.*three.*four.*five.*six.*seven.*eight.*nine.*ten",
                           "plan (?:is|was) open|goal (?:cut|drawn) short"});
  CHECK(filtered.candidates("today the goal was open") == Numbers{0});
  CHECK(filtered.candidates("task goal open left open task").empty());
  CHECK(filtered.candidates("today open, now left").empty());
  CHECK(filtered.candidates("one two three four five six seven eight nine ten") == Numbers{1});
  CHECK(filtered.candidates("one two three").empty());
  CHECK(filtered.candidates("drawn short").empty());
  CHECK(filtered.candidates("goal drawn short") == Numbers{2});
}

TEST_CASE("a phrase that needs no word is not taken", "[classifier][rules]") {
  re2::FilteredRE2 phrase(3);
  int id = 0;
  REQUIRE(phrase.Add("failed|4..", {}, &id) == RE2::NoError);
  CHECK_FALSE(detail::words_needed(phrase));
}

TEST_CASE("no line that matches is left out", "[classifier][rules]") {
  const std::vector<std::string> patterns{
      "(?i)(?:open|done).*(?:task|goal)s?",
      "(?i)(?:task|goal) (?:\\w+ ){0,2}(?:open|left).*(?:today|now)",
      "(?i)task|(?:goal|plan) (?:left|done)", many_words()};
  const Filtered filtered(patterns);
  const std::vector<std::string> words{"open", "done",  "task", "goals", "left", "today", "now",
                                       "plan", "zebra", "abx",  "jjx",   "jix",  "a",     "TASK"};
  constexpr std::uint64_t seed = 20261122;
  const auto random = triage::seeded_random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random->next() % n); };
  INFO("seed " << seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string line;
    for (std::size_t i = below(6); i > 0; --i) line += words[below(words.size())] + " ";
    INFO(line);
    const Numbers candidates = filtered.candidates(line);
    for (const std::size_t match : filtered.matches(line)) {
      CHECK(std::count(candidates.begin(), candidates.end(), match) == 1);
    }
  }
}

TEST_CASE("no phrase of the built-in table is left out on the corpus", "[classifier][rules]") {
  std::vector<std::string> patterns;
  const auto rows = detail::read_rule_table(detail::rules_text);
  REQUIRE(rows);
  for (const detail::RuleRow& row : rows.value()) {
    if (row.rule.kind != detail::RuleKind::exception_type) patterns.push_back("(?i)" + row.pattern);
  }
  const Filtered filtered(patterns);
  const auto random = triage::seeded_random(7);
  std::size_t matched = 0;
  for (const char* file : {"llm.jsonl", "systems.jsonl"}) {
    std::ifstream lines(std::string(TRIAGE_SOURCE_DIR) + "/data/failures/" + file);
    REQUIRE(lines);
    for (std::string line; std::getline(lines, line);) {
      std::string text = triage::Json::parse(line)["text"];
      if (random->next() % 4 == 0)
        text[random->next() % text.size()] = "\r\0\xff"[random->next() % 3];
      const Numbers candidates = filtered.candidates(text);
      for (const std::size_t match : filtered.matches(text)) {
        ++matched;
        if (std::count(candidates.begin(), candidates.end(), match) == 1) continue;
        FAIL_CHECK(patterns[match] << " in " << text);
      }
    }
  }
  CHECK(matched > 500);
}

// Other versions of RE2 name other words for some patterns, each enough by itself: those that wrote
// the file list words from Z to A, later ones by length.
bool re2_is_as_when_written() {
  const auto words = detail::words_of_pattern("(?i)zoomed|refused");
  REQUIRE(words);
  return detail::show_words({"probe", 0, *words}).ends_with("1:zoomed\t1:refused");
}

TEST_CASE("the words worked out beforehand are those of the table", "[classifier][rules]") {
  const auto rows = detail::read_rule_table(detail::rules_text);
  REQUIRE(rows);
  std::string known(detail::rules_words);
  known.erase(0, known.find('\n') + 1);
  // If not: build/dev/bin/write_rules_words data/rules.tsv data/rules_words.tsv
  const auto now = detail::read_words(detail::written_words(rows.value()));
  const auto before = detail::read_words(known);
  REQUIRE(now);
  REQUIRE(before);
  REQUIRE(before.value().size() == now.value().size());
  for (std::size_t i = 0; i < now.value().size(); ++i) {
    CHECK(before.value()[i].id == now.value()[i].id);
    CHECK(before.value()[i].checksum == now.value()[i].checksum);
  }
  if (re2_is_as_when_written()) {
    CHECK(known == detail::written_words(rows.value()));
  } else {
    WARN("this version of RE2 names other words");
  }
  CHECK_ERRC(triage::Errc::invalid_argument, detail::read_words("id\tx\t!:word\n"));
  CHECK_ERRC(triage::Errc::invalid_argument, detail::read_words("id\t1\t!:\n"));
}

TEST_CASE("patterns that are compiled late match as those that are compiled at once",
          "[classifier][rules]") {
  const auto early = detail::RuleBook::parse(detail::rules_text);
  REQUIRE(early);
  for (const char* text : {"Too many requests", "openai.RateLimitError: slow", "tool 'x' not found",
                           "It is 401 Unauthorized, try again in 20 s", "nothing"}) {
    std::vector<detail::RuleHit> at_once;
    std::vector<detail::RuleHit> late;
    early.value().match_text(text, at_once);
    detail::built_in_rules().match_text(text, late);
    REQUIRE(at_once.size() == late.size());
    for (std::size_t i = 0; i < late.size(); ++i) {
      CHECK(at_once[i].rule->id == late[i].rule->id);
      CHECK(at_once[i].matched == late[i].matched);
    }
  }
}

TEST_CASE("the name of an exception matches what its pattern matches", "[classifier][rules]") {
  const auto rows = detail::read_rule_table(detail::rules_text);
  REQUIRE(rows);
  RE2::Options bytes;
  bytes.set_encoding(RE2::Options::EncodingLatin1);
  std::size_t matched = 0;
  const auto check = [&](const std::string& name) {
    INFO(name);
    const std::string_view last = detail::last_name_component(name);
    const std::string key = detail::exception_stem(last) + " " + std::string(last);
    std::vector<std::string> expected;
    for (const detail::RuleRow& row : rows.value()) {
      if (row.rule.kind != detail::RuleKind::exception_type) continue;
      if (RE2::FullMatch(key, RE2("(?i)" + row.pattern, bytes))) expected.push_back(row.rule.id);
    }
    std::vector<detail::RuleHit> hits;
    detail::built_in_rules().match_exception_type(name, hits);
    std::vector<std::string> found;
    for (const detail::RuleHit& hit : hits) found.push_back(hit.rule->id);
    CHECK(found == expected);
    matched += found.size();
  };
  for (const char* name :
       {"openai.RateLimitError", "TimeoutError", "asyncio.exceptions.CancelledError",
        "httpx.ConnectTimeout", "std::runtime_error", "java.net.SocketTimeoutException",
        "google.api_core.exceptions.InvalidArgument", "JSONDecodeError", "OutputParserException",
        "KeyError", "botocore.exceptions.ThrottlingException", "PermissionDeniedError",
        "ToolNotFoundError", "MaxTurnsExceeded", "ConnectionResetError", "ServerError", "é"}) {
    check(name);
  }
  CHECK(matched > 9);
}

TEST_CASE("more words than fit are refused", "[classifier][rules]") {
  detail::PhraseWords many;
  for (int i = 0; i < 70'000; ++i) {
    many.words.push_back({.text = "word" + std::to_string(i), .clauses = 1});
  }
  PhraseFilter filter;
  filter.add(many);
  CHECK_FALSE(filter.finish());
}

TEST_CASE("words are found wherever they stand, in any case and inside each other",
          "[classifier][rules]") {
  const std::vector<std::string> words{"con", "connect", "connection", "503", "not ", "\xe9t\xe9"};
  const detail::WordIndex index(words);
  const auto found = [&](std::string_view text) {
    std::set<std::string> all;
    index.for_each_in(text, [&](std::size_t word) { all.insert(words[word]); });
    return all;
  };
  using Words = std::set<std::string>;
  CHECK(found("reCONNECTion") == Words{"con", "connect", "connection"});
  CHECK(found("icon") == Words{"con"});                   // At the very end.
  CHECK(found("connecting") == Words{"con", "connect"});  // Differs behind eight bytes.
  CHECK(found("disconnecti") == Words{"con", "connect"});
  CHECK(found("co n ct 50 not").empty());
  CHECK(found("1503, not \xe9t\xe9") == Words{"503", "not ", "\xe9t\xe9"});
  CHECK(found("\xc9t\xe9").empty());  // Only ASCII letters have a case.
  CHECK(found("").empty());
  detail::WordIndex{}.for_each_in("anything", [](std::size_t) { FAIL("there are none"); });
}

TEST_CASE("the index finds exactly the words that a plain search finds", "[classifier][rules]") {
  const auto random = triage::seeded_random(11);
  const auto text_of = [&](std::size_t least, std::size_t most) {
    std::string text;
    for (std::size_t i = least + random->next() % (most - least + 1); i > 0; --i) {
      text += static_cast<char>('a' + random->next() % 3);
    }
    return text;
  };
  std::set<std::string> unique;
  while (unique.size() < 60) unique.insert(text_of(3, 6));
  const std::vector<std::string> words(unique.begin(), unique.end());
  const detail::WordIndex index(words);
  for (int round = 0; round < 2'000; ++round) {
    const std::string text = text_of(0, 12);
    INFO(text);
    std::set<std::string> found;
    index.for_each_in(text, [&](std::size_t word) { found.insert(words[word]); });
    for (const std::string& word : words) {
      CHECK(found.contains(word) == (text.find(word) != std::string::npos));
    }
  }
}
