// SPDX-License-Identifier: MIT
#include "classifier/text/known_names.hpp"

#include "classifier/text/features.hpp"
#include "support/catch.hpp"

#include <algorithm>

using namespace triage;

namespace {

// Knows the pairs of words of this text.
class Known {
 public:
  explicit Known(std::string_view said) {
    for (const detail::WordsPair pair : detail::word_pairs_of(said))
      detail::KnownNames::add(pair, filter_);
  }
  [[nodiscard]] detail::KnownNames names() const { return detail::KnownNames(filter_); }

 private:
  std::string filter_ = std::string(detail::KnownNames::bytes, '\0');
};

std::string masked(std::string_view line, std::string_view known = "rate limit exceeded",
                   std::vector<detail::NamePlace> places = {}) {
  detail::add_unknown_names(line, Known(known).names(), places);
  CHECK(std::is_sorted(places.begin(), places.end(),
                       [](const auto& a, const auto& b) { return a.end <= b.begin; }));
  return detail::without_names(line, places);
}

}  // namespace

TEST_CASE("identifiers of one program are masked in every spelling", "[classifier][names]") {
  const auto name =
      GENERATE(as<std::string>(), "rate_denied_lookup", "rateDeniedLookup", "RateDeniedLookup",
               "handleRateTimeout", "svc.rate_denied", "run_denied_v2", "mcp__denied__list",
               "rate_limit_lookup", "lookup_rate_limit", "_denied_rate");
  CHECK(masked("saw " + name) == "saw '_'");
  CHECK(masked(name + ": gone") == "'_': gone");
  CHECK(masked("(" + name + ").") == "('_').");
  CHECK(masked("`" + name + "` failed") == "`_` failed");
  CHECK(masked("\"" + name + " failed\"") == "\"'_' failed\"");
}

TEST_CASE("what many programs say, and what is no identifier, is read", "[classifier][names]") {
  const auto text = GENERATE(
      as<std::string>(), "rate_limit_exceeded", "rateLimitExceeded", "rate-limit", "RATE_DENIED",
      "RateDeniedError", "acme.RateDeniedException", "rate_denied=1", "{\"rate_denied\":1}",
      "/srv/rate_denied/x", "rate_denied/x", "a@rate-denied.example", "rate-denied@b",
      "main_loop.cpp", "denied", "Denied", "DENIED", "--", "_", "a_", "3.14", "v2", "utf-8",
      "rate_limit_429", "\xE2\x82\xACrate_denied", "", "...", "rate denied. Lookup",
      "rate-denied by worker-lost", "rate...denied", "rate denied--nothing",
      "Rate denied.Try again", "Forbidden", "{\"rate_denied\" : 1}", "{'rate_denied': 1}");
  CHECK(masked(text) == text);
}

TEST_CASE("dashes make an identifier in quotes only", "[classifier][names]") {
  CHECK(masked("saw 'rate-denied'") == "saw '_'");
  CHECK(masked("saw 'rate-limit'") == "saw 'rate-limit'");
  CHECK(masked("saw rate-denied_x") == "saw '_'");
}

TEST_CASE("of an exception's type the packages may be masked, not the type",
          "[classifier][names]") {
  CHECK(masked("acme.errors.RateDenied: x") == "'_'.RateDenied: x");
  CHECK(masked("rate.limit.Denied") == "rate.limit.Denied");
}

TEST_CASE("identifiers that make a sentence are read", "[classifier][names]") {
  // Of four words, alone.
  for (const std::string_view text :
       {"lamp_call_was_denied", "[12] lampCallWasDenied (lamp 3)", "LampCall_wasDenied_at_9"})
    CHECK(masked(text) == text);
  CHECK(masked("lamp_call_denied") == "'_'");
  CHECK(masked("the lamp has lamp_call_was_denied") == "the lamp has '_'");
  CHECK(masked("lamp_call_was_denied lamp_call_denied") == "'_' '_'");
  CHECK(masked("\u0438\u043C\u044F \u044D\u0442\u043E lamp_call_was_denied \u0434\u0430") ==
        "\u0438\u043C\u044F \u044D\u0442\u043E '_' \u0434\u0430");
  CHECK(masked("lamp.call_was.denied_again.to_day") == "'_'");  // A module's path.
  // Of six, anywhere.
  CHECK(masked("the lamp said: lamp_call_was_denied_again_today") ==
        "the lamp said: lamp_call_was_denied_again_today");
}

TEST_CASE("very long lines and names are data", "[classifier][names]") {
  const std::string name(200, 'a');
  CHECK(masked(name + "_b") == name + "_b");
  const std::string line(detail::longest_line_with_names, ' ');
  CHECK(masked(line + "rate_denied") == line + "rate_denied");
}

TEST_CASE("names found before stay, in order", "[classifier][names]") {
  const std::string line = "x_denied a_b y_denied";
  CHECK(masked(line, "rate limit", {{9, 12}}) == "'_' '_' '_'");
  CHECK(masked(line, "rate limit", {{0, 12}}) == "'_' '_'");
  CHECK(masked(line, "rate limit", {{0, 8}, {13, 21}}) == "'_' '_' '_'");
}

TEST_CASE("an empty filter knows all names, an empty corpus none", "[classifier][names]") {
  std::vector<detail::NamePlace> places;
  detail::add_unknown_names("rate_denied", detail::KnownNames(), places);
  CHECK(places.empty());
  CHECK(masked("rate_limit", "") == "'_'");
}

TEST_CASE("a filter as full as that of the corpus takes few names for known",
          "[classifier][names]") {
  std::string filter(detail::KnownNames::bytes, '\0');
  for (detail::WordsPair i = 0; i < 10'000; ++i)
    detail::KnownNames::add(i * 2'654'435'761U, filter);
  const detail::KnownNames known(filter);
  std::size_t taken = 0;
  for (detail::WordsPair i = 0; i < 10'000; ++i) {
    CHECK(known.knows(i * 2'654'435'761U));
    taken += known.knows(i * 2'246'822'519U + 12'345U) ? 1U : 0U;
  }
  CHECK(taken < 80);
}

TEST_CASE("features of a text are the same for all names that are not known",
          "[classifier][names]") {
  const Known known("rate limit exceeded");
  const auto features_of = [&](std::string_view text) {
    detail::FeatureBuffer buffer;
    detail::extract_features(text, detail::built_in_lexicon(), known.names(), buffer);
    std::vector<std::uint32_t> hashes;
    for (const detail::Feature& feature : buffer.features) hashes.push_back(feature.hash);
    return hashes;
  };
  CHECK(features_of("saw timeout_handler") == features_of("saw refund_quota_lookup"));
  CHECK(features_of("saw rate_limit") != features_of("saw refund_quota_lookup"));
}
