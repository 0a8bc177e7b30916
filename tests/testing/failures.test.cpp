// SPDX-License-Identifier: MIT
#include "triage/testing/failures.hpp"

#include "support/catch.hpp"
#include "triage/classifier.hpp"

using namespace triage;
using namespace triage::testing;
using namespace std::chrono_literals;

namespace {

Classification classified(const Failure& failure) {
  return default_classifier()->classify({.failure = failure, .trajectory = {}});
}

}  // namespace

TEST_CASE("the classifier takes every built failure for what its name says",
          "[testing][failures]") {
  const std::vector<std::pair<Failure, FailureType>> cases{
      {failures::http(503), FailureType::external_fault},
      {failures::http(504), FailureType::timeout},
      {failures::rate_limited(), FailureType::external_fault},
      {failures::overloaded(), FailureType::external_fault},
      {failures::connection_reset(), FailureType::external_fault},
      {failures::timeout(), FailureType::timeout},
      {failures::wrong_tool("serach"), FailureType::wrong_tool_called},
      {failures::schema_mismatch(), FailureType::schema_mismatch},
      {failures::context_overflow(), FailureType::context_overflow},
      {failures::access_denied(), FailureType::access_denied},
      {failures::quota_exhausted(), FailureType::quota_exhausted},
      {failures::refused(), FailureType::refused},
      {failures::mysterious(), FailureType::unknown}};
  for (const auto& [failure, expected] : cases) {
    INFO(failure.text);
    CHECK(to_string(classified(failure).type) == to_string(expected));
    CHECK_FALSE(failure.type.has_value());
  }
}

TEST_CASE("a built rate limit names its time, rounded up to seconds", "[testing][failures]") {
  CHECK(failures::rate_limited().headers.empty());
  const Failure failure = failures::rate_limited(1500ms);
  REQUIRE(failure.headers.size() == 1);
  CHECK(failure.headers[0].second == "2");
  REQUIRE(classified(failure).retry_after.has_value());
  CHECK(*classified(failure).retry_after == 2s);
}

TEST_CASE("a failure that states its type is taken at its word", "[testing][failures]") {
  const Failure failure = failures::of(FailureType::constraint_ignored, "forbidden_word");
  CHECK(failure.type == FailureType::constraint_ignored);
  CHECK(failure.reason == "forbidden_word");
  CHECK_THAT(failure.text, ContainsSubstring("constraint_ignored"));
}

TEST_CASE("HTTP failures say their status and its name", "[testing][failures]") {
  CHECK(failures::http(503).text == "HTTP 503 Service Unavailable");
  CHECK(failures::http(503).http_status == 503);
  CHECK(failures::http(599).text == "HTTP 599");
  CHECK(failures::http(500, "boom").text == "boom");
}

TEST_CASE("a failed step carries the failure's codes", "[testing][failures]") {
  const Step step = failures::failed_step(failures::http(502), "fetch", "http_get");
  CHECK(step.action == "fetch");
  CHECK(step.tool_called == "http_get");
  CHECK(step.http_status == 502);
  CHECK(step.error == "HTTP 502 Bad Gateway");
  CHECK_FALSE(step.exception_type.has_value());
  CHECK(failures::failed_step(failures::timeout()).exception_type == "std::system_error");
}
