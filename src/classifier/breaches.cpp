// SPDX-License-Identifier: MIT
#include "classifier/findings.hpp"
#include "classifier/loops.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t newest_calls_checked = 8;
constexpr std::size_t newest_steps_read = 256;
constexpr std::size_t most_output_bytes_read = 4U << 20U;
constexpr std::size_t longest_compared_name = 64;
constexpr std::size_t most_near_names = 3;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool in_manifest(const AgentContract& contract, const std::string& name) {
  return std::any_of(contract.tools.begin(), contract.tools.end(), [&](const ToolContract& tool) {
    return tool.name == name ||
           std::find(tool.aliases.begin(), tool.aliases.end(), name) != tool.aliases.end();
  });
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

// " The nearest are a, b." or nothing if no name is near.
std::string nearest_names(const AgentContract& contract, const std::string& name) {
  std::vector<std::pair<std::size_t, const std::string*>> near;
  for (const ToolContract& tool : contract.tools) {
    const std::size_t distance = edit_distance(name, tool.name);
    if (distance <= std::max<std::size_t>(2, name.size() / 2))
      near.emplace_back(distance, &tool.name);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > most_near_names) near.resize(most_near_names);
  std::string text;
  for (const auto& [distance, candidate] : near) {
    text += (text.empty() ? ". The nearest are " : ", ") + printable(*candidate);
  }
  return text;
}

void check_tools(const ClassifierInput& input, Findings& findings) {
  if (input.contract->tools.empty()) return;
  std::size_t calls = 0;
  std::size_t steps = 0;
  const auto check = [&](std::size_t index, const Step& step) {
    if (step.tool_called && !step.tool_called->empty()) {
      ++calls;
      if (!in_manifest(*input.contract, *step.tool_called)) {
        const std::string name = printable(step.tool_called->substr(0, longest_compared_name));
        findings.list.push_back(
            {.kind = FindingKind::contract,
             .reason = "tool_not_in_manifest",
             .evidence = {.source = "contract",
                          .suggests = FailureType::wrong_tool_called,
                          .detail = "The agent's contract has no tool \"" + name + "\"" +
                                    nearest_names(*input.contract, *step.tool_called),
                          // Calls before the newest one were survived.
                          .confidence = calls == 1 ? 0.97 : 0.6,
                          .step = index}});
      }
    }
    return calls < newest_calls_checked && ++steps < newest_steps_read;
  };
  visit_newest_first(input.trajectory, input.restored_steps, check);
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

void check_constraints(const ClassifierInput& input, Findings& findings) {
  if (input.contract->constraints.empty()) return;
  std::size_t outputs = 0;
  std::size_t steps = 0;
  std::size_t bytes_left = most_output_bytes_read;
  const auto check = [&](std::size_t index, const Step& step) {
    if (step.llm_output) {
      ++outputs;
      const std::string_view output = std::string_view(*step.llm_output).substr(0, bytes_left);
      for (const std::string& constraint : input.contract->constraints) {
        if (constraint.empty() || !contains_ignoring_case(output, constraint)) continue;
        findings.list.push_back(
            {.kind = FindingKind::contract,
             .reason = "forbidden_text",
             .evidence = {.source = "contract",
                          .suggests = FailureType::constraint_ignored,
                          .detail = "The model's output contains the forbidden text \"" +
                                    printable(constraint.substr(0, longest_compared_name)) + "\"",
                          .confidence = outputs == 1 ? 0.95 : 0.6,
                          .step = index}});
        break;
      }
      bytes_left -= output.size();
    }
    return bytes_left > 0 && ++steps < newest_steps_read;
  };
  visit_newest_first(input.trajectory, input.restored_steps, check);
}

}  // namespace

void find_breaches(const ClassifierInput& input, Findings& findings) {
  if (input.contract == nullptr) return;
  check_tools(input, findings);
  check_constraints(input, findings);
}

}  // namespace triage::inline v0_1::detail
