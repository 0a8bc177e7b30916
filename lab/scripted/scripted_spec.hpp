// SPDX-License-Identifier: MIT
#pragma once
// The scripted agent of an experiment and its troubles, as values read from a file.

#include "triage/budget.hpp"
#include "triage/lab/experiment_file.hpp"
#include "triage/lab/fault_mix.hpp"
#include "triage/limits.hpp"
#include "triage/policies/document.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// The probability that the next attempt overcomes a trouble, depending on its hint.
struct HintOdds {
  double right_hint = 0.9;  // The hint is for the failure's real type.
  double wrong_hint = 0.1;  // The hint is for another type.
  double no_hint = 0.1;
};

// A fault that persists until an attempt overcomes it.
struct Trouble {
  std::vector<FailureType> types{};    // One of them, uniformly.
  double share = 1.0;                  // Of the runs.
  std::uint64_t step = 0;              // Its step; 0: any, uniformly.
  std::uint64_t noticed_after = 0;     // Steps until it is noticed; until then the state is wrong.
  std::uint64_t repeats = 0;           // How often the agent repeats the step before giving up.
  Duration from{0};                    // Of an outage, which fails every step while it lasts.
  std::optional<Duration> lasts{};     // How long an outage lasts.
  std::optional<HintOdds> recovers{};  // Replaces the agent's.
};

// The faults of a condition: memoryless ones from lab::Chaos, and troubles.
struct ScriptedFaults {
  FaultMix chaos{};
  std::vector<Trouble> troubles{};
  std::vector<std::string> rule_paths{};  // In the file, of the rules of `chaos`.
  std::vector<std::string> trouble_paths{};
};

enum class EffectStyle : std::uint8_t { none, bare, wrapped, reconciled };

struct ScriptedAgent {
  std::uint64_t steps = 10;
  Duration step_time = std::chrono::seconds(1);
  std::uint64_t input_tokens = 1000;  // Per step.
  std::uint64_t output_tokens = 100;
  double input_price = 0.0;  // US dollars per million tokens.
  double output_price = 0.0;
  std::vector<std::string> tools{};  // In its contract; empty: no contract.
  HintOdds recovers{};
  std::uint64_t jobs = 1;  // Runs per trial; they share gates and simultaneous faults.
  Duration every{0};       // Between their starts.
  EffectStyle effect = EffectStyle::none;
  std::uint64_t effect_step = 1;
  Duration restart_after = std::chrono::seconds(1);  // After a process is killed.
};

// The last two are real stores.
enum class StoreKind : std::uint8_t { none, deferred, immediate, sqlite, file };
[[nodiscard]] std::string_view to_string(StoreKind kind) noexcept;

struct ScriptedPolicy {
  FailurePolicy policy{};
  Json document{};  // Null for a baseline; each trial has its own gates and budgets.
};

// Everything that defines a condition.
struct ScriptedSetup {
  ScriptedAgent agent{};
  ScriptedPolicy policy{};
  ScriptedFaults faults{};
  Limits limits{};
  StoreKind store = StoreKind::deferred;
  MakeStore make_store{};  // For the real kinds.
  bool real_time = false;  // Is measured.
};

// path: of the value in the file, such as "agent". Errors: Errc::invalid_argument, with path, value
// and what is allowed.
[[nodiscard]] Result<ScriptedAgent> agent_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<ScriptedFaults> faults_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<Limits> budget_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<StoreKind> store_from_json(const Json& json, const std::string& path);

// For each fault's path, why it can never happen in this condition; empty if it can.
[[nodiscard]] std::map<std::string, std::string> why_never(const ScriptedSetup& setup);

// A policy that all experiments know by name; empty for other names.
[[nodiscard]] std::optional<FailurePolicy> baseline(std::string_view name);
[[nodiscard]] const std::vector<std::string>& baseline_names();

}  // namespace triage::inline v0_1::lab::detail
