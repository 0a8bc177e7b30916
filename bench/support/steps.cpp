// SPDX-License-Identifier: MIT
#include "support/steps.hpp"

#include "triage/record.hpp"

#include <string>

namespace triage::bench {

Step make_step(Shape shape, std::size_t index) {
  const std::string url = "https://example.org/page/" + std::to_string(index);
  if (shape == Shape::flat) {
    const auto letter = static_cast<char>('a' + index % 26);
    return {.action = "fetch",
            .tool_called = "http_get",
            .tool_input = {{"url", url}},
            .tool_output = std::string(930, letter)};
  }
  Json links = Json::array();
  for (std::size_t i = 0; i < 8; ++i) {
    links.push_back({{"href", "https://example.org/page/" + std::to_string(index * 8 + i)},
                     {"text", "a link whose text is medium long"}});
  }
  return {.action = "fetch",
          .tool_called = "http_get",
          .tool_input = {{"url", url},
                         {"headers",
                          {{"accept", "text/html"},
                           {"user-agent", "example/1.0 (crawler)"},
                           {"x-request-id", "0123456789abcdef0123456789abcdef"}}},
                         {"timeout_ms", 3000}},
          .tool_output = {{"status", 200}, {"bytes", 48211}, {"links", std::move(links)}}};
}

std::vector<Step> make_steps(Shape shape, std::size_t count) {
  std::vector<Step> steps;
  steps.reserve(count);
  for (std::size_t i = 0; i < count; ++i) steps.push_back(make_step(shape, i));
  return steps;
}

std::size_t encoded_size(const std::vector<Step>& steps) {
  std::string encoded;
  for (const Step& step : steps) detail::encode_step(step, encoded);
  return encoded.size();
}

}  // namespace triage::bench
