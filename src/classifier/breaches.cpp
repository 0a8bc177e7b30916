// SPDX-License-Identifier: MIT
#include "classifier/ascii.hpp"
#include "classifier/contract_return.hpp"
#include "classifier/findings.hpp"
#include "classifier/forbidden_texts.hpp"
#include "classifier/loops.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_notes = 8;
constexpr std::size_t most_broken_calls = 32;  // More would only repeat themselves.
constexpr std::size_t newest_steps_read = 256;
constexpr std::size_t longest_compared_name = 64;
constexpr std::size_t most_near_names = 3;

const ToolContract* find_tool(const AgentContract& contract, const std::string& name) {
  const auto found =
      std::find_if(contract.tools.begin(), contract.tools.end(), [&](const ToolContract& tool) {
        return tool.name == name ||
               std::find(tool.aliases.begin(), tool.aliases.end(), name) != tool.aliases.end();
      });
  return found == contract.tools.end() ? nullptr : &*found;
}

// Levenshtein's distance, ignoring case. Names are cut at longest_compared_name.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, longest_compared_name);
  b = b.substr(0, longest_compared_name);
  std::size_t row[longest_compared_name + 1];
  std::iota(row, row + b.size() + 1, std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_names(const AgentContract& contract, const std::string& name) {
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const ToolContract& tool : contract.tools) {
    const std::size_t distance = edit_distance(name, tool.name);
    if (distance <= std::max<std::size_t>(2, name.size() / 2))
      near.emplace_back(distance, &tool.name);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > most_near_names) near.resize(most_near_names);
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : near) names.push_back(printable(*candidate));
  return names;
}

Finding unknown_tool(const AgentContract& contract, const std::string& called) {
  const std::string name = printable(called.substr(0, longest_compared_name));
  Evidence evidence{.source = "contract",
                    .suggests = FailureType::wrong_tool_called,
                    .detail = "The agent's contract has no tool \"" + name + "\"",
                    .facts = {{"tool", name}}};
  const std::vector<std::string> near = nearest_names(contract, called);
  for (std::size_t i = 0; i < near.size(); ++i) {
    evidence.detail += (i == 0 ? ". The nearest are " : ", ") + near[i];
    evidence.facts.emplace_back("nearest", near[i]);
  }
  return {.kind = FindingKind::contract,
          .reason = "tool_not_in_manifest",
          .evidence = std::move(evidence)};
}

// Models write arguments as text: one that holds a JSON object or array may stand for it.
Result<std::optional<SchemaBreach>> check_input(const JsonSchema& schema, const Json& input) {
  auto checked = schema.check(input);
  if (!checked || !checked.value() || !input.is_string()) return checked;
  const Json parsed = Json::parse(input.get_ref<const std::string&>(), nullptr, false);
  return parsed.is_structured() ? schema.check(parsed) : checked;
}

// Checks one side of a call. What cannot be checked is told, and held against nobody.
std::optional<Finding> broken_schema(const Step& step, bool input, const ToolContract& tool,
                                     Findings& findings) {
  const JsonSchema& schema = input ? tool.input_schema : tool.output_schema;
  const Json& value = input ? step.tool_input : step.tool_output;
  if (schema.empty() || value.is_null()) return std::nullopt;
  const auto checked = input ? check_input(schema, value) : schema.check(value);
  const std::string what = std::string("The ") + (input ? "input" : "output") + " of the tool \"" +
                           printable(tool.name.substr(0, longest_compared_name)) + "\"";
  if (!checked) {
    if (findings.notes.size() >= most_notes) return std::nullopt;
    findings.notes.push_back(
        {.source = "contract", .detail = what + " was not checked: " + checked.error().detail});
    return std::nullopt;
  }
  if (!checked.value()) return std::nullopt;
  return mismatch(what, input ? "tool_input_mismatch" : "tool_output_mismatch", *checked.value(),
                  tool.name);
}

void check_calls(const ClassifierInput& input, Findings& findings) {
  if (input.contract->tools.empty()) return;
  std::size_t calls = 0;
  std::size_t broken = 0;
  std::size_t steps = 0;
  const auto failed = last_failed_step(input);
  const auto add = [&](std::size_t index, Finding finding) {
    // Calls before the newest one were survived, unless it is one of them that failed.
    finding.evidence.confidence = calls == 1 || failed == index ? 0.97 : 0.6;
    finding.evidence.step = index;
    findings.list.push_back(std::move(finding));
    ++broken;
  };
  const auto check = [&](std::size_t index, const Step& step) {
    if (step.tool_called && !step.tool_called->empty()) {
      ++calls;
      const ToolContract* tool = find_tool(*input.contract, *step.tool_called);
      if (tool == nullptr) {
        add(index, unknown_tool(*input.contract, *step.tool_called));
      } else if (auto wrong_input = broken_schema(step, true, *tool, findings)) {
        add(index, std::move(*wrong_input));
      } else if (!step_failed(step)) {
        auto wrong_output = broken_schema(step, false, *tool, findings);
        if (wrong_output) add(index, std::move(*wrong_output));
      }
    }
    return broken < most_broken_calls && ++steps < newest_steps_read;
  };
  visit_newest_first(input.trajectory, input.restored_steps, check);
}

// What the step's call to a model took: metadata.tokens; 0 if it does not say.
std::uint64_t tokens_of(const Step& step) {
  if (!step.metadata.is_object()) return 0;
  const auto tokens = step.metadata.find("tokens");
  if (tokens == step.metadata.end() || !tokens->is_number_integer()) return 0;
  // A number that was written in C++ is signed.
  const bool negative = !tokens->is_number_unsigned() && tokens->get<std::int64_t>() < 0;
  return negative ? 0 : tokens->get<std::uint64_t>();
}

void check_context(const ClassifierInput& input, Findings& findings) {
  const std::uint64_t limit = input.contract->context_limit;
  if (limit == 0) return;
  std::uint64_t tokens = 0;
  std::optional<std::size_t> at;
  std::size_t steps = 0;
  visit_newest_first(input.trajectory, input.restored_steps,
                     [&](std::size_t index, const Step& step) {
                       tokens = tokens_of(step);
                       if (tokens != 0) at = index;
                       return !at && ++steps < newest_steps_read;
                     });
  if (input.newest_call_tokens > tokens) {
    tokens = input.newest_call_tokens;
    at.reset();
  }
  if (tokens <= limit) return;
  findings.list.push_back(
      {.kind = FindingKind::contract,
       .reason = "context_limit_exceeded",
       .evidence = {
           .source = "contract",
           .suggests = FailureType::context_overflow,
           .detail = "The newest call to the model took " + std::to_string(tokens) + " tokens; " +
                     std::to_string(limit) + " are allowed",
           .confidence = 0.97,
           .step = at,
           .facts = {{"tokens", std::to_string(tokens)}, {"limit", std::to_string(limit)}}}});
}

}  // namespace

void find_breaches(const ClassifierInput& input, Findings& findings) {
  if (input.contract == nullptr) return;
  check_return(input, findings);
  check_calls(input, findings);
  check_context(input, findings);
  check_outputs(input, findings);
}

}  // namespace triage::inline v0_1::detail
