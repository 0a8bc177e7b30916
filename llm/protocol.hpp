// SPDX-License-Identifier: MIT
#pragma once
// The two protocols: from a prompt to a request, and from a response to an answer. Private.

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
  std::string problem{};         // Why there is no answer; quotes nothing of the response.
  std::optional<Usage> usage{};  // Tokens, if the response has sane ones.
};

// Never throws but std::bad_alloc.
[[nodiscard]] LlmReading read_response(LlmProtocol protocol, std::string_view body);

}  // namespace triage::inline v0_1::detail
