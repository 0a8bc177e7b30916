// SPDX-License-Identifier: MIT
// Erasing runs from the SQLite store.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {

Result<void> SqliteJournals::erase(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  return guarded_write("erasing run \"" + run + "\"", [&]() -> Result<void> {
    database_->begin_write();
    TRIAGE_TRY(row, find_run(run));
    if (!row) return no_such_run(run);
    if (owned(*row)) {
      return database_->error(Errc::busy,
                              "run \"" + run + "\" is under way, so it cannot be erased");
    }
    for (SQLite::Statement* statement : {&statements_->erase_records, &statements_->erase_run}) {
      statement->bind(1, row->run);
      database_->run(*statement);
    }
    database_->commit();
    held_.erase(row->run);
    database_->fold_if_large();
    return outcome::success();
  });
}

}  // namespace triage::inline v0_1::detail
