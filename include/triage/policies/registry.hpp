// SPDX-License-Identifier: MIT
#pragma once
// Policies as data: a registry of strategy names, and the reader of policy documents.
//
// A document is an object whose keys are failure type names and "default". Each value is a
// strategy: its name ("replan"), or an object {"strategy": NAME, ARGUMENT: VALUE, …}. Durations are
// texts ("500ms", "1m30s") or numbers of seconds. docs/policies.md lists every argument.

#include "triage/policies/arguments.hpp"
#include "triage/policy.hpp"
#include "triage/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

class StrategyRegistry;

// Makes a strategy from its arguments: an object without the "strategy" key, empty if the document
// gave only a name. The registry is for strategies that contain others. Errors should be
// Errc::invalid_argument; lines of the detail that start with "." and an argument's name (as those
// of Arguments do) are appended to the strategy's path.
using StrategyFactory =
    std::function<Result<Strategy>(const nlohmann::json& arguments, const StrategyRegistry&)>;

// Factories by strategy name. A value; built at program start.
class StrategyRegistry {
 public:
  // Replaces an earlier factory of this name.
  StrategyRegistry& add(std::string name, StrategyFactory factory);
  // Null if unknown.
  [[nodiscard]] const StrategyFactory* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;  // Ascending.

 private:
  std::map<std::string, StrategyFactory, std::less<>> factories_{};
};

// All strategies of the library, named after the functions that make them.
[[nodiscard]] StrategyRegistry built_in_strategies();

// Errors of the functions below: Errc::invalid_argument, naming the path of the key
// ("external_fault.max_attempts"), its value and what is allowed; one line per problem, 50 at most.

[[nodiscard]] Result<FailurePolicy> policy_from_json(const nlohmann::json& document,
                                                     const StrategyRegistry& registry);
// Parses a document. Refuses duplicate keys, of which a plain JSON parser silently keeps the last.
[[nodiscard]] Result<FailurePolicy> policy_from_text(std::string_view text,
                                                     const StrategyRegistry& registry);
// Parses JSON; refuses duplicate keys and depth beyond max_json_depth.
[[nodiscard]] Result<nlohmann::json> json_from_text(std::string_view text);
// One strategy, as a name or an object. `path` is the prefix in errors; factories of strategies
// that contain others pass a path that starts with a dot.
[[nodiscard]] Result<Strategy> strategy_from_json(const nlohmann::json& value,
                                                  const StrategyRegistry& registry,
                                                  std::string_view path);

}  // namespace triage::inline v0_1
