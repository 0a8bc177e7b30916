// SPDX-License-Identifier: MIT
// Removes a run's keys from the library's own spaces, in the same transaction.
#include "triage/stores/sqlite.hpp"

#include "sqlite_store.hpp"

namespace triage::inline v0_1::detail {

void SqliteJournals::forget_keys(const RunRow& row) {
  SQLite::Database& database = database_->handle();
  const auto remove = [&](OwnSpace space, const std::string& key, const char* condition,
                          const std::string& value) {
    SQLite::Statement statement(
        database, std::string("DELETE FROM key_values WHERE space = ?1 AND ") + condition);
    bind_bytes(statement, 1, own_space(space));
    bind_bytes(statement, 2, key);
    bind_bytes(statement, 3, value);
    database_->run(statement);
  };
  // Partial index records_of_state: kind <> 3.
  SQLite::Statement suspensions(
      database, "SELECT body FROM records WHERE run = ?1 AND kind <> 3 AND kind = 15");
  suspensions.bind(1, row.run);
  while (suspensions.executeStep()) {
    const auto body = suspensions.getColumn(0);
    const Record record(
        1, RecordKind::suspended, WallTime(),
        Record::Bytes(std::make_shared<const std::string>(
            static_cast<const char*>(body.getBlob()), static_cast<std::size_t>(body.getBytes()))));
    const std::string ticket = ticket_of(record);
    if (!ticket.empty()) remove(OwnSpace::suspensions, ticket, "key = ?2 AND ?3 = ?3", {});
  }
  const RunKeys keys = keys_of(row.info);
  std::string behind = keys.signals;  // The first key without this prefix.
  ++behind.back();
  remove(OwnSpace::signals, keys.signals, "key >= ?2 AND key < ?3", behind);
  if (!keys.label.empty()) {
    remove(OwnSpace::forks, keys.label, "key = ?2 AND bytes = ?3", row.info.id);
  }
}

}  // namespace triage::inline v0_1::detail
