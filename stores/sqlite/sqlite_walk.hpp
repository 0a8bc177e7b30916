// SPDX-License-Identifier: MIT
#pragma once
// Walking back from a position to the newest record that sets all of its state.

#include "sqlite_store.hpp"
#include "triage/checkpoint_store.hpp"

#include <optional>
#include <vector>

namespace triage::inline v0_1::detail {

// A larger body is damage, and is not even looked at.
inline constexpr const char* record_columns =
    "SELECT seq, epoch, kind, time, crc, CASE WHEN length(body) <= 268435456 THEN body END "
    "FROM records ";
static_assert(largest_record_body == 268435456);

struct FoundRecord {
  RecordKind kind{};
  Sequence seq = 0;
  Json body{};              // An object; empty for a step, and if it was left out.
  bool sets_state = false;  // Of a body that was left out: it has the whole state.
};

// From a row of `record_columns`. Empty if the record is damaged. with_state: false leaves out the
// bodies that may be large, of the run's start and of whole states.
[[nodiscard]] std::optional<FoundRecord> verified_record(SQLite::Statement& row, const RunId& run,
                                                         bool with_state = true);

struct StateWalk {
  std::vector<FoundRecord> changes{};  // Of the state, newest first; the last one sets all of it.
  // The stretches of the journal that were walked: more than one if the run went on elsewhere.
  std::vector<SequenceRange> parts{};

  [[nodiscard]] Sequence base() const noexcept { return changes.back().seq; }
};

// Empty if it is in doubt what the state begins with, or the whole fold is no worse. with_state:
// false only finds the base; the changes behind it are not read.
[[nodiscard]] std::optional<StateWalk> walk_back(SQLite::Database& database, std::int64_t run,
                                                 const RunId& id, Sequence from,
                                                 bool with_state = true);

// The sequence before which state changes are of no consequence, for the newest position and for
// every one behind that sequence; 0 if nothing can be left out.
[[nodiscard]] Sequence find_state_from(SQLite::Database& database, std::int64_t run,
                                       const RunId& id, Sequence last);

}  // namespace triage::inline v0_1::detail
