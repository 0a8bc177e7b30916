// SPDX-License-Identifier: MIT
#include "failure_json.hpp"

#include "code_text.hpp"
#include "contract_json.hpp"
#include "failure_format.hpp"
#include "mended_json.hpp"
#include "triage/detail/json_depth.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"
#include "triage/record.hpp"
#include "triage/step.hpp"

#include <chrono>
#include <limits>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t most_evidence = 32;
// Measured accuracy of decisive evidence on generated runs: classification_internals.md.
constexpr double decided_step_confidence = 0.9;

Error refused(std::string_view field, std::string_view why) {
  return {Errc::invalid_argument, std::string(field) + " " + std::string(why)};
}

Result<Json> parse_line(std::string_view line) {
  if (detail::nested_deeper(line, detail::max_body_depth)) {
    return refused("the line", "is nested deeper than " + std::to_string(detail::max_body_depth) +
                                   " levels, which is the most that is allowed");
  }
  Json value = parse_mended(line);
  if (value.is_discarded()) return refused("the line", "is not valid JSON");
  if (!value.is_object()) return refused("the line", "is not a JSON object");
  return outcome::success(std::move(value));
}

// The member; null if absent.
const Json& member(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

// Strings as they are; other values as JSON.
std::string as_text(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : show(value);
}

std::optional<std::string> as_optional_text(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return as_text(value);
}

using ReadText = std::optional<int> (*)(std::string_view);

// An integer, or a text that `read_text` understands.
Result<std::optional<int>> read_code(const Json& object, const char* name, ReadText read_text,
                                     std::string_view allowed) {
  const Json& value = member(object, name);
  if (value.is_null()) return outcome::success(std::optional<int>{});
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
      return outcome::success(std::optional<int>{});
    if (const auto code = read_text(text)) return outcome::success(code);
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    if (number >= std::numeric_limits<int>::min() && number <= std::numeric_limits<int>::max() &&
        number == static_cast<double>(static_cast<int>(number))) {
      return outcome::success(std::optional<int>{static_cast<int>(number)});
    }
  }
  return refused(name, allowed);
}

template <class Target>
Result<void> read_codes(const Json& object, Target& target) {
  constexpr std::string_view number = "is neither a whole number nor a text that begins with one";
  TRIAGE_TRY(http, read_code(object, "http_status", code_in, number));
  TRIAGE_TRY(json_rpc, read_code(object, "json_rpc_code", code_in, number));
  TRIAGE_TRY(grpc, read_code(object, "grpc_status", grpc_status_in,
                             "is neither a whole number nor the name of a gRPC status"));
  target.http_status = http;
  target.json_rpc_code = json_rpc;
  target.grpc_status = grpc;
  return outcome::success();
}

// {"name": "value"}, {"name": ["value", …]} or [["name", "value"], …].
Result<void> read_headers(const Json& headers, Failure& failure) {
  if (headers.is_null()) return outcome::success();
  if (headers.is_object()) {
    for (const auto& [name, value] : headers.items()) {
      const Json& first = value.is_array() && !value.empty() ? value.front() : value;
      failure.headers.emplace_back(name, as_text(first));
    }
    return outcome::success();
  }
  if (!headers.is_array()) return refused("headers", "is neither an object nor an array of pairs");
  for (const Json& pair : headers) {
    if (!pair.is_array() || pair.size() != 2)
      return refused("headers", "has an entry that is not a pair");
    failure.headers.emplace_back(as_text(pair[0]), as_text(pair[1]));
  }
  return outcome::success();
}

Result<void> read_steps(const Json& steps, Trajectory& trajectory) {
  if (steps.is_null()) return outcome::success();
  if (!steps.is_array()) return refused("steps", "is not an array");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Json& given = steps[i];
    if (!given.is_object()) return refused("steps[" + std::to_string(i) + "]", "is not an object");
    Step step;
    if (const auto codes = read_codes(given, step); !codes) {
      return refused("steps[" + std::to_string(i) + "]." + codes.error().detail, "");
    }
    step.action = as_text(member(given, "action"));
    step.tool_called = as_optional_text(member(given, "tool_called"));
    step.tool_input = member(given, "tool_input");
    step.tool_output = member(given, "tool_output");
    step.llm_output = as_optional_text(member(given, "llm_output"));
    step.error = as_optional_text(member(given, "error"));
    step.exception_type = as_optional_text(member(given, "exception_type"));
    step.agent_id = as_optional_text(member(given, "agent_id"));
    if (member(given, "metadata").is_object()) step.metadata = member(given, "metadata");
    trajectory.append(std::move(step));
  }
  return outcome::success();
}

nlohmann::ordered_json evidence_json(const Evidence& evidence) {
  nlohmann::ordered_json json{{"source", evidence.source},
                              {"suggests", to_string(evidence.suggests)},
                              {"detail", evidence.detail},
                              {"confidence", evidence.confidence}};
  if (evidence.step) json["step"] = *evidence.step;
  for (const auto& [key, value] : evidence.facts) {
    nlohmann::ordered_json& fact = json["facts"][key];
    if (fact.is_null()) {
      fact = value;
    } else {
      if (!fact.is_array()) fact = nlohmann::ordered_json::array({fact});
      fact.push_back(value);
    }
  }
  return json;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

Result<ReportedFailure> read_reported_failure(std::string_view line, KnownContract* known) {
  TRIAGE_TRY(object, parse_line(line));
  TRIAGE_TRYV(check_format(object));
  ReportedFailure reported;
  reported.failure.text = as_text(member(object, "error"));
  reported.failure.exception_type = as_text(member(object, "exception_type"));
  TRIAGE_TRYV(read_codes(object, reported.failure));
  TRIAGE_TRYV(read_headers(member(object, "headers"), reported.failure));
  TRIAGE_TRYV(read_steps(member(object, "steps"), reported.trajectory));
  reported.task = as_text(member(object, "task"));
  const Json& contract = member(object, "contract");
  if (known != nullptr && known->given == contract) {
    reported.contract = known->contract;
  } else if (!is_foreign_contract(contract)) {  // Which gives a remark.
    TRIAGE_TRY(read, read_contract(contract));
    reported.contract = std::move(read);
    if (known != nullptr) *known = {contract, reported.contract};
  }
  reported.result = member(object, "result");
  reported.remarks = remarks_on_format(object);
  return outcome::success(std::move(reported));
}

std::string classification_line(const Classification& classification) {
  nlohmann::ordered_json json{{"type", to_string(classification.type)},
                              {"reason", classification.reason},
                              {"confidence", classification.confidence}};
  json["retry_after_s"] = nullptr;
  if (classification.retry_after) {
    json["retry_after_s"] = std::chrono::duration<double>(*classification.retry_after).count();
  }
  json["critical_step"] = nullptr;
  if (classification.critical_step) {
    json["critical_step"] = *classification.critical_step;
    json["critical_step_confidence"] =
        classification.critical_step_confidence.value_or(decided_step_confidence);
  }
  json["evidence"] = nlohmann::ordered_json::array();
  for (const Evidence& evidence : classification.evidence) {
    if (json["evidence"].size() == most_evidence) break;
    json["evidence"].push_back(evidence_json(evidence));
  }
  return dump(json);
}

std::string unreadable_line(std::size_t line_number, std::string_view why) {
  return dump({{"error", why}, {"line", line_number}});
}

}  // namespace triage::inline v0_1::cli
