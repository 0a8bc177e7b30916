// SPDX-License-Identifier: MIT
#include "triage/policies/manifest.hpp"

#include "describe.hpp"
#include "triage/contract.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/json.hpp"
#include "triage/step.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

// A hint goes into a model's context, so it stays small whatever the manifest's size.
constexpr std::size_t most_tools_named = 32;
constexpr std::size_t longest_quote = 200;
constexpr std::size_t longest_schema = 1'000;
constexpr std::size_t longest_schemas = 8'000;

std::string shortened(std::string_view text, std::size_t longest = longest_quote) {
  return printable(text.substr(0, longest)) + (text.size() > longest ? "…" : "");
}

bool is_known(const FailureContext& context, const std::string& tool) {
  return std::find(context.tools.begin(), context.tools.end(), tool) != context.tools.end();
}

// The tool of the failed step: of the critical step, else of the newest step that called a tool
// unknown to the contract.
std::optional<std::string> wrong_tool(const FailureContext& context) {
  const Trajectory& steps = context.trajectory;
  if (const auto critical = context.classification.critical_step;
      critical && *critical < steps.size() && steps[*critical].tool_called &&
      !is_known(context, *steps[*critical].tool_called)) {
    return steps[*critical].tool_called;
  }
  if (context.tools.empty() || steps.empty()) return std::nullopt;
  const auto& newest = steps.back().tool_called;
  return newest && !is_known(context, *newest) ? newest : std::nullopt;
}

std::string tool_list(std::vector<std::string> tools, const std::string& wrong) {
  const std::size_t all = tools.size();
  if (all > most_tools_named) {
    std::vector<std::pair<int, std::size_t>> by_distance;
    for (std::size_t i = 0; i < all; ++i) {
      by_distance.emplace_back(detail::edit_distance(wrong, tools[i]), i);
    }
    const auto end = by_distance.begin() + static_cast<std::ptrdiff_t>(most_tools_named);
    std::partial_sort(by_distance.begin(), end, by_distance.end());
    std::vector<std::string> nearest;
    for (auto one = by_distance.begin(); one != end; ++one) nearest.push_back(tools[one->second]);
    tools = std::move(nearest);
  }
  for (std::string& tool : tools) tool = shortened(tool);
  std::string text = "Available tools: " + detail::joined(tools);
  if (all > most_tools_named) text += " and " + std::to_string(all - most_tools_named) + " more";
  return text + ".";
}

// The input schemas of the tools, starting with the tool in question.
std::string schema_list(const FailureContext& context, std::string_view first) {
  if (!context.contract) return {};
  std::vector<const ToolContract*> tools;
  for (const ToolContract& tool : context.contract->tools) {
    if (!tool.input_schema.empty()) tools.push_back(&tool);
  }
  std::stable_partition(tools.begin(), tools.end(),
                        [&](const ToolContract* tool) { return tool->name == first; });
  std::string text;
  std::size_t told = 0;
  for (; told < tools.size() && text.size() < longest_schemas; ++told) {
    text += (text.empty() ? " Schemas of their inputs: " : "; ") + shortened(tools[told]->name) +
            ": " + shortened(show(tools[told]->input_schema.json()), longest_schema);
  }
  if (told < tools.size()) text += "; and " + std::to_string(tools.size() - told) + " more";
  return text.empty() ? text : text + ".";
}

// The first evidence for the failure's type; null if there is none.
const Evidence* deciding_evidence(const FailureContext& context) {
  const auto& evidence = context.classification.evidence;
  const auto found = std::find_if(evidence.begin(), evidence.end(), [&](const Evidence& one) {
    return one.suggests == context.type() && !one.detail.empty();
  });
  return found == evidence.end() ? nullptr : &*found;
}

// The tool whose call broke its schema, if any.
std::string broken_tool(const Evidence* evidence) {
  if (evidence == nullptr) return {};
  const auto tool = std::find_if(evidence->facts.begin(), evidence->facts.end(),
                                 [](const auto& fact) { return fact.first == "tool"; });
  return tool == evidence->facts.end() ? std::string() : tool->second;
}

std::string manifest_hint(const FailureContext& context) {
  const auto wrong = wrong_tool(context);
  const Evidence* why = deciding_evidence(context);
  if (!wrong && why != nullptr && context.type() != FailureType::wrong_tool_called) {
    std::string hint = shortened(why->detail, longest_schema) + ".";
    if (!context.tools.empty()) hint += " " + tool_list(context.tools, {});
    return hint + schema_list(context, broken_tool(why));
  }
  std::string hint = wrong ? "The tool \"" + shortened(*wrong) + "\" does not exist."
                           : "A tool was called that does not exist.";
  const std::string_view meant =
      wrong ? detail::nearest(*wrong, context.tools) : std::string_view{};
  if (!meant.empty()) hint += " Did you mean \"" + shortened(meant) + "\"?";
  const auto& evidence = context.classification.evidence;
  const auto deciding = std::find_if(evidence.begin(), evidence.end(), [](const Evidence& one) {
    return one.suggests == FailureType::wrong_tool_called && !one.detail.empty();
  });
  if (deciding != evidence.end()) hint += " Evidence: " + shortened(deciding->detail) + ".";
  hint += context.tools.empty()
              ? " Call only tools of your manifest."
              : " " + tool_list(context.tools, wrong.value_or(std::string{})) + " Call only these.";
  return hint + schema_list(context, meant);
}

}  // namespace

Strategy retry_with_tool_manifest(ManifestOptions options) {
  return detail::StrategyBuilder("retry_with_tool_manifest")
      .attempts("max_attempts", options.max_attempts, 1)
      .build(
          [options](const FailureContext& context) {
            if (context.occurrence() >= options.max_attempts) {
              return detail::exhausted("retry_with_tool_manifest", context, "max_attempts",
                                       options.max_attempts);
            }
            return RecoveryAction::retry(manifest_hint(context));
          },
          options.max_attempts);
}

}  // namespace triage::inline v0_1
