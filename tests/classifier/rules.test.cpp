// SPDX-License-Identifier: MIT
#include "classifier/phrases/rules.hpp"

#include "search/word_finder.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <set>

using namespace triage;
using detail::RuleBook;

namespace {

std::set<std::string> found_in(const detail::WordFinder& finder,
                               const std::vector<std::string>& words, std::string_view text) {
  std::set<std::string> found;
  detail::WordFinder::State state = 0;
  for (std::size_t at = 0; at < text.size();) {
    at = finder.scan(text, at, state);
    if (!finder.found(state)) continue;
    for (const int word : finder.words(state)) found.insert(words[static_cast<std::size_t>(word)]);
  }
  return found;
}

}  // namespace

TEST_CASE("the table that the library carries is in order", "[classifier][rules]") {
  CHECK(detail::built_in_rules().rules().size() > 80);
  for (const detail::Rule& rule : detail::built_in_rules().rules()) {
    INFO(rule.id);
    CHECK_FALSE(rule.id.empty());
    CHECK_FALSE(rule.reason.empty());
  }
}

TEST_CASE("mistakes in a table are refused with line or rule", "[classifier][rules]") {
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\tlate\tr\t0.5\tword"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("word\ta\ttimeout\tr\t0.5\tword"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t1.5\tword"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\tnan\tword"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t0.5\t(word"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t0.5\tword\t(x"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("type\ta\ttimeout\tr\t0.5\t(word"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t0.5\t{{no}}"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t0.5\t{{no"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t0.5\t\\d+"));
  CHECK_ERRC(Errc::invalid_argument, RuleBook::parse("phrase\ta\ttimeout\tr\t0.5\tword\n"
                                                     "phrase\ta\ttimeout\tr\t0.5\tword"));
  REQUIRE_OK(RuleBook::parse("# nothing\n"));
}

TEST_CASE("a guard forbids one place and leaves the next", "[classifier][rules]") {
  auto book = RuleBook::parse(
      "let\tn\t\\d+\n"
      "phrase\tr\ttimeout\tx\t0.5\t\\bcode {{n}}\t>> rows|line <<");
  REQUIRE_OK(book);
  const auto hits = [&](std::string_view text) {
    std::vector<detail::RuleHit> found;
    book.value().match_text(text, found);
    return found;
  };
  CHECK(hits("code 5 rows").empty());
  CHECK(hits("line code 5").empty());
  REQUIRE(hits("code 5 rows, CODE 6 columns").size() == 1);
  CHECK(hits("code 5 rows, CODE 6 columns").front().matched == "CODE 6");
}

TEST_CASE("words are found whatever their case, overlapping ones too", "[classifier][rules]") {
  const std::vector<std::string> words{"he", "she", "his", "hers", "503"};
  const detail::WordFinder finder(words);
  CHECK(found_in(finder, words, "uSHErs") == std::set<std::string>{"he", "she", "hers"});
  CHECK(found_in(finder, words, "this 5503") == std::set<std::string>{"his", "503"});
  CHECK(found_in(finder, words, "h e s 50 3").empty());
  CHECK(found_in(detail::WordFinder{}, {}, "anything").empty());
}

TEST_CASE("type names are reduced to what tells them apart", "[classifier][rules]") {
  using detail::exception_stem;
  using detail::last_name_component;
  CHECK(last_name_component("openai.RateLimitError") == "RateLimitError");
  CHECK(last_name_component("java.net.SocketTimeoutException") == "SocketTimeoutException");
  CHECK(last_name_component("std::system_error") == "system_error");
  CHECK(last_name_component("boost::wrapexcept<boost::system::system_error>") == "system_error");
  CHECK(last_name_component("std::_Nested_exception<my::net_error>") == "net_error");
  CHECK(last_name_component("a::Failure<int>") == "Failure");
  CHECK(last_name_component("*net.OpError") == "OpError");
  CHECK(last_name_component("").empty());
  CHECK(exception_stem("RateLimitError") == "ratelimit");
  CHECK(exception_stem("rate_limit_exception") == "ratelimit");
  CHECK(exception_stem("Timeout") == "timeout");
  CHECK(exception_stem("Exception") == "exception");
}
