// SPDX-License-Identifier: MIT
#pragma once
// Walks back from a position to the newest record that sets the full state.

#include "sqlite_store.hpp"
#include "triage/checkpoint_store.hpp"

#include <optional>
#include <vector>

namespace triage::inline v0_1::detail {

// A larger body is damage and is not read at all.
inline constexpr const char* record_columns =
    "SELECT seq, epoch, kind, time, crc, CASE WHEN length(body) <= 268435456 THEN body END "
    "FROM records ";
static_assert(largest_record_body == 268435456);

struct FoundRecord {
  RecordKind kind{};
  Sequence seq = 0;
  Json body{};              // An object; empty for a step or if left out.
  bool sets_state = false;  // For a body left out: it contains the full state.
};

// From a row of `record_columns`. Empty if the record is damaged. with_state: false leaves out the
// bodies that may be large, of the run's start and of whole states.
[[nodiscard]] std::optional<FoundRecord> verified_record(SQLite::Statement& row, const RunId& run,
                                                         bool with_state = true);

struct StateWalk {
  std::vector<FoundRecord> changes{};  // Of the state, newest first; the last one sets all of it.
  // The ranges that were walked: several if the run returned to an earlier position.
  std::vector<SequenceRange> parts{};

  [[nodiscard]] Sequence base() const noexcept { return changes.back().seq; }
};

// Empty if the base is in doubt, or a full fold is as fast. with_state: false only finds the base
// and does not read the changes after it.
[[nodiscard]] std::optional<StateWalk> walk_back(SQLite::Database& database, std::int64_t run,
                                                 const RunId& id, Sequence from,
                                                 bool with_state = true);

// The sequence before which state changes are irrelevant, for the newest position and for every
// position after that sequence; 0 if nothing can be left out.
[[nodiscard]] Sequence find_state_from(SQLite::Database& database, std::int64_t run,
                                       const RunId& id, Sequence last);

}  // namespace triage::inline v0_1::detail
