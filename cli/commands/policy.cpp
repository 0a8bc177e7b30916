// SPDX-License-Identifier: MIT
// triage policy check, triage policy show: what a policy document says, and its problems.

#include "arguments/read_policy.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"
#include "triage/limits.hpp"
#include "triage/policies/document.hpp"
#include "triage/policies/duration.hpp"
#ifdef TRIAGE_HAS_YAML
#include "triage/policies/yaml.hpp"
#endif

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr int most_failures = 20;  // Shown per type.

struct PolicyArguments {
  std::string file{};
  std::vector<std::string> own{};
  Limits limits{};
  bool json = false;
};

void declare_policy(CLI::App& arguments, PolicyArguments& given) {
  arguments.add_option("FILE", given.file, "A policy document in JSON or YAML; -: standard input.")
      ->required();
  arguments.add_option("--allow", given.own,
                       "Names of strategies that your program adds to its registry.");
  arguments.add_option("--max-attempts", given.limits.max_attempts,
                       "At most so many attempts in all. Default: 20.");
  arguments.add_option("--max-attempts-per-type", given.limits.max_attempts_per_type,
                       "At most so many after failures of one type. Default: 10.");
  arguments.add_flag("--json", given.json, "Print one JSON document.");
}

std::string file_name(const PolicyArguments& given) {
  return given.file == "-" ? "standard input" : printable(given.file);
}

// A user's own strategies are unknown here, so their decisions are not.
StrategyRegistry registry_with(const std::vector<std::string>& own) {
  StrategyRegistry registry = built_in_strategies();
  for (const std::string& name : own) {
    registry.add(name, [name](const Json& arguments, const StrategyRegistry&) -> Result<Strategy> {
      return Strategy(name + show(arguments), [name](const FailureContext&) {
        return RecoveryAction::escalate("decided by your program's strategy " + name);
      });
    });
  }
  return registry;
}

Result<PolicyDocument> read_document(const PolicyArguments& given) {
  TRIAGE_TRY(text, read_text_file(given.file));
  const StrategyRegistry registry = registry_with(given.own);
#ifdef TRIAGE_HAS_YAML
  auto document = document_from_yaml(text, registry);
#else
  auto document = document_from_text(text, registry);
#endif
  return document;
}

// One entry per line of an error's detail; YAML documents include line numbers.
Json problems_json(const Error& error) {
  Json all = Json::array();
  std::istringstream lines(error.detail);
  for (std::string line; std::getline(lines, line);) {
    int number = 0;
    int read = 0;
    const bool numbered = std::sscanf(line.c_str(), "line %d: %n", &number, &read) == 1 && read > 0;
    all.push_back({{"line", numbered ? Json(number) : Json()},
                   {"problem", numbered ? line.substr(static_cast<std::size_t>(read)) : line}});
  }
  return all;
}

ExitStatus refuse(const PolicyArguments& given, const Error& error) {
  if (given.json) {
    print_json(Json{{"file", given.file}, {"right", false}, {"problems", problems_json(error)}});
    return exit_status(error.code);
  }
  std::istringstream lines(error.detail);
  std::string text;
  const std::string name = error.code == Errc::invalid_argument ? file_name(given) + ": " : "";
  for (std::string line; std::getline(lines, line);)
    text += (text.empty() ? "" : "\n") + name + line;
  return report({error.code, text});
}

// What is decided about consecutive failures of a type, one entry per failure, until the run would
// end or a limit is reached.
std::vector<std::string> decisions(const FailurePolicy& policy, FailureType type,
                                   const Limits& limits) {
  FailureContext context;
  context.classification.type = type;
  context.random = 0.5;
  std::vector<std::string> all;
  const int most = std::min({limits.max_attempts, limits.max_attempts_per_type, most_failures});
  for (int failure = 1; failure < most; ++failure) {
    context.attempt_number = failure;
    const RecoveryAction action = policy.decide(context);
    all.push_back(describe(action));
    const bool goes_on = action.kind == RecoveryAction::Kind::retry ||
                         action.kind == RecoveryAction::Kind::replan ||
                         action.kind == RecoveryAction::Kind::rollback ||
                         action.kind == RecoveryAction::Kind::resume;
    if (!goes_on) return all;
    context.history.push_back({.type = type, .action = action.kind});
  }
  all.emplace_back("escalate: the limits are reached");
  return all;
}

