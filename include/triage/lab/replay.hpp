// SPDX-License-Identifier: MIT
#pragma once
// How would another policy have decided in a stored run?

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

// Settings for the other policy that a journal does not contain.
struct ReplayOptions {
  Limits limits{};
  AgentContract contract{};
};

// The names (to_string) are used in JSON and do not change.
enum class Comparison : std::uint8_t {
  same,
  other_wait,    // The same action, after a wait that the policy would not have chosen.
  other_words,   // The same action with another hint, message, subgoal or target.
  other_action,  // Both continue, or both end the run, in different ways.
  stops,         // The policy ends or suspends the run where it continued.
  goes_on,       // The policy continues where the run ended.
  not_asked,     // No policy decided: a guard, a deadline, or an effect that was in doubt.
  unknown,       // Not recorded: the process died, or records are lost.
};
[[nodiscard]] std::string_view to_string(Comparison comparison) noexcept;

// One failure of the run, and how it was handled.
struct ReplayedDecision {
  Sequence failed_at = 0;  // Its record.
  int attempt = 1;
  FailureType type = FailureType::unknown;
  std::string reason{};
  std::optional<RecoveryAction::Kind> was{};  // Empty: unknown.
  std::string was_text{};                     // For display.
  Duration waited{0};                         // The wait chosen then.
  RecoveryAction now{};                       // For a random number of 0.5.
  Duration least_wait{0};                     // For the smallest random number …
  Duration most_wait{0};                      // … and the largest.
  Comparison comparison = Comparison::unknown;
};

struct PolicyReplay {
  RunId run{};
  std::vector<ReplayedDecision> decisions{};      // Oldest first.
  std::optional<std::size_t> first_difference{};  // Ignores same, not_asked and unknown.
  // The first failure at which the policy ends the run although it continued. Then the rest of the
  // run would not have happened:
  std::optional<std::size_t> stops_at{};
  int attempts_spared = 0;
  Usage spared{.calls = 0};  // As far as the agent recorded its usage.
  Duration wait_spared{0};   // Chosen waits, including this failure's.
  bool result_lost = false;  // The run finished; under the policy it would not.
  // Total chosen waits before that where both continue: then, and now at least and at most.
  Duration waited{0};
  Duration least_wait{0};
  Duration most_wait{0};
};

// A replay's assumptions, as sentences.
[[nodiscard]] const std::array<std::string_view, 5>& replay_assumptions() noexcept;

// Asks the policy about every failure of the run, given what was known then, under the limits that
// the run's state machine applies. Pure: runs, waits for and stores nothing. reading: complete, as
// from CheckpointStore::read. A strategy that throws escalates. Errors: Errc::corrupt (the run's
// beginning is damaged), Errc::invalid_argument (the policy, the limits or the contract have a
// problem).
[[nodiscard]] Result<PolicyReplay> replay_policy(const JournalReading& reading,
                                                 const FailurePolicy& policy,
                                                 const ReplayOptions& options = {});

// As text: a line per decision, what would have been saved, and the assumptions.
[[nodiscard]] std::string describe(const PolicyReplay& replay);
[[nodiscard]] Json to_json(const PolicyReplay& replay);

}  // namespace triage::inline v0_1::lab
