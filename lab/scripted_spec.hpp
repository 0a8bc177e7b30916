// SPDX-License-Identifier: MIT
#pragma once
// The scripted agent of an experiment, and what goes wrong with it: as values, read from a file.

#include "triage/budget.hpp"
#include "triage/lab/experiment_file.hpp"
#include "triage/lab/fault_mix.hpp"
#include "triage/limits.hpp"
#include "triage/policies/document.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// How likely the next attempt is past a trouble, by what it was told.
struct HintOdds {
  double right_hint = 0.9;  // Told the failure's real type, with a hint.
  double wrong_hint = 0.1;  // Told a hint for another type.
  double no_hint = 0.1;
};

// Something that stays wrong until an attempt gets past it.
struct Trouble {
  std::vector<FailureType> types{};    // One of them, evenly.
  double share = 1.0;                  // Of the runs.
  std::uint64_t step = 0;              // Where; 0: anywhere, evenly.
  std::uint64_t noticed_after = 0;     // So many steps later; until then the state is wrong.
  std::uint64_t repeats = 0;           // The agent makes the step so often before it gives up.
  Duration from{0};                    // Of an outage: it fails every step while it lasts.
  std::optional<Duration> lasts{};     // An outage ends by itself.
  std::optional<HintOdds> recovers{};  // Instead of the agent's.
};

// The faults of one condition: those of lab::Chaos, which have no memory, and troubles.
struct ScriptedFaults {
  FaultMix chaos{};
  std::vector<Trouble> troubles{};
};

enum class EffectStyle : std::uint8_t { none, bare, wrapped, reconciled };

struct ScriptedAgent {
  std::uint64_t steps = 10;
  Duration step_time = std::chrono::seconds(1);
  std::uint64_t input_tokens = 1000;  // Of each step.
  std::uint64_t output_tokens = 100;
  double input_price = 0.0;  // US dollars per million tokens.
  double output_price = 0.0;
  std::vector<std::string> tools{};  // Of its contract; empty: none is promised.
  HintOdds recovers{};
  std::uint64_t jobs = 1;  // Runs of a trial; they share gates, and faults in time.
  Duration every{0};       // Time between their starts.
  EffectStyle effect = EffectStyle::none;
  std::uint64_t effect_step = 1;
  Duration restart_after = std::chrono::seconds(1);  // After a kill.
};

// The last two are real ones.
enum class StoreKind : std::uint8_t { none, deferred, immediate, sqlite, file };
[[nodiscard]] std::string_view to_string(StoreKind kind) noexcept;

struct ScriptedPolicy {
  FailurePolicy policy{};
  Json document{};  // Null for a baseline; gates and budgets are made anew for each trial.
};

// All that one condition is made of.
struct ScriptedSetup {
  ScriptedAgent agent{};
  ScriptedPolicy policy{};
  ScriptedFaults faults{};
  Limits limits{};
  StoreKind store = StoreKind::deferred;
  MakeStore make_store{};  // Of the real kinds.
  bool real_time = false;  // Is a figure.
};

// path: of the value in the file, such as "agent". Errors: Errc::invalid_argument, with path, value
// and what is allowed.
[[nodiscard]] Result<ScriptedAgent> agent_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<ScriptedFaults> faults_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<Limits> budget_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<StoreKind> store_from_json(const Json& json, const std::string& path);

// The policies that every experiment knows by name; none if this is no such name.
[[nodiscard]] std::optional<FailurePolicy> baseline(std::string_view name);
[[nodiscard]] const std::vector<std::string>& baseline_names();

}  // namespace triage::inline v0_1::lab::detail
