// SPDX-License-Identifier: MIT
#include "classifier/text/lexicon.hpp"

#include "classifier/text/tokens.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::detail;

namespace {

std::string meaning_of(const Lexicon& lexicon, std::string_view line) {
  std::vector<Token> tokens;
  tokenize_line(line, lexicon, tokens);
  std::string meanings;
  for (const Token& token : tokens) meanings += lexicon.concepts()[token.meaning] + ",";
  return meanings;
}

std::size_t token_count(std::string_view line) {
  std::vector<Token> tokens;
  tokenize_line(line, built_in_lexicon(), tokens);
  return tokens.size();
}

bool same_tokens(std::string_view a, std::string_view b) {
  std::vector<Token> left;
  std::vector<Token> right;
  tokenize_line(a, built_in_lexicon(), left);
  tokenize_line(b, built_in_lexicon(), right);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].hash != right[i].hash) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the longest entry that fits a word says what it means", "[classifier][lexicon]") {
  const auto lexicon =
      Lexicon::parse("# comment\nnot\tnot no\nlimit\texce* limit\nbug\texception\n");
  REQUIRE_OK(lexicon);
  CHECK(meaning_of(lexicon.value(), "limit exceeded, no exception, nothing") ==
        "limit,limit,not,bug,,");
  CHECK(meaning_of(lexicon.value(), "LIMIT RateLimitExceeded") == "limit,,limit,limit,");
}

TEST_CASE("a lexicon that says one word twice is refused with its line", "[classifier][lexicon]") {
  const auto lexicon = Lexicon::parse("a\tone two\nb\ttwo\n");
  CHECK_ERRC(Errc::invalid_argument, lexicon);
  CHECK_THAT(lexicon.error().detail, ContainsSubstring("line 2"));
}

TEST_CASE("words of other languages have the meaning of the English ones",
          "[classifier][lexicon]") {
  const Lexicon& lexicon = built_in_lexicon();
  const std::string expected = meaning_of(lexicon, "tool unknown");
  CHECK(meaning_of(lexicon, "Werkzeug unbekannt") == expected);
  CHECK(meaning_of(lexicon, "herramienta desconocida") == expected);
  CHECK(meaning_of(lexicon, "ИНСТРУМЕНТ неизвестен") == expected);
  CHECK(meaning_of(lexicon, "工具") == meaning_of(lexicon, "tool"));
}

TEST_CASE("names, numbers and places do not tell texts apart", "[classifier][tokens]") {
  CHECK(same_tokens("tool 'web_search' not found", "tool 'web_search' not found"));
  CHECK(same_tokens("line 12 of https://a.example/x?y", "line 77 of http://other.example/"));
  CHECK(same_tokens("read /usr/lib/a.so at 12:30:01.5", "read /opt/b/c.so at 11:07:59.1"));
  CHECK(same_tokens("took 30s", "took 4500 ms"));
  CHECK(same_tokens("only 3 of 7 done", "only 12/80 done"));
  CHECK_FALSE(same_tokens("status 404", "status 503"));
  CHECK_FALSE(same_tokens("exit 137", "exit 139"));
}

TEST_CASE("a program's source and the data it reads are told apart", "[classifier][tokens]") {
  CHECK(same_tokens("bad token in main.py", "bad token in main.rs"));
  CHECK(same_tokens("bad token in /app/a.py:3:6", "bad token in /srv/b.go:9:1"));
  CHECK(same_tokens("bad token in rows.csv", "bad token in rows.yaml"));
  CHECK_FALSE(same_tokens("bad token in main.py", "bad token in main.csv"));
  CHECK_FALSE(same_tokens("bad token in /app/a.py", "bad token in /app/a.csv"));
  CHECK_FALSE(same_tokens("call os.go()", "call os.rs()"));  // These are not file names.
  CHECK_FALSE(same_tokens(".go home", ".py home"));
}

TEST_CASE("the parts of a name are words", "[classifier][tokens]") {
  CHECK(same_tokens("RateLimitError", "rate limit error"));
  CHECK(same_tokens("JSONDecodeError", "json decode error"));
  CHECK(same_tokens("context_length_exceeded", "context length exceeded"));
  CHECK(token_count("it can't") == 2);
  CHECK(token_count("it can\xE2\x80\x99t") == 2);
}

TEST_CASE("a word is read without a blank behind the number in front of it",
          "[classifier][tokens]") {
  CHECK(same_tokens("error 429retry later", "error 429 retry later"));
  CHECK(same_tokens("needs 12.5EUR,has3Coins", "needs 12.5EUR,has 3 Coins"));
  CHECK(same_tokens("took 5seconds", "took 5 seconds"));
  // These are ids.
  CHECK(same_tokens("at 2nd", "at 3rd"));
  CHECK(same_tokens("at 3f2a", "at 12abcdef"));
  CHECK(same_tokens("at 3f2a", "at 7lmno4"));
}

TEST_CASE("no bytes make the tokens fail", "[classifier][tokens]") {
  for (const std::string_view line :
       {std::string_view("\xff\xfe\x80"), std::string_view("\0\0a\0", 4), std::string_view("\xE3"),
        std::string_view("\xE6\x9C"), std::string_view("'"), std::string_view("'''\"`"),
        std::string_view("1."), std::string_view("9999999999999999999999"),
        std::string_view("a://"), std::string_view("\xC3"), std::string_view("\xD0"),
        std::string_view("'\xD0'")}) {
    INFO(line);
    CHECK(token_count(line) <= line.size());
  }
}
