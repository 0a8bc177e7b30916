// SPDX-License-Identifier: MIT
#include "protocol.hpp"

#include <cmath>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr const char* answer_name = "report_failure";
constexpr std::uint64_t most_sane_tokens = 1'000'000'000;

Json openai_body(const LlmOptions& options, const Prompt& prompt) {
  Json body{{"model", options.model},
            {"messages", Json::array({{{"role", "system"}, {"content", prompt.system}},
                                      {{"role", "user"}, {"content", prompt.user}}})},
            {"max_tokens", options.max_output_tokens}};
  if (options.ask_for_schema) {
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", answer_name}, {"strict", true}, {"schema", answer_schema()}}}};
  }
  return body;
}

// The answer is the input of a tool that the model must call.
Json anthropic_body(const LlmOptions& options, const Prompt& prompt) {
  Json tool{{"name", answer_name},
            {"description", "Says why the attempt failed."},
            {"input_schema", answer_schema()}};
  Json message{{"role", "user"}, {"content", prompt.user}};
  return {{"model", options.model},
          {"max_tokens", options.max_output_tokens},
          {"system", prompt.system},
          {"messages", Json::array({std::move(message)})},
          {"tools", Json::array({std::move(tool)})},
          {"tool_choice", {{"type", "tool"}, {"name", answer_name}}}};
}

// The value of a key; null if there is none, or `json` is not an object.
const Json& at(const Json& json, const char* key) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

const Json& first_of(const Json& json) {
  static const Json none;
  return json.is_array() && !json.empty() ? json.front() : none;
}

std::optional<std::uint64_t> tokens(const Json& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto count = json.get<std::uint64_t>();
  return count <= most_sane_tokens ? std::optional(count) : std::nullopt;
}

std::optional<Usage> read_usage(const Json& usage, const char* input, const char* output) {
  const auto in = tokens(at(usage, input));
  const auto out = tokens(at(usage, output));
  if (!in || !out) return std::nullopt;
  return Usage{.input_tokens = *in, .output_tokens = *out};
}

LlmReading no_answer(std::string problem) { return {.problem = std::move(problem)}; }

LlmReading read_answer(const Json& json) {
  if (!json.is_object()) return no_answer("the answer is not a JSON object");
  const Json& type = at(json, "type");
  const Json& confidence = at(json, "confidence");
  if (!type.is_string()) return no_answer("the answer names no type");
  const auto known = parse_failure_type(type.get_ref<const std::string&>());
  if (!known) return no_answer("the answer names a type that does not exist");
  if (!confidence.is_number()) return no_answer("the answer has no confidence");
  const auto value = confidence.get<double>();
  if (!std::isfinite(value) || value < 0 || value > 1) {
    return no_answer("the answer's confidence is not from 0 to 1");
  }
  return {.answer = LlmAnswer{*known, value}};
}

LlmReading read_openai(const Json& body) {
  const Json& message = at(first_of(at(body, "choices")), "message");
  if (at(message, "refusal").is_string()) return no_answer("the model refused to answer");
  const Json& content = at(message, "content");
  if (!content.is_string()) return no_answer("the response has no content");
  return read_answer(Json::parse(content.get_ref<const std::string&>(), nullptr, false));
}

LlmReading read_anthropic(const Json& body) {
  const Json& content = at(body, "content");
  if (!content.is_array()) return no_answer("the response has no content");
  for (const Json& block : content) {
    if (at(block, "type") == "tool_use" && at(block, "name") == answer_name) {
      return read_answer(at(block, "input"));
    }
  }
  return no_answer("the response has no answer in the form that was asked for");
}

}  // namespace

LlmRequest make_request(const LlmOptions& options, const Prompt& prompt) {
  const bool openai = options.protocol == LlmProtocol::openai;
  LlmRequest request{.url = options.base_url + (openai ? "/chat/completions" : "/messages"),
                     .headers = {"Content-Type: application/json", "Accept: application/json"}};
  if (!openai) request.headers.emplace_back("anthropic-version: 2023-06-01");
  if (!options.api_key.empty()) {
    request.headers.push_back((openai ? "Authorization: Bearer " : "x-api-key: ") +
                              options.api_key);
  }
  Json body = openai ? openai_body(options, prompt) : anthropic_body(options, prompt);
  if (options.extra.is_object()) body.merge_patch(options.extra);
  request.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return request;
}

std::optional<Usage> usage_in(LlmProtocol protocol, const Json& response) {
  const Json& usage = at(response, "usage");
  return protocol == LlmProtocol::openai ? read_usage(usage, "prompt_tokens", "completion_tokens")
                                         : read_usage(usage, "input_tokens", "output_tokens");
}

LlmReading read_response(LlmProtocol protocol, std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return no_answer("the response is not a JSON object");
  LlmReading reading = protocol == LlmProtocol::openai ? read_openai(json) : read_anthropic(json);
  reading.usage = usage_in(protocol, json);
  return reading;
}

}  // namespace triage::inline v0_1::detail
