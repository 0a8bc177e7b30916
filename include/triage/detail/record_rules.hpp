// SPDX-License-Identifier: MIT
#pragma once
// How each kind of record affects the checkpoints and the state of its run: one table for folding
// journals, and for stores that look up a state without a full fold.

#include "triage/record.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace triage::inline v0_1::detail {

// What a record does to the open checkpoint.
enum class OnCheckpoint : std::uint8_t {
  none,
  joins,   // Belongs to it; opens one if none is open.
  begins,  // Ends it and opens the next one.
  ends,
};

// What it implies for the state at later records.
enum class OnState : std::uint8_t {
  none,
  begins,    // The state was empty here.
  changes,   // Some keys were set or removed.
  replaces,  // It contains the full state.
  may_end,   // The state was emptied if the action was to start over.
  returns,   // The state returned to that of an earlier position.
  unclear,   // Missing records may have changed the state: only a full fold tells.
};

struct RecordRule {
  RecordKind kind{};
  OnCheckpoint checkpoint = OnCheckpoint::none;
  OnState state = OnState::none;
};

// In numerical order, from 1. A state_snapshot that only repeats the state (not `replaced`) joins a
// checkpoint but opens none.
inline constexpr std::array<RecordRule, 25> record_rules{{
    {RecordKind::run_started, OnCheckpoint::none, OnState::begins},
    {RecordKind::attempt_started, OnCheckpoint::ends, OnState::none},
    {RecordKind::step, OnCheckpoint::begins, OnState::none},
    {RecordKind::state_changed, OnCheckpoint::joins, OnState::changes},
    {RecordKind::state_removed, OnCheckpoint::joins, OnState::changes},
    {RecordKind::state_snapshot, OnCheckpoint::joins, OnState::replaces},
    {RecordKind::usage, OnCheckpoint::none, OnState::none},
    {RecordKind::checkpoint_labelled, OnCheckpoint::joins, OnState::none},
    {RecordKind::effect_intended, OnCheckpoint::none, OnState::none},
    {RecordKind::effect_completed, OnCheckpoint::none, OnState::none},
    {RecordKind::effect_withdrawn, OnCheckpoint::none, OnState::none},
    {RecordKind::failure_classified, OnCheckpoint::ends, OnState::none},
    {RecordKind::action_taken, OnCheckpoint::ends, OnState::may_end},
    {RecordKind::rolled_back, OnCheckpoint::ends, OnState::returns},
    {RecordKind::suspended, OnCheckpoint::ends, OnState::none},
    {RecordKind::resumed, OnCheckpoint::ends, OnState::returns},
    {RecordKind::forked, OnCheckpoint::none, OnState::none},
    {RecordKind::gap, OnCheckpoint::joins, OnState::unclear},
    {RecordKind::finished, OnCheckpoint::ends, OnState::none},
    {RecordKind::stopped, OnCheckpoint::ends, OnState::none},
    {RecordKind::compensation_intended, OnCheckpoint::none, OnState::none},
    {RecordKind::compensation_completed, OnCheckpoint::none, OnState::none},
    {RecordKind::compensation_withdrawn, OnCheckpoint::none, OnState::none},
    {RecordKind::signal_received, OnCheckpoint::none, OnState::none},
    {RecordKind::sleep_begun, OnCheckpoint::none, OnState::none},
}};

// An unknown kind has no effect.
[[nodiscard]] constexpr RecordRule rule_of(RecordKind kind) noexcept {
  const auto number = static_cast<std::size_t>(kind);
  return number >= 1 && number <= record_rules.size() ? record_rules[number - 1]
                                                      : RecordRule{.kind = kind};
}

static_assert([] {
  for (std::size_t i = 0; i < record_rules.size(); ++i) {
    if (static_cast<std::size_t>(record_rules[i].kind) != i + 1) return false;
  }
  return true;
}());

}  // namespace triage::inline v0_1::detail
