// SPDX-License-Identifier: MIT
#include "triage/testing/pipeline.hpp"

#include "triage/detail/counted.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/json.hpp"

#include "duration_text.hpp"

#include <initializer_list>
#include <sstream>
#include <utility>

namespace triage::inline v0_1::testing {
namespace {

using triage::detail::counted;

std::string limits_text(const Limits& limits) {
  std::string text = counted(limits.max_attempts, "attempt") + ", " +
                     std::to_string(limits.max_attempts_per_type) + " of a type";
  if (limits.max_elapsed > Duration::zero()) text += ", " + seconds(limits.max_elapsed);
  if (limits.max_tokens > 0) text += ", " + counted(limits.max_tokens, "token");
  if (limits.max_cost_usd > 0) text += ", " + show(Json(limits.max_cost_usd)) + " USD";
  if (limits.max_wait > Duration::zero()) {
    text += "; longer waits than " + seconds(limits.max_wait) + " suspend";
  }
  return text;
}

std::string store_text(const AgentOptions& options) {
  if (!options.store) return "none: nothing outlives the run";
  constexpr const char* modes[] = {"background", "immediate", "deferred"};
  return "durability " + std::string(to_string(options.store->capabilities().durability)) +
         ", written " + modes[static_cast<std::size_t>(options.write_mode)];
}

// The names of the parts that are present.
std::string list_of(std::initializer_list<std::pair<bool, std::string>> parts) {
  std::string text;
  for (const auto& [there, name] : parts) {
    if (there) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string hooks_text(const Hooks& hooks) {
  return list_of({{static_cast<bool>(hooks.on_failure), "on_failure"},
                  {static_cast<bool>(hooks.on_recovery), "on_recovery"},
                  {static_cast<bool>(hooks.on_escalate), "on_escalate"}});
}

std::string contract_text(const AgentContract& contract) {
  const auto count = [](std::size_t number, const char* what) {
    return std::pair{number > 0, std::to_string(number) + " " + what};
  };
  return list_of(
      {count(contract.tools.size(), "tools"),
       count(contract.constraints.size() + contract.forbidden_patterns.size(), "forbidden texts"),
       count(contract.subgoals.size(), "subgoals"),
       count(contract.context_limit, "tokens of context"),
       {!contract.output_schema.empty(), "a schema of the result"}});
}

}  // namespace

std::string describe_pipeline(const FailurePolicy& policy, const AgentOptions& options) {
  std::string text = "agent " + options.name + ", version " + options.version + "\n";
  const auto line = [&](const std::string& what, const std::string& how) {
    if (!how.empty()) text += "  " + what + ": " + how + "\n";
  };
  std::string gates;
  for (const auto& gate : options.gates) {
    gates += (gates.empty() ? "" : " -> ") + std::string(gate ? gate->name() : "(none)");
  }
  line("before each attempt", gates);
  line("before each step", options.guard ? "a guard" : "");
  line("contract", contract_text(options.contract));
  line("budget", options.budget ? "a given one" : "");
  if (options.attempt_timeout > Duration::zero()) {
    line("an attempt", "at most " + seconds(options.attempt_timeout));
  }
  line("store", store_text(options));
  line("classifier", options.classifier ? "a given one" : "evidence");
  line("hooks", hooks_text(options.hooks));
  line("limits", limits_text(options.limits));
  line("steps that are not idempotent", options.strict_idempotency ? "are not run again" : "");
  text += "  on a failure:\n";
  std::istringstream strategies(policy.describe());
  for (std::string one; std::getline(strategies, one);) text += "    " + one + "\n";
  const auto wrong = [&](const Result<void>& checked) {
    if (checked || text.find(checked.error().detail) != std::string::npos) return;
    text += "  wrong: " + checked.error().detail + "\n";
  };
  wrong(check_policy(policy));
  wrong(triage::detail::check_options(options));
  wrong(check_limits(options.limits));
  wrong(check_contract(options.contract));
  for (const std::string& one : unreachable_settings(policy, options.limits)) {
    text += "  without effect: " + one + "\n";
  }
  return text;
}

}  // namespace triage::inline v0_1::testing