// "1", "2-4": merges equal consecutive decisions.
std::vector<std::pair<std::string, std::string>> joined(const std::vector<std::string>& all) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last + 1 < all.size() && all[last + 1] == all[first]) ++last;
    std::string which = std::to_string(first + 1);
    if (last != first) which += "-" + std::to_string(last + 1);
    rows.emplace_back(std::move(which), all[first]);
    first = last + 1;
  }
  return rows;
}

std::string strategy_of(const FailurePolicy& policy, FailureType type) {
  const Strategy* strategy = policy.resolve(type);
  return strategy == nullptr ? "(none)" : strategy->description();
}

void show_policy_table(const PolicyDocument& document, const Limits& limits) {
  Table table({"failure", "which", {"decision", Cut::wrap}});
  for (const FailureType type : all_failure_types) {
    std::string name(to_string(type));
    for (auto& [which, decision] : joined(decisions(document.policy, type, limits))) {
      table.add({std::exchange(name, ""), which, decision});
    }
  }
  print(table.text());
  for (const auto& gate : document.gates) print("gate: " + std::string(gate->name()) + "\n");
  if (document.budget) print("budget: yes\n");
  if (document.attempt_timeout > Duration::zero()) {
    print("attempt_timeout: " + format_duration(document.attempt_timeout) + "\n");
  }
  print("Waits with jitter are shown for the random number 0.5.\n");
}

void show_policy_json(const PolicyDocument& document, const Limits& limits) {
  Json types = Json::object();
  for (const FailureType type : all_failure_types) {
    types[std::string(to_string(type))] = {{"strategy", strategy_of(document.policy, type)},
                                           {"decisions", decisions(document.policy, type, limits)}};
  }
  Json gates = Json::array();
  for (const auto& gate : document.gates) gates.push_back(gate->name());
  print_json(
      Json{{"types", std::move(types)},
           {"gates", std::move(gates)},
           {"budget", document.budget != nullptr},
           {"attempt_timeout_s", std::chrono::duration<double>(document.attempt_timeout).count()},
           {"warnings", unreachable_settings(document.policy, limits)}});
}

}  // namespace

std::function<ExitStatus()> policy_check(CLI::App& arguments) {
  auto given = std::make_shared<PolicyArguments>();
  declare_policy(arguments, *given);
  arguments.footer("Example: triage policy check patient.yaml");
  return [given] {
    if (const auto limits = check_limits(given->limits); !limits) return report(limits.error());
    const auto document = read_document(*given);
    if (!document) return refuse(*given, document.error());
    const auto warnings = unreachable_settings(document.value().policy, given->limits);
    if (given->json) {
      print_json(Json{{"file", given->file},
                      {"right", true},
                      {"problems", Json::array()},
                      {"warnings", warnings}});
      return ExitStatus::done;
    }
    for (const std::string& warning : warnings) warn(warning);
    print(file_name(*given) + " is right" +
          (warnings.empty() ? "" : ", with " + counted(warnings.size(), "warning")) + ".\n");
    return ExitStatus::done;
  };
}

std::function<ExitStatus()> policy_show(CLI::App& arguments) {
  auto given = std::make_shared<PolicyArguments>();
  declare_policy(arguments, *given);
  arguments.footer("Example: triage policy show patient.yaml");
  return [given] {
    if (const auto limits = check_limits(given->limits); !limits) return report(limits.error());
    const auto document = read_document(*given);
    if (!document) return refuse(*given, document.error());
    if (given->json) {
      show_policy_json(document.value(), given->limits);
    } else {
      show_policy_table(document.value(), given->limits);
    }
    return ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
