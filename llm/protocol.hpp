// SPDX-License-Identifier: MIT
#pragma once
// The two protocols: builds requests from prompts and reads answers from responses. Private.

#include "prompt.hpp"
#include "triage/llm/classifier.hpp"
#include "triage/usage.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct LlmRequest {
  std::string url{};
  std::vector<std::string> headers{};
  std::string body{};
};

[[nodiscard]] LlmRequest make_request(const LlmOptions& options, const Prompt& prompt);

struct LlmAnswer {
  FailureType type = FailureType::unknown;
  double confidence = 0;  // 0 to 1.
};

struct LlmReading {
  std::optional<LlmAnswer> answer{};
  std::string problem{};         // Why there is no answer; quotes nothing from the response.
  std::optional<Usage> usage{};  // Tokens, if the response has plausible ones.
};

// The tokens that a response says it took, if these are plausible.
[[nodiscard]] std::optional<Usage> usage_in(LlmProtocol protocol, const Json& response);
// Throws only std::bad_alloc.
[[nodiscard]] LlmReading read_response(LlmProtocol protocol, std::string_view body);

}  // namespace triage::inline v0_1::detail
