// SPDX-License-Identifier: MIT
#include "contract_json.hpp"

#include "triage/detail/json_depth.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/try.hpp"
#include "triage/record.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

using Names = std::vector<std::string>;

const Names contract_members{"tools", "constraints", "subgoals", "context_limit", "output_schema"};
const Names program_members{"tools", "constraints", "subgoals", "context_limit"};
const Names tool_members{"name",          "description", "aliases",     "input_schema",
                         "output_schema", "mutates",     "annotations", "inputSchema",
                         "parameters",    "schema",      "outputSchema"};
// Of MCP's `tools/list` and of the tools in requests to models; they say nothing that is checked.
const Names unread_tool_members{"title", "icons",  "execution",    "_meta",
                                "type",  "strict", "cache_control"};

constexpr const char* text_wanted = "a text that is not empty";

Error mistake(const std::string& place, const std::string& why) {
  return {Errc::invalid_argument, place + why};
}

Error not_allowed(const std::string& place, const Json& value, const std::string& allowed) {
  return mistake(place, " is " + printable(show(value).substr(0, 100)) + "; allowed is " + allowed);
}

bool is_one_of(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The member; null if absent.
const Json& part_of(const Json& object, const std::string& name) {
  static const Json none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string element(const std::string& list, std::size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

Result<void> refuse_unknown(const Json& object, const std::string& place, const Names& known,
                            const Names& unread = {}) {
  for (const auto& [key, unused] : object.items()) {
    if (is_one_of(known, key) || is_one_of(unread, key)) continue;
    return mistake(place + "." + printable(key),
                   " is not known" + detail::allowed_names(key, known));
  }
  return outcome::success();
}

bool is_filled_text(const Json& value) {
  return value.is_string() && !value.get_ref<const std::string&>().empty();
}

Result<Names> read_texts(const Json& values, const std::string& place) {
  Names texts;
  if (values.is_null()) return outcome::success(std::move(texts));
  if (!values.is_array()) return not_allowed(place, values, "a list of texts");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_filled_text(values[i])) return not_allowed(element(place, i), values[i], text_wanted);
    texts.push_back(values[i].get<std::string>());
  }
  return outcome::success(std::move(texts));
}

Result<std::optional<bool>> read_yes_or_no(const Json& object, const std::string& place,
                                           const char* name) {
  const Json& value = part_of(object, name);
  if (value.is_null()) return outcome::success(std::optional<bool>{});
  if (!value.is_boolean()) return not_allowed(place + "." + name, value, "true or false");
  return outcome::success(std::optional<bool>{value.get<bool>()});
}

// "mutates", or the equivalent MCP annotations.
Result<std::optional<bool>> read_mutates(const Json& tool, const std::string& place) {
  const std::string path = place + ".annotations";
  const Json& annotations = part_of(tool, "annotations");
  if (!annotations.is_null() && !annotations.is_object()) {
    return not_allowed(path, annotations, "an object");
  }
  TRIAGE_TRY(mutates, read_yes_or_no(tool, place, "mutates"));
  TRIAGE_TRY(reads, read_yes_or_no(annotations, path, "readOnlyHint"));
  TRIAGE_TRY(destroys, read_yes_or_no(annotations, path, "destructiveHint"));
  if (mutates) return outcome::success(mutates);
  if (reads) return outcome::success(std::optional<bool>(!*reads));
  // What destroys nothing may still add something.
  return outcome::success(destroys == true ? destroys : std::nullopt);
}

// Protocols name the same schema differently.
Result<JsonSchema> read_schema(const Json& tool, const std::string& place, const Names& names) {
  const std::string* found = nullptr;
  for (const std::string& name : names) {
    if (part_of(tool, name).is_null()) continue;
    if (found != nullptr) {
      return mistake(place, " has " + *found + " and " + name + "; allowed is one of them");
    }
    found = &name;
  }
  return outcome::success(found == nullptr ? JsonSchema() : JsonSchema(part_of(tool, *found)));
}

Result<ToolContract> read_tool_object(const Json& tool, const std::string& place) {
  ToolContract promised;
  TRIAGE_TRYV(refuse_unknown(tool, place, tool_members, unread_tool_members));
  const Json& name = part_of(tool, "name");
  if (name.is_null()) return mistake(place, " has no name; allowed is " + std::string(text_wanted));
  if (!is_filled_text(name)) return not_allowed(place + ".name", name, text_wanted);
  promised.name = name.get<std::string>();
  if (const Json& words = part_of(tool, "description"); words.is_string()) {
    promised.description = words.get<std::string>();
  } else if (!words.is_null()) {
    return not_allowed(place + ".description", words, "a text");
  }
  TRIAGE_TRY(aliases, read_texts(part_of(tool, "aliases"), place + ".aliases"));
  promised.aliases = std::move(aliases);
  TRIAGE_TRY(input,
             read_schema(tool, place, {"input_schema", "inputSchema", "parameters", "schema"}));
  promised.input_schema = std::move(input);
  TRIAGE_TRY(output, read_schema(tool, place, {"output_schema", "outputSchema"}));
  promised.output_schema = std::move(output);
  TRIAGE_TRY(mutates, read_mutates(tool, place));
  promised.mutates = mutates;
  return outcome::success(std::move(promised));
}

// In requests to models, a tool of the type "function" may have its members in an object.
Result<ToolContract> read_tool(const Json& tool, const std::string& list, std::size_t index) {
  const std::string place = element(list, index);
  if (is_filled_text(tool)) {
    ToolContract promised;
    promised.name = tool.get<std::string>();
    return outcome::success(std::move(promised));
  }
  if (!tool.is_object()) {
    return not_allowed(place, tool, "the name of a tool, or an object with its name");
  }
  const Json& function = part_of(tool, "function");
  if (function.is_null()) return read_tool_object(tool, place);
  TRIAGE_TRYV(refuse_unknown(tool, place, {"function"}, unread_tool_members));
  if (!function.is_object()) return not_allowed(place + ".function", function, "an object");
  return read_tool_object(function, place + ".function");
}

Result<void> read_tools(const Json& tools, AgentContract& contract) {
  const std::string place = "contract.tools";
  if (tools.is_null()) return outcome::success();
  if (!tools.is_array()) return not_allowed(place, tools, "a list of tools");
  for (std::size_t i = 0; i < tools.size(); ++i) {
    TRIAGE_TRY(promised, read_tool(tools[i], place, i));
    contract.tools.push_back(std::move(promised));
  }
  return outcome::success();
}

// A text is a phrase, {"pattern": …} a regular expression.
Result<void> read_constraints(const Json& given, AgentContract& contract) {
  const std::string list = "contract.constraints";
  const std::string wanted = std::string(text_wanted) + ", or {\"pattern\": a regular expression}";
  if (given.is_null()) return outcome::success();
  if (!given.is_array()) return not_allowed(list, given, "a list; each is " + wanted);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Json& constraint = given[i];
    const std::string place = element(list, i);
    if (is_filled_text(constraint)) {
      contract.constraints.push_back(constraint.get<std::string>());
      continue;
    }
    if (!constraint.is_object() || constraint.empty())
      return not_allowed(place, constraint, wanted);
    TRIAGE_TRYV(refuse_unknown(constraint, place, {"pattern"}));
    const Json& pattern = constraint["pattern"];
    if (!is_filled_text(pattern)) {
      return not_allowed(place + ".pattern", pattern, "a regular expression");
    }
    ForbiddenPattern forbidden(pattern.get<std::string>());
    if (const auto& problem = forbidden.problem()) {
      return mistake(place + ".pattern", ": " + problem->detail);
    }
    contract.forbidden_patterns.push_back(std::move(forbidden));
  }
  return outcome::success();
}

