// SPDX-License-Identifier: MIT
#pragma once
// A stored run against another policy: where would its decisions have differed?

#include "triage/checkpoint_store.hpp"
#include "triage/contract.hpp"
#include "triage/json.hpp"
#include "triage/limits.hpp"
#include "triage/policy.hpp"
#include "triage/usage.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::lab {

// What the other policy would have had; a journal does not keep it.
struct ReplayOptions {
  Limits limits{};
  AgentContract contract{};
};

// The names (to_string) are used in JSON and do not change.
enum class Comparison : std::uint8_t {
  same,
  other_wait,    // The same action, after a wait that the policy would not have chosen.
  other_words,   // The same action with another hint, message, subgoal or target.
  other_action,  // Both go on, or both end the run, in different ways.
  stops,         // The policy ends the run (or suspends it) where it went on.
  goes_on,       // The policy goes on where the run ended.
  not_asked,     // No policy decided: a guard, a deadline, or an effect that was in doubt.
  unknown,       // The journal does not say what was done: the process died, or records are lost.
};
[[nodiscard]] std::string_view to_string(Comparison comparison) noexcept;

// One failure of the run, and what was done about it.
struct ReplayedDecision {
  Sequence failed_at = 0;  // Its record.
  int attempt = 1;
  FailureType type = FailureType::unknown;
  std::string reason{};
  std::optional<RecoveryAction::Kind> was{};  // Empty: unknown.
  std::string was_text{};                     // For people.
  Duration waited{0};                         // What was chosen then.
  RecoveryAction now{};                       // For a random number of 0.5.
  Duration least_wait{0};                     // For the smallest random number …
  Duration most_wait{0};                      // … and the largest.
  Comparison comparison = Comparison::unknown;
};

struct PolicyReplay {
  RunId run{};
  std::vector<ReplayedDecision> decisions{};      // Oldest first.
  std::optional<std::size_t> first_difference{};  // Anything but same, not_asked and unknown.
  // The first failure at which the policy ends the run although it went on. Then the rest of the
  // run would not have happened:
  std::optional<std::size_t> stops_at{};
  int attempts_spared = 0;
  Usage spared{.calls = 0};  // As far as the agent recorded its usage.
  Duration wait_spared{0};   // Chosen waits, that of this failure included.
  bool result_lost = false;  // The run finished in the end; under the policy it would not have.
  // Chosen waits in all before that, where both go on: then, and now at least and at most.
  Duration waited{0};
  Duration least_wait{0};
  Duration most_wait{0};
};

// What a replay takes for granted, in sentences.
[[nodiscard]] const std::array<std::string_view, 5>& replay_assumptions() noexcept;

// Asks the policy about every failure of the run, with what was known of it then, under the limits
// that the run's own state machine applies. Pure: nothing is run, waited for or stored.
// reading: whole, as CheckpointStore::read gives it. Strategies may throw; that escalates.
// Errors: Errc::corrupt (the run's beginning is damaged), Errc::invalid_argument (the policy, the
// limits or the contract have a problem).
[[nodiscard]] Result<PolicyReplay> replay_policy(const JournalReading& reading,
                                                 const FailurePolicy& policy,
                                                 const ReplayOptions& options = {});

// For people: a line for each decision, what would have been saved, and what is assumed.
[[nodiscard]] std::string describe(const PolicyReplay& replay);
[[nodiscard]] Json to_json(const PolicyReplay& replay);

}  // namespace triage::inline v0_1::lab
