// SPDX-License-Identifier: MIT
#include "failure_format.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace triage::inline v0_1::cli {
namespace {

using FieldNames = std::initializer_list<const char*>;

constexpr FieldNames line_fields{"error",       "exception_type", "http_status", "json_rpc_code",
                                 "grpc_status", "headers",        "steps",       "task",
                                 "contract",    "result"};
constexpr FieldNames step_fields{"action",     "tool_called", "tool_input",     "tool_output",
                                 "llm_output", "error",       "exception_type", "agent_id",
                                 "metadata",   "http_status", "json_rpc_code",  "grpc_status"};
constexpr FieldNames contract_fields{"tools", "constraints", "subgoals", "output_schema",
                                     "context_limit"};

bool has_none(const Json& object, FieldNames known) {
  return std::none_of(known.begin(), known.end(),
                      [&](const char* name) { return object.contains(name); });
}

bool is_foreign(const Json& object, FieldNames known) {
  return object.is_object() && !object.empty() && has_none(object, known);
}

std::string none_of(FieldNames known) {
  std::string text = "none of the fields that are read:";
  for (const char* name : known) {
    text += name == *known.begin() ? " " : ", ";
    text += name;
  }
  return text;
}

}  // namespace

Result<void> check_format(const Json& line) {
  if (!has_none(line, line_fields)) return outcome::success();
  return Error{Errc::invalid_argument, "the line has " + none_of(line_fields)};
}

std::vector<std::string> remarks_on_format(const Json& line) {
  std::vector<std::string> remarks;
  if (const auto steps = line.find("steps"); steps != line.end()) {
    const auto foreign = std::count_if(steps->begin(), steps->end(), [](const Json& step) {
      return is_foreign(step, step_fields);
    });
    if (foreign > 0) {
      remarks.push_back(std::to_string(foreign) + " of " + std::to_string(steps->size()) +
                        " steps have " + none_of(step_fields));
    }
  }
  if (const auto contract = line.find("contract"); contract != line.end()) {
    if (is_foreign_contract(*contract)) {
      remarks.push_back("The contract has " + none_of(contract_fields));
    }
  }
  return remarks;
}

bool is_foreign_contract(const Json& contract) { return is_foreign(contract, contract_fields); }

}  // namespace triage::inline v0_1::cli