Result<void> read_context_limit(const Json& limit, AgentContract& contract) {
  if (limit.is_null()) return outcome::success();
  if (!limit.is_number_unsigned()) {
    return not_allowed("contract.context_limit", limit, "a whole number, 0 or more");
  }
  contract.context_limit = limit.get<std::uint64_t>();
  return outcome::success();
}

}  // namespace

Result<AgentContract> read_contract(const Json& given) {
  AgentContract contract;
  if (given.is_null()) return outcome::success(std::move(contract));
  if (!given.is_object()) return mistake("contract", " is not an object");
  TRIAGE_TRYV(refuse_unknown(given, "contract", contract_members));
  TRIAGE_TRYV(read_tools(part_of(given, "tools"), contract));
  TRIAGE_TRYV(read_constraints(part_of(given, "constraints"), contract));
  TRIAGE_TRY(subgoals, read_texts(part_of(given, "subgoals"), "contract.subgoals"));
  contract.subgoals = std::move(subgoals);
  contract.output_schema = part_of(given, "output_schema");
  TRIAGE_TRYV(read_context_limit(part_of(given, "context_limit"), contract));
  if (const auto checked = check_contract(contract); !checked) {
    return mistake("contract.", checked.error().detail);
  }
  return outcome::success(std::move(contract));
}

Result<AgentContract> read_contract_text(const std::string& text) {
  if (detail::nested_deeper(text, detail::max_body_depth)) {
    return Error{Errc::invalid_argument, "the contract is nested deeper than " +
                                             std::to_string(detail::max_body_depth) +
                                             " levels, which is the most that is allowed"};
  }
  const Json given = Json::parse(text, nullptr, false);
  if (!given.is_object()) return Error{Errc::invalid_argument, "the contract is not a JSON object"};
  if (!part_of(given, "output_schema").is_null()) {
    return Error{Errc::invalid_argument,
                 "contract.output_schema: the result of a program is its exit status, which needs "
                 "no schema"};
  }
  TRIAGE_TRYV(refuse_unknown(given, "contract", program_members));
  return read_contract(given);
}

}  // namespace triage::inline v0_1::cli
