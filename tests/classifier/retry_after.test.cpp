// SPDX-License-Identifier: MIT
#include "classifier/times/retry_after.hpp"

#include "classifier/times/moments.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

using namespace triage;
using namespace std::chrono_literals;
using detail::parse_http_date;
using detail::parse_wait;

TEST_CASE("lengths of time are read with and without units", "[classifier][retry_after]") {
  CHECK(parse_wait("20") == 20s);
  CHECK(parse_wait(" 1.5 ") == 1500ms);
  CHECK(parse_wait("250ms") == 250ms);
  CHECK(parse_wait("6m0s") == 6min);
  CHECK(parse_wait("1h 30 min") == 90min);
  CHECK(parse_wait("2 days") == 48h);
  CHECK(parse_wait("0") == 0s);
  for (const char* bad : {"", "soon", "-5", "5 apples", "1e9", "1..2", "0x10", "nan", "5,5"}) {
    INFO(bad);
    CHECK_FALSE(parse_wait(bad));
  }
}

TEST_CASE("waits too long to be stored become the longest one", "[classifier][retry_after]") {
  CHECK(parse_wait("99999999999999999999999999") == Duration::max());
  CHECK(parse_wait(std::string(4000, '9')) == Duration::max());
  CHECK(parse_wait("9999999999999d") == Duration::max());
}

