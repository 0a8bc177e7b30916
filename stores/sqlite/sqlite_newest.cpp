// SPDX-License-Identifier: MIT
// Reads what is needed to continue a run: the state from its newest snapshot on, facts and steps
// from the start.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "sqlite_walk.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {
namespace {

// Damage and holes are left to the fold of all records.
bool is_whole(const JournalReading& reading) {
  Sequence found = reading.records.size();
  for (const SupersededChanges& some : reading.superseded) found += some.last - some.first + 1;
  return reading.damaged.empty() && found == reading.info.last;
}

}  // namespace

Result<JournalReading> SqliteJournals::read_newest(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  return guarded("reading run \"" + run + "\"", [&]() -> Result<JournalReading> {
    database_->begin_read();
    TRIAGE_TRY(row, find_run(run));
    if (!row) return no_such_run(run);
    RunInfo info = row->info;
    info.owned = owned(*row);
    JournalReading reading{.info = info};
    reading.state_from = find_state_from(database_->handle(), row->run, run, info.last);
    bool whole = scan(*row, {}, reading);
    if (whole) find_unlisted(*row, {}, reading);
    whole = whole && is_whole(reading);
    if (!whole) {
      reading = {.info = std::move(info)};
      if (!scan(*row, {}, reading)) salvage(*row, {}, reading);
      find_unlisted(*row, {}, reading);
    }
    database_->commit();
    return outcome::success(std::move(reading));
  });
}

}  // namespace triage::inline v0_1::detail
