// SPDX-License-Identifier: MIT
#include "lab/http/http_faults.hpp"

#include "lab/http/http_message.hpp"
#include "triage/lab/chaos.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::lab::detail {
namespace {

// Source: the error tables of the providers that docs/classification.md names.
std::string_view status_of(FailureType type, std::uint64_t draw) {
  switch (type) {
    case FailureType::external_fault:
      return draw % 2 == 0 ? "503 Service Unavailable" : "429 Too Many Requests";
    case FailureType::timeout: return "504 Gateway Timeout";
    case FailureType::access_denied: return "401 Unauthorized";
    case FailureType::quota_exhausted: return "402 Payment Required";
    case FailureType::wrong_tool_called: return "404 Not Found";
    case FailureType::context_overflow: return "413 Content Too Large";
    case FailureType::schema_mismatch: return "422 Unprocessable Content";
    case FailureType::refused:
    case FailureType::constraint_ignored: return "400 Bad Request";
    default: return "500 Internal Server Error";
  }
}

std::string answer_of(std::string_view status, std::string_view headers, const std::string& body) {
  std::string answer = "HTTP/1.1 ";
  answer.append(status).append("\r\n").append(headers);
  answer += "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n";
  return answer + body;
}

// Whether this is a tool call with arguments, in the protocols of several providers.
bool is_tool_call(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return false;
  return json.contains("arguments") || json.contains("input") || json.contains("args");
}

// Not recursive, because the nesting is up to the sender.
Json* first_tool_call(Json& whole) {
  std::vector<Json*> open{&whole};
  while (!open.empty()) {
    Json* one = open.back();
    open.pop_back();
    if (is_tool_call(*one)) return one;
    if (!one->is_structured()) continue;
    const std::size_t first = open.size();
    for (Json& inner : *one) open.push_back(&inner);
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
  }
  return nullptr;
}

constexpr std::size_t most_levels = 500;  // Searched in an answer.

bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  for (const char c : text) {
    if ((c == '[' || c == '{') && ++depth > most_levels) return true;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return false;
}

}  // namespace

std::string plain_answer(std::string_view status, std::string_view text) {
  return answer_of(status, "Content-Type: text/plain\r\n", std::string(text) + "\n");
}

std::string failure_answer(FailureType type, std::uint64_t draw) {
  const std::string_view status = status_of(type, draw);
  const Json body{{"error", {{"message", drawn_failure(type, draw).text}}}};
  const std::string wait = status.starts_with("429") ? "Retry-After: 1\r\n" : "";
  return answer_of(status, "Content-Type: application/json\r\n" + wait, show(body));
}

std::string cut_answer(const std::string& answer, std::uint64_t draw) {
  const std::size_t end = answer.find(head_end);
  if (end == std::string::npos) return answer;
  const std::size_t body = answer.size() - end - head_end.size();
  return answer.substr(0, end + head_end.size() + (body == 0 ? 0 : draw % body));
}

std::string with_other_tool(const std::string& answer, const std::optional<Json>& name) {
  const std::size_t end = answer.find(head_end);
  if (end == std::string::npos) return answer;
  const std::string_view text = std::string_view(answer).substr(end + head_end.size());
  if (is_too_deep(text)) return answer;
  Json body = Json::parse(text, nullptr, false);
  if (body.is_discarded()) return answer;
  Json* call = first_tool_call(body);
  if (call == nullptr) return answer;
  const std::string was = (*call)["name"].get<std::string>();
  (*call)["name"] = name && name->is_string() ? name->get<std::string>() : was + "_v2";
  const std::string changed = show(body);
  // The head is unchanged except for the length.
  std::string head = answer.substr(0, end);
  std::string lower = head;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (const std::size_t at = lower.find("\r\ncontent-length:"); at != std::string::npos) {
    head.erase(at, std::min(head.find("\r\n", at + 2), head.size()) - at);
  }
  return head + "\r\nContent-Length: " + std::to_string(changed.size()) + std::string(head_end) +
         changed;
}

}  // namespace triage::inline v0_1::lab::detail