TEST_CASE("HTTP dates are read without a locale", "[classifier][retry_after]") {
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  CHECK(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
  CHECK(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT") == 784111777);
  CHECK(parse_http_date("Sun Nov  6 08:49:37 1994") == 784111777);
  CHECK(parse_http_date("Sun Nov 16 08:49:37 1994") == 784111777 + 10 * 86400);
  CHECK(parse_http_date("Friday, 06-Nov-26 08:49:37 GMT") == 1793954977);
  for (const char* bad : {"Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 2021 00:00:00 GMT",
                          "Sun, 06 Nov 1994 24:00:00 GMT", "Someday, 06-Nov-94 08:49:37 GMT", "",
                          "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 31 08:49:37 1994",
                          "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT"}) {
    INFO(bad);
    CHECK_FALSE(parse_http_date(bad));
  }
}

TEST_CASE("headers say how long to wait", "[classifier][retry_after]") {
  const auto wait = [](std::vector<std::pair<std::string, std::string>> headers) {
    return test::classify({.http_status = 429, .headers = std::move(headers)}).retry_after;
  };
  CHECK(wait({{"Retry-After", "120"}}) == 2min);
  CHECK(wait({{"RETRY-AFTER", " 3 "}}) == 3s);
  CHECK(wait({{"retry-after", "9"}, {"retry-after-ms", "1500"}}) == 1500ms);
  CHECK(wait({{"x-ratelimit-reset-after", "0.75"}}) == 750ms);
  CHECK(wait({{"ratelimit-reset", "40"}}) == 40s);
  CHECK(wait({{"Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT"},
              {"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}}) == 1min);
  CHECK(wait({{"Retry-After", "Sun, 06 Nov 1994 08:48:37 GMT"},
              {"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}}) == 0s);
  CHECK(wait({{"x-ratelimit-reset", "784111837"}}) == 784111837s);  // Too early for a time stamp.
  CHECK(wait({{"x-ratelimit-reset", "1792576860"}, {"Date", "Wed, 21 Oct 2026 10:00:00 GMT"}}) ==
        60s);
  CHECK(wait({{"x-ratelimit-reset", "1792576860000"}, {"Date", "Wed, 21 Oct 2026 10:00:00 GMT"}}) ==
        60s);
  CHECK(wait({{"anthropic-ratelimit-requests-reset", "2026-10-21T10:00:30Z"},
              {"anthropic-ratelimit-tokens-reset", "2026-10-21T11:01:00+01:00"},
              {"Date", "Wed, 21 Oct 2026 10:00:00 GMT"}}) == 60s);
  CHECK(wait({{"x-ratelimit-reset-requests", "120ms"}, {"x-ratelimit-reset-tokens", "6m0s"}}) ==
        6min);
  CHECK(wait({{"retry-after", "7"}, {"x-ratelimit-reset-tokens", "6m0s"}}) == 7s);
  CHECK_FALSE(
      test::classify({.http_status = 400, .headers = {{"x-ratelimit-reset-tokens", "6m0s"}}})
          .retry_after);
  CHECK_FALSE(wait({{"Retry-After", "whenever"}}));
  CHECK_FALSE(wait({}));
}

TEST_CASE("when a limit is replenished matters only to a failure that has hit it",
          "[classifier][retry_after]") {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  const Headers github{{"Date", "Wed, 21 Oct 2026 10:00:00 GMT"},
                       {"X-RateLimit-Limit", "5000"},
                       {"X-RateLimit-Reset", "1792579800"}};
  const auto with = [](Headers headers, std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return headers;
  };
  const Headers some_left = with(github, "X-RateLimit-Remaining", "4987");
  const Headers none_left = with(github, "X-RateLimit-Remaining", "0");
  SECTION("it comes with every response") {
    for (const int status : {403, 404, 500, 502, 503}) {
      INFO(status);
      for (const Headers& headers :
           {some_left, Headers{{"RateLimit-Reset", "3500"}, {"RateLimit-Remaining", "99"}},
            Headers{{"X-RateLimit-Reset-After", "3500"}},
            Headers{{"RateLimit", "\"api\";r=10;t=3500"}, {"RateLimit-Reset", "3500"}}}) {
        CHECK_FALSE(test::classify({.http_status = status, .headers = headers}).retry_after);
      }
      CHECK(test::classify({.http_status = status, .headers = with(some_left, "Retry-After", "7")})
                .retry_after == 7s);
    }
    CHECK_FALSE(test::classify({.http_status = 404, .headers = none_left}).retry_after);
  }
  SECTION("nothing remains") {
    for (const int status : {403, 503}) {
      INFO(status);
      CHECK(test::classify({.http_status = status, .headers = none_left}).retry_after == 50min);
      for (const char* left : {"\"api\";r=0;t=40", "limit=100, remaining=0, reset=40"}) {
        const Headers headers{{"RateLimit", left}, {"RateLimit-Reset", "40"}};
        CHECK(test::classify({.http_status = status, .headers = headers}).retry_after == 40s);
      }
    }
  }
  SECTION("the failure says so itself") {
    const Failure told{
        .text = "API rate limit exceeded for user ID 1.", .http_status = 403, .headers = some_left};
    const Trajectory none;
    const auto found = default_classifier()->classify({.failure = told, .trajectory = none});
    CHECK(found.retry_after == 50min);
    CHECK(test::classify(
              {.headers = some_left, .type = FailureType::external_fault, .reason = "rate_limited"})
              .retry_after == 50min);
    CHECK(
        test::classify({.headers = some_left, .type = FailureType::quota_exhausted}).retry_after ==
        50min);
    CHECK_FALSE(
        test::classify({.headers = some_left, .type = FailureType::external_fault}).retry_after);
  }
}

TEST_CASE("a date without a date to measure it against is told, not guessed",
          "[classifier][retry_after]") {
  const Classification found = test::classify(
      {.http_status = 503, .headers = {{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}}});
  CHECK_FALSE(found.retry_after);
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.evidence.back().source == "retry-after");
  CHECK_THAT(found.evidence.back().detail, ContainsSubstring("Date"));
}

TEST_CASE("the caller's own wait wins, then headers, then words", "[classifier][retry_after]") {
  Failure failure{.text = "Too many requests, try again in 6m0s.", .http_status = 429};
  CHECK(test::classify(failure).retry_after == 6min);
  failure.headers = {{"retry-after", "5"}};
  CHECK(test::classify(failure).retry_after == 5s);
  failure.retry_after = 1s;
  CHECK(test::classify(failure).retry_after == 1s);
  failure.retry_after = -1s;
  CHECK(test::classify(failure).retry_after == 0s);
}

TEST_CASE("internet dates are read with their zone, and nothing else is",
          "[classifier][retry_after]") {
  CHECK(detail::parse_internet_date("1970-01-02T00:00:00Z") == 86400);
  CHECK(detail::parse_internet_date("1970-01-02T01:30:00.123+01:30") == 86401);
  CHECK(detail::parse_internet_date("1970-01-01T23:00:00-01:00") == 86400);
  for (const char* text :
       {"", "1970-01-02", "1970-01-02T00:00:00", "1970-13-02T00:00:00Z", "1970-01-02T24:00:00Z",
        "1970-01-02T00:00:00+1:00", "1970-01-02T00:00:00 Z", "1970-02-30T00:00:00Z"}) {
    INFO(text);
    CHECK_FALSE(detail::parse_internet_date(text));
  }
}

TEST_CASE("moments in prose are read up to the first word that belongs to none",
          "[classifier][retry_after]") {
  constexpr WallTime now{std::chrono::sys_days{std::chrono::January / 1 / 2026} + 12h};
  constexpr std::int64_t midnight = 1767225600;
  const auto seconds = [&](std::string_view text) { return detail::read_moment(text, now); };
  CHECK(seconds("Jan 2") == midnight + 86400);
  CHECK(seconds("2 January, or later") == midnight + 86400);
  CHECK(seconds("Jan. 2nd at 3pm UTC. 10 retries are left") == midnight + 86400 + 15 * 3600);
  CHECK(seconds("Dec 31") == midnight + 364 * 86400);  // Yesterday is past, so of this year.
  CHECK(seconds("11:45 UTC") == midnight + 86400 + 12 * 3600 - 900);
  CHECK(seconds("12:00:01 UTC") == midnight + 12 * 3600 + 1);
  CHECK(seconds("12:30 a.m. UTC") == midnight + 86400 + 1800);
  CHECK(seconds("1767225601 and so on") == midnight + 1);
  // It is a Thursday.
  CHECK(seconds("Thu 3pm") == midnight + 15 * 3600);
  CHECK(seconds("Thursday, 9am UTC") == midnight + 7 * 86400 + 9 * 3600);
  CHECK(seconds("Mon 12:00am") == midnight + 4 * 86400);
  CHECK(seconds("Wed at 11:00 (PST)") == midnight + 6 * 86400 + 19 * 3600);
  CHECK(seconds("Mon, Jan 2") == midnight + 86400);  // The date is believed.
  for (const char* none : {"", "soon", "20 seconds", "5", "30 s", "25:00", "13pm", "May",
                           "2026-13-01", "Feb 30, 2026", "7 of them", "1:2", "Monday", "99999"}) {
    INFO(none);
    CHECK_FALSE(seconds(none));
  }
}

TEST_CASE("a time of day that has just passed is not waited for until tomorrow",
          "[classifier][retry_after]") {
  constexpr WallTime midnight{std::chrono::sys_days{std::chrono::January / 1 / 2026}};
  const auto left = [&](std::string_view text, Duration time) {
    const WallTime now = midnight + std::chrono::floor<std::chrono::milliseconds>(time);
    return WallTime(std::chrono::seconds(detail::read_moment(text, now).value())) - now;
  };
  // "Try again at 7:01 PM" when the limit resets at 19:01:40: nobody knows the second.
  CHECK(left("7:01 PM", 19h + 1min) == 0s);
  CHECK(left("7:01 PM", 19h + 1min + 2s) == -2s);
  CHECK(left("7:01:40 PM", 19h + 1min + 42s) == -2s);
  CHECK(left("Thu 7:01 PM", 19h + 1min + 2s) == -2s);  // It is a Thursday.
  CHECK(left("Wed 11:58pm", 5s) == -125s);
  CHECK(left("11:58pm", 5s) == -125s);
  CHECK(left("7:01 PM", 19h + 11min) == 24h - 10min);
  CHECK(left("Thu 7:01 PM", 19h + 11min) == 7 * 24h - 10min);
}

TEST_CASE("a wait may be said in words", "[classifier][retry_after]") {
  const auto wait = [](const char* text) { return test::classify({.text = text}).retry_after; };
  CHECK(wait("Usage limit reached. Try again in less than a minute. Id 12345") == 60s);
  CHECK(wait("Rate limit exceeded, please retry in a few seconds") == 3s);
  CHECK(wait("Too many requests, please wait a moment") == 1s);
  CHECK(wait("Quota exceeded; available again in about an hour") == 1h);
  CHECK(wait("Quota exceeded; it resets in less than 2 hours") == 2h);
  CHECK_FALSE(wait("Too many requests, try again later"));
  CHECK_FALSE(wait("Too many requests: retry a second time"));
}

TEST_CASE("a date in a text is measured against the clock, or told", "[classifier][retry_after]") {
  const Classification found =
      test::classify({.text = "rate limit exceeded, retry after 2026-10-21T10:00:30Z"});
  CHECK_FALSE(found.retry_after);  // And not 2026 seconds.
  CHECK(std::any_of(found.evidence.begin(), found.evidence.end(), [](const Evidence& one) {
    return one.detail.find("clock") != std::string::npos;
  }));
}

TEST_CASE("a wait in milliseconds is one in whatever answer it comes",
          "[classifier][retry_after]") {
  for (const char* body : {R"({"error": {"message": "Too many requests", "retry_after_ms": 1500}})",
                           R"({"error": {"message": "Too many requests", "retryAfterMs": "1500"}})",
                           R"({"message": "Too many requests", "retry-after-ms": "1500ms"})",
                           R"({"message": "Too many requests", "retry_after": 1.5})"}) {
    INFO(body);
    CHECK(test::classify({.text = body}).retry_after == 1500ms);
  }
}
