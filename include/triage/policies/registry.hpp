// SPDX-License-Identifier: MIT
#pragma once
// Policies as data: a registry of strategy names, and the reader of policy documents.
//
// A document is an object whose keys are failure type names and "default". Each value names a
// strategy: as a text ("replan"), or as an object {"strategy": NAME, ARGUMENT: VALUE, …}. Durations
// are texts ("500ms", "1m30s") or numbers of seconds. docs/policies.md lists every argument.

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

// Makes a strategy from its arguments: an object, without its "strategy" key, empty if the document
// had only a name. The registry is for strategies that contain others. Errors should be
// Errc::invalid_argument; lines of its detail that begin with "." and an argument's name (as those
// of Arguments do) are put behind the path of the strategy.
using StrategyFactory =
    std::function<Result<Strategy>(const nlohmann::json& arguments, const StrategyRegistry&)>;

// Strategy names and what makes them. A value; made where the program is put together.
class StrategyRegistry {
 public:
  // Replaces what had this name.
  StrategyRegistry& add(std::string name, StrategyFactory factory);
  // Null if there is none.
  [[nodiscard]] const StrategyFactory* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;  // Ascending.

 private:
  std::map<std::string, StrategyFactory, std::less<>> factories_{};
};

// All strategies of the library, under the names of the functions that make them.
[[nodiscard]] StrategyRegistry built_in_strategies();

// Errors of those below: Errc::invalid_argument, naming the path of the key
// ("external_fault.max_attempts"), its value and what is allowed. One line for each thing that is
// wrong, 50 at most.

[[nodiscard]] Result<FailurePolicy> policy_from_json(const nlohmann::json& document,
                                                     const StrategyRegistry& registry);
// From the text of a document. JSON keeps the last of two equal keys without a word; this refuses
// them.
[[nodiscard]] Result<FailurePolicy> policy_from_text(std::string_view text,
                                                     const StrategyRegistry& registry);
// The JSON value in a text; refuses keys that appear twice and depth beyond max_json_depth.
[[nodiscard]] Result<nlohmann::json> json_from_text(std::string_view text);
// One strategy, as a name or an object; `path` comes first in errors. For factories of strategies
// that contain others: with a path that begins with a dot.
[[nodiscard]] Result<Strategy> strategy_from_json(const nlohmann::json& value,
                                                  const StrategyRegistry& registry,
                                                  std::string_view path);

}  // namespace triage::inline v0_1
