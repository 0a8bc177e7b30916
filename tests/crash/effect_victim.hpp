// SPDX-License-Identifier: MIT
#pragma once
// The process that is killed around an effect: two effects, a rollback that undoes the second, and
// its second generation.

#include "triage/record.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace triage::test {

// Where the process dies: when a record of the second effect reaches the store, or at the named
// place in its functions.
struct KillPoint {
  std::string_view name{};
  bool doubt = false;  // An intent is durable and its end is not: the outcome is unknown.
  std::optional<RecordKind> record{};
  bool stored = false;           // The record is in the store when the process dies.
  std::uint64_t generation = 1;  // Of the record.
  bool loses_answer = false;     // The effect's answer gets lost, and it is reconciled.
};

inline constexpr std::array kill_points{
    KillPoint{.name = "before the effect"},
    KillPoint{.name = "intent not stored", .record = RecordKind::effect_intended},
    KillPoint{.name = "intent stored",
              .doubt = true,
              .record = RecordKind::effect_intended,
              .stored = true},
    KillPoint{.name = "function entered", .doubt = true},
    KillPoint{.name = "sent", .doubt = true},
    KillPoint{.name = "result not stored", .doubt = true, .record = RecordKind::effect_completed},
    KillPoint{.name = "result stored", .record = RecordKind::effect_completed, .stored = true},
    KillPoint{.name = "effect returned"},
    KillPoint{.name = "state updated"},
    KillPoint{.name = "undoing not stored", .record = RecordKind::compensation_intended},
    KillPoint{.name = "undoing stored",
              .doubt = true,
              .record = RecordKind::compensation_intended,
              .stored = true},
    KillPoint{.name = "undoing entered", .doubt = true},
    KillPoint{.name = "undone", .doubt = true},
    KillPoint{
        .name = "undone, not stored", .doubt = true, .record = RecordKind::compensation_completed},
    KillPoint{
        .name = "undone, stored", .record = RecordKind::compensation_completed, .stored = true},
    KillPoint{.name = "second attempt"},
    KillPoint{.name = "sent again", .doubt = true},
    KillPoint{.name = "result again not stored",
              .doubt = true,
              .record = RecordKind::effect_completed,
              .generation = 2},
    KillPoint{.name = "result again stored",
              .record = RecordKind::effect_completed,
              .stored = true,
              .generation = 2},
    KillPoint{.name = "reconcile asked", .doubt = true, .loses_answer = true},
    KillPoint{.name = "reconciled, not stored",
              .doubt = true,
              .record = RecordKind::effect_completed,
              .loses_answer = true},
    KillPoint{.name = "reconciled, stored",
              .record = RecordKind::effect_completed,
              .stored = true,
              .loses_answer = true},
};

struct EffectVictim {
  std::string database{};
  std::string side_log{};  // What the outside world saw and was promised, line by line.
  const KillPoint* dies_at = nullptr;
  bool reconciles = false;
  int steps = 0;  // Recorded before each effect.
  int mode = 0;   // A WriteMode.
};

inline constexpr int exit_finished = 0;
inline constexpr int exit_in_doubt = 10;

// Runs or resumes the run "r". Returns an exit status.
int run_effect_victim(const EffectVictim& victim);

}  // namespace triage::test
