// SPDX-License-Identifier: MIT
#include "contract/contract_return.hpp"

#include "contract/forbidden_texts.hpp"
#include "contract/step_breaches.hpp"
#include "triage/step.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_subgoals_named = 8;
constexpr std::size_t longest_name = 200;

// Reads metadata.completes_subgoal of a step: a string or a list of strings.
void note_completed(const Step& step, std::set<std::string, std::less<>>& done) {
  if (!step.metadata.is_object()) return;
  const auto named = step.metadata.find("completes_subgoal");
  if (named == step.metadata.end()) return;
  const auto note = [&](const Json& name) {
    if (name.is_string()) done.insert(name.get_ref<const std::string&>());
  };
  if (!named->is_array()) return note(*named);
  for (const Json& name : *named) note(name);
}

void check_subgoals(const ClassifierInput& input, Findings& findings) {
  const std::vector<std::string> open = open_subgoals(*input.contract, input.trajectory);
  if (open.empty()) return;
  Evidence evidence{.source = "contract",
                    .suggests = FailureType::plan_incomplete,
                    .detail = "The agent returned although " + std::to_string(open.size()) +
                              " of its " + std::to_string(input.contract->subgoals.size()) +
                              " subgoals are open: ",
                    .confidence = 1.0};
  for (std::size_t i = 0; i < std::min(open.size(), most_subgoals_named); ++i) {
    const std::string name = printable(open[i].substr(0, longest_name));
    evidence.detail += (i == 0 ? "" : ", ") + name;
    evidence.facts.emplace_back("subgoal", name);
  }
  if (open.size() > most_subgoals_named) evidence.detail += ", …";
  findings.list.push_back(
      {.kind = FindingKind::contract, .reason = "subgoals_open", .evidence = std::move(evidence)});
}

void check_shape(const ClassifierInput& input, Findings& findings) {
  const JsonSchema& schema = input.contract->output_schema;
  if (schema.empty()) return;
  const auto checked = schema.check(*input.result);
  if (!checked) {
    findings.notes.push_back(
        {.source = "contract", .detail = "The result was not checked: " + checked.error().detail});
  } else if (checked.value()) {
    findings.list.push_back(mismatch("The result", "result_mismatch", *checked.value(), ""));
  }
}

// Checks the agent's last output before it returned.
void check_last_output(const ClassifierInput& input, Findings& findings) {
  if (!forbids_texts(*input.contract)) return;
  const auto newest = newest_output(input);
  if (!newest) return;
  const std::string& output = *input.trajectory[*newest].llm_output;
  const auto said = std::string_view(output).substr(0, JudgingBudget().bytes_said);
  if (auto forbidden = forbidden_output(*input.contract, said)) {
    forbidden->evidence.step = newest;
    findings.list.push_back(std::move(*forbidden));
  }
}

}  // namespace

bool judges_result(const AgentContract& contract) noexcept {
  return !contract.output_schema.empty() || forbids_texts(contract);
}

bool judges_return(const AgentContract& contract) noexcept {
  return judges_result(contract) || !contract.subgoals.empty();
}

std::vector<std::string> open_subgoals(const AgentContract& contract,
                                       const Trajectory& trajectory) {
  if (contract.subgoals.empty()) return {};
  std::set<std::string, std::less<>> done;
  for (const Step& step : trajectory) note_completed(step, done);
  std::vector<std::string> open;
  std::copy_if(contract.subgoals.begin(), contract.subgoals.end(), std::back_inserter(open),
               [&](const std::string& subgoal) { return !done.contains(subgoal); });
  return open;
}

Finding mismatch(std::string_view what, std::string_view reason, const SchemaBreach& breach,
                 const std::string& tool) {
  Evidence evidence{.source = "contract",
                    .suggests = FailureType::schema_mismatch,
                    .detail = std::string(what) + " breaks its schema " +
                              (breach.path.empty() ? "(" : "") + describe(breach) +
                              (breach.path.empty() ? ")" : ""),
                    .confidence = 1.0};
  if (!tool.empty()) evidence.facts.emplace_back("tool", printable(tool.substr(0, longest_name)));
  evidence.facts.emplace_back("path", breach.path);
  evidence.facts.emplace_back("expected", breach.expected);
  evidence.facts.emplace_back("found", breach.found);
  evidence.facts.emplace_back("schema_path", breach.schema_path);
  return {.kind = FindingKind::contract, .reason = reason, .evidence = std::move(evidence)};
}

void check_return(const ClassifierInput& input, Findings& findings) {
  if (input.result == nullptr) return;
  check_subgoals(input, findings);
  check_shape(input, findings);
  check_result_texts(input, findings);
}

std::optional<Classification> broken_return(const ClassifierInput& input) {
  Findings findings;
  check_return(input, findings);
  check_last_output(input, findings);
  if (findings.list.empty()) return std::nullopt;
  Classification found{.type = findings.list.front().evidence.suggests,
                       .reason = std::string(findings.list.front().reason),
                       .confidence = 1.0};
  for (Finding& finding : findings.list) found.evidence.push_back(std::move(finding.evidence));
  for (Evidence& note : findings.notes) found.evidence.push_back(std::move(note));
  return found;
}

}  // namespace triage::inline v0_1::detail
