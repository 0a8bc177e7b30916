// SPDX-License-Identifier: MIT
#include "triage/testing/failures.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::testing::failures {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};
// Source: IANA HTTP Status Code Registry; several model providers use 529.
constexpr std::array<Phrase, 16> phrases{{{400, "Bad Request"},
                                          {401, "Unauthorized"},
                                          {402, "Payment Required"},
                                          {403, "Forbidden"},
                                          {404, "Not Found"},
                                          {408, "Request Timeout"},
                                          {409, "Conflict"},
                                          {413, "Content Too Large"},
                                          {422, "Unprocessable Content"},
                                          {429, "Too Many Requests"},
                                          {500, "Internal Server Error"},
                                          {501, "Not Implemented"},
                                          {502, "Bad Gateway"},
                                          {503, "Service Unavailable"},
                                          {504, "Gateway Timeout"},
                                          {529, "Overloaded"}}};

Failure with_code(std::errc code) {
  Failure failure;
  failure.code = std::make_error_code(code);
  failure.text = failure.code.message();
  failure.exception_type = "std::system_error";
  return failure;
}

}  // namespace

Failure http(int status, std::string text) {
  if (text.empty()) {
    text = "HTTP " + std::to_string(status);
    const auto* phrase = std::find_if(phrases.begin(), phrases.end(),
                                      [&](const Phrase& one) { return one.status == status; });
    if (phrase != phrases.end()) text += " " + std::string(phrase->text);
  }
  return {.text = std::move(text), .http_status = status};
}

Failure rate_limited(std::optional<Duration> retry_after) {
  Failure failure = http(429);
  if (retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*retry_after).count();
    failure.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  return failure;
}

Failure overloaded() { return http(529); }
Failure connection_reset() { return with_code(std::errc::connection_reset); }
Failure timeout() { return with_code(std::errc::timed_out); }

Failure wrong_tool(std::string_view tool) {
  return {.text = "tool \"" + std::string(tool) + "\" not found", .json_rpc_code = -32601};
}

Failure schema_mismatch(std::string_view field) {
  return {.text = "validation error: required property \"" + std::string(field) + "\" is missing",
          .json_rpc_code = -32700};
}

Failure context_overflow(std::uint64_t limit, std::uint64_t asked) {
  return {.text = "This model's maximum context length is " + std::to_string(limit) +
                  " tokens, but the messages have " + std::to_string(asked) + " tokens"};
}

Failure access_denied() { return http(401, "HTTP 401 Unauthorized: invalid API key"); }
Failure quota_exhausted() { return http(402, "HTTP 402 Payment Required: insufficient credits"); }

Failure refused() {
  return {.text = "the request was blocked by the content policy (content_filter)"};
}

Failure mysterious() { return {.text = "something went wrong"}; }

Failure of(FailureType type, std::string reason, std::string text) {
  if (text.empty()) text = "a failure of type " + std::string(to_string(type));
  return {.text = std::move(text), .type = type, .reason = std::move(reason)};
}

Step failed_step(const Failure& failure, std::string action, std::optional<std::string> tool) {
  Step step{.action = std::move(action), .tool_called = std::move(tool), .error = failure.text};
  if (!failure.exception_type.empty()) step.exception_type = failure.exception_type;
  step.http_status = failure.http_status;
  step.json_rpc_code = failure.json_rpc_code;
  step.grpc_status = failure.grpc_status;
  return step;
}

}  // namespace triage::inline v0_1::testing::failures
