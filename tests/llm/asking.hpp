// SPDX-License-Identifier: MIT
#pragma once
// Helpers to ask a language model that the test itself plays.

#include "answers.hpp"
#include "support/result.hpp"
#include "triage/llm/classifier.hpp"

#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace triage::test {

inline constexpr const char* key = "sk-very-secret-123456";

inline LlmOptions options(const ScriptedServer& server,
                          LlmProtocol protocol = LlmProtocol::openai) {
  return {.protocol = protocol,
          .base_url = server.url() + "/v1",
          .model = "test-model",
          .api_key = key};
}

inline Classification ask(const LlmOptions& chosen, const Failure& failure,
                          std::optional<Duration> remaining = {}, std::stop_token stop = {}) {
  const auto classifier = LlmClassifier::create(chosen);
  REQUIRE_OK(classifier);
  const Trajectory none;
  return classifier.value()->classify({.failure = failure,
                                       .trajectory = none,
                                       .remaining = remaining,
                                       .stop_token = std::move(stop)});
}

inline std::string said(const Classification& found) {
  std::string all;
  for (const Evidence& one : found.evidence) all += one.source + ": " + one.detail + "\n";
  return all;
}

inline void check_abstained(const Classification& found, const std::string& why) {
  INFO(said(found));
  CHECK(found.type == FailureType::unknown);
  CHECK(found.confidence == 0);
  REQUIRE(found.evidence.size() == 1);
  CHECK(found.evidence[0].source == "llm");
  CHECK(found.evidence[0].suggests == FailureType::unknown);
  CHECK_THAT(found.evidence[0].detail, ContainsSubstring(why));
  CHECK_THAT(found.evidence[0].detail, !ContainsSubstring("sk-very"));
}

// The JSON between <failure> and </failure>, which must each occur once.
inline Json quoted_failure(const ServerRequest& request) {
  const Json body = Json::parse(request.body);
  const std::string user = body["messages"].back()["content"];
  const std::size_t begin = user.find("<failure>\n");
  const std::size_t end = user.find("\n</failure>");
  REQUIRE(begin == 0);
  REQUIRE(end != std::string::npos);
  CHECK(user.find('<', 1) == end + 1);
  CHECK(user.find('\n', 10) == end);
  return Json::parse(user.substr(10, end - 10));
}

inline const Failure overloaded{.text = "the hamsters are tired, come back later"};
inline const std::string good = R"({"type": "external_fault", "confidence": 0.9})";

}  // namespace triage::test
