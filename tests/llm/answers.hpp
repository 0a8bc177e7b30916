// SPDX-License-Identifier: MIT
#pragma once
// A model server's responses in both protocols.

#include "support/scripted_server.hpp"
#include "triage/json.hpp"

#include <string>

namespace triage::test {

inline ServerAnswer openai_says(const std::string& content) {
  const Json message{{"role", "assistant"}, {"content", content}};
  return {.body = Json{{"choices", Json::array({{{"index", 0}, {"message", message}}})},
                       {"usage", {{"prompt_tokens", 700}, {"completion_tokens", 20}}}}
                      .dump()};
}

inline ServerAnswer anthropic_says(const Json& input) {
  const Json call{{"type", "tool_use"}, {"name", "report_failure"}, {"input", input}};
  return {.body = Json{{"content", Json::array({call})},
                       {"usage", {{"input_tokens", 700}, {"output_tokens", 20}}}}
                      .dump()};
}

}  // namespace triage::test
