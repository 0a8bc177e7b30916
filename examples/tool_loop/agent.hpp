// SPDX-License-Identifier: MIT
#pragma once
// An LLM tool loop that finishes: the recipe. docs/llm.md walks through it.

#include "tools.hpp"
#include "triage/agent.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace tool_loop {

struct Setup {
  std::string base_url{};  // "https://api.openai.com/v1", "http://127.0.0.1:11434/v1"
  std::string model{};
  std::string api_key{};  // Empty: none is sent. It is in no step and no failure.
  std::vector<Tool> tools{};
  int max_turns = 20;  // Calls of the model in one attempt.
  std::chrono::milliseconds timeout = std::chrono::minutes(2);  // Of one call of the model.
};

// The callable: talks to the model and calls its tools until it has an answer.
triage::Result<std::string> answer(const Setup& setup, const std::string& task,
                                   triage::Attempt& attempt);
// What is done about each kind of failure.
triage::FailurePolicy recovery_policy();

}  // namespace tool_loop
