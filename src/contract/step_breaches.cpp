// SPDX-License-Identifier: MIT
#include "contract/step_breaches.hpp"

#include "base/ascii.hpp"
#include "contract/contract_return.hpp"
#include "contract/forbidden_texts.hpp"
#include "evidence/findings.hpp"
#include "triage/detail/nearest.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_kept = 32;  // More would only repeat these.
constexpr std::size_t longest_compared_name = 64;
constexpr std::size_t most_near_names = 3;

// At most longest_compared_name bytes of it.
std::string in_lower_case(std::string_view name) {
  std::string text(name.substr(0, longest_compared_name));
  for (char& c : text) c = lower(c);
  return text;
}

std::vector<std::string> nearest_names(const AgentContract& contract, const std::string& name,
                                       std::size_t& names_left) {
  const std::string wanted = in_lower_case(name);
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const ToolContract& tool : contract.tools) {
    if (names_left == 0) break;
    --names_left;
    const auto distance = static_cast<std::size_t>(edit_distance(wanted, in_lower_case(tool.name)));
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

StepBreach unknown_tool(const AgentContract& contract, const std::string& called,
                        std::size_t& names_left) {
  const std::string name = printable(called.substr(0, longest_compared_name));
  Evidence evidence{.source = "contract",
                    .suggests = FailureType::wrong_tool_called,
                    .detail = "The agent's contract has no tool \"" + name + "\"",
                    .confidence = 1.0,
                    .facts = {{"tool", name}}};
  const std::vector<std::string> near = nearest_names(contract, called, names_left);
  for (std::size_t i = 0; i < near.size(); ++i) {
    evidence.detail += (i == 0 ? ". The nearest are " : ", ") + near[i];
    evidence.facts.emplace_back("nearest", near[i]);
  }
  return {"tool_not_in_manifest", std::move(evidence)};
}

// Models write arguments as text, so a string that holds a JSON object or array is parsed.
Result<std::optional<SchemaBreach>> check_input(const JsonSchema& schema, const Json& input,
                                                std::size_t& rules_left, std::size_t& bytes_left) {
  auto checked = schema.check(input, rules_left);
  if (!checked || !checked.value() || !input.is_string()) return checked;
  const auto& text = input.get_ref<const std::string&>();
  if (text.size() > bytes_left) {
    return Error{Errc::unsupported, "it is a text of " + std::to_string(text.size()) +
                                        " bytes; of those that may be JSON " +
                                        std::to_string(bytes_left) + " more are read"};
  }
  bytes_left -= text.size();
  const Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_structured() ? schema.check(parsed, rules_left) : checked;
}

// Checks one side of a call. What could not be checked is reported but is not a breach.
std::optional<StepBreach> broken_schema(const Step& step, bool input, const ToolContract& tool,
                                        JudgingBudget& budget) {
  const JsonSchema& schema = input ? tool.input_schema : tool.output_schema;
  const Json& value = input ? step.tool_input : step.tool_output;
  if (schema.empty() || value.is_null()) return std::nullopt;
  std::size_t& rules_left = budget.schema_rules;
  std::size_t own = (rules_left + 1) / 2;  // So that one check cannot use up the whole budget.
  rules_left -= own;
  const auto checked =
      input ? check_input(schema, value, own, budget.bytes_parsed) : schema.check(value, own);
  rules_left += own;
  const std::string what = std::string("The ") + (input ? "input" : "output") + " of the tool \"" +
                           printable(tool.name.substr(0, longest_compared_name)) + "\"";
  if (!checked) {
    return StepBreach{
        "not_checked",
        {.source = "contract", .detail = what + " was not checked: " + checked.error().detail}};
  }
  if (!checked.value()) return std::nullopt;
  Finding found = mismatch(what, input ? "tool_input_mismatch" : "tool_output_mismatch",
                           *checked.value(), tool.name);
  return StepBreach{found.reason, std::move(found.evidence)};
}

void judge_call(const AgentContract& contract, const Step& step, JudgingBudget& budget,
                std::vector<StepBreach>& found) {
  if (contract.tools.empty() || !step.tool_called || step.tool_called->empty()) return;
  const ToolContract* tool = find_tool(contract, *step.tool_called);
  if (tool == nullptr) {
    found.push_back(unknown_tool(contract, *step.tool_called, budget.names_compared));
    return;
  }
  for (const bool input : {true, false}) {
    if (!input && step_failed(step)) return;
    if (auto broken = broken_schema(step, input, *tool, budget)) {
      found.push_back(std::move(*broken));
      if (found.back().checked()) return;  // Otherwise the other side can still be checked.
    }
  }
}

}  // namespace

const ToolContract* find_tool(const AgentContract& contract, const std::string& name) {
  const auto found =
      std::find_if(contract.tools.begin(), contract.tools.end(), [&](const ToolContract& tool) {
        return tool.name == name ||
               std::find(tool.aliases.begin(), tool.aliases.end(), name) != tool.aliases.end();
      });
  return found == contract.tools.end() ? nullptr : &*found;
}

bool judges_steps(const AgentContract& contract) noexcept {
  return !contract.tools.empty() || forbids_texts(contract);
}

std::vector<StepBreach> judge_step(const AgentContract& contract, const Step& step,
                                   JudgingBudget& budget) {
  std::vector<StepBreach> found;
  judge_call(contract, step, budget, found);
  const bool says_something = step.llm_output && !step.llm_output->empty();
  if (says_something && budget.bytes_said > 0 && forbids_texts(contract)) {
    const auto said = std::string_view(*step.llm_output).substr(0, budget.bytes_said);
    budget.bytes_said -= said.size();
    if (auto forbidden = forbidden_output(contract, said)) {
      found.push_back({forbidden->reason, std::move(forbidden->evidence)});
    }
  }
  return found;
}

void keep_breaches(std::vector<StepBreach> found, std::size_t step, std::vector<StepBreach>& kept) {
  for (StepBreach& breach : found) {
    const auto unchecked =
        std::count_if(kept.begin(), kept.end(), std::not_fn(&StepBreach::checked));
    if (!breach.checked() && unchecked >= most_unchecked_told) continue;
    breach.evidence.step = step;
    if (kept.size() == most_kept) kept.erase(std::next(kept.begin(), most_kept / 2));
    kept.push_back(std::move(breach));
  }
}

}  // namespace triage::inline v0_1::detail

namespace triage::inline v0_1 {

std::vector<StepBreach> judge_step(const AgentContract& contract, const Step& step) {
  detail::JudgingBudget budget;
  return detail::judge_step(contract, step, budget);
}

}  // namespace triage::inline v0_1
