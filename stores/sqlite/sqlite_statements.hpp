// SPDX-License-Identifier: MIT
#pragma once
// The SQL of the SQLite store, prepared once.

#include "sqlite_checksums.hpp"
#include "sqlite_store.hpp"

#include <string>

namespace triage::inline v0_1::detail {

struct SqliteJournals::Statements {
  // A read-only file may have an older format.
  Statements(SQLite::Database& database, bool can_write, bool with_checksums)
      : db(database), writable(can_write), checksums(with_checksums) {}

  [[nodiscard]] std::string writing(const std::string& sql) const {
    return writable ? sql : "SELECT 1";
  }

  // The database's clock in milliseconds since 1970: the only one shared by all hosts.
  static std::string now() {
    return "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)";
  }
  [[nodiscard]] std::string run_columns() const {
    return "SELECT run, epoch, owner, " + now() + (checksums ? " - renewed" : " - seen") +
           ", run_id, agent, label, parent, status, started, "
           "coalesce((SELECT time FROM records r WHERE r.run = runs.run ORDER BY seq DESC LIMIT "
           "1), "
           "updated), "
           "coalesce((SELECT max(seq) FROM records r WHERE r.run = runs.run), 0), " +
           (checksums ? "crc = " + run_checksum("status", "epoch") : "1") + " FROM runs ";
  }

  // OR FAIL: an existing row ends the statement but keeps the rows before it, which spares SQLite a
  // statement journal.
  static std::string insert_rows(std::size_t count) {
    std::string sql = "INSERT OR FAIL INTO records(run, epoch, seq, kind, time, crc, body) VALUES";
    for (std::size_t i = 0; i < count; ++i) sql += i == 0 ? "(?,?,?,?,?,?,?)" : ",(?,?,?,?,?,?,?)";
    return sql;
  }

  SQLite::Database& db;
  bool writable;
  bool checksums;
  SQLite::Statement check_lease{
      db, "SELECT epoch, owner IS NOT NULL, status, run_id FROM runs WHERE run = ?1"};
  SQLite::Statement insert_record{db, writing(insert_rows(1))};
  SQLite::Statement insert_records{db, writing(insert_rows(rows_a_statement))};
  SQLite::Statement find_record{
      db, "SELECT epoch, kind, time, crc, body FROM records WHERE run = ?1 AND seq = ?2"};
  SQLite::Statement note_commit{
      db, writing("UPDATE runs SET status = ?2, renewed = " + now() +
                  ", crc = " + run_checksum("?2", "epoch") + " WHERE run = ?1")};
  SQLite::Statement insert_run{
      db, writing("INSERT INTO runs(run_id, agent, label, parent, status, started, updated, epoch, "
                  "owner, renewed, id_crc, crc) VALUES(?1,?2,?3,?4,?5,?6,?7,1,?8," +
                  now() + ",triage_checksum(?1),triage_checksum(?1,?2,?3,?4,?5,?6,?7,1))")};
  SQLite::Statement acquire{
      db, writing("UPDATE runs SET epoch = epoch + 1, owner = ?2, renewed = " + now() +
                  ", crc = " + run_checksum("status", "epoch + 1") + " WHERE run = ?1")};
  SQLite::Statement renew{
      db, writing("UPDATE runs SET renewed = " + now() +
                  " WHERE run = ?1 AND epoch = ?2 AND run_id = ?3 AND owner IS NOT NULL")};
  SQLite::Statement release{
      db, writing("UPDATE runs SET owner = NULL WHERE run = ?1 AND epoch = ?2 AND run_id = ?3")};
  // A run is looked up in an index and then read from the table; neither is trusted alone.
  SQLite::Statement find_number{db, "SELECT run FROM runs WHERE run_id = ?1"};
  SQLite::Statement find_hidden{db, checksums ? "SELECT run FROM runs INDEXED BY runs_by_id_crc "
                                                "WHERE id_crc = triage_checksum(?1)"
                                              : "SELECT 1 WHERE 0"};
  SQLite::Statement find_run{db, run_columns() + "WHERE run = ?1"};
  // Only the rows that are listed are looked up in the records.
  SQLite::Statement list_runs{
      db, run_columns() +
              "WHERE run IN (SELECT run FROM runs WHERE (?1 = '' OR agent = ?1) "
              "AND (?2 = '' OR label = ?2) AND (?3 = '' OR parent = ?3) "
              "AND (?4 IS NULL OR status = ?4) AND (?5 IS NULL OR started >= ?5) "
              "AND (?6 IS NULL OR started < ?6) ORDER BY started DESC, run_id DESC LIMIT ?7) "
              "ORDER BY started DESC, run_id DESC"};
  SQLite::Statement list_sequences{
      db, "SELECT seq FROM records WHERE run = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq"};
  // All but steps, by the second index.
  SQLite::Statement list_facts{
      db,
      "SELECT seq FROM records INDEXED BY records_of_state "
      "WHERE run = ?1 AND seq BETWEEN ?2 AND ?3 AND kind <> 3 ORDER BY seq"};
  SQLite::Statement erase_records{db, "DELETE FROM records WHERE run = ?1"};
  SQLite::Statement erase_run{db, "DELETE FROM runs WHERE run = ?1"};
  // Numbers of runs whose records are still to be erased; numbers are never reused.
  SQLite::Statement leave_over{
      db, "INSERT OR IGNORE INTO meta(key, value) VALUES('erasing/' || ?1, ?1)"};
  // These rows have no checksum: one counts only if both copies of the number agree and no run has
  // it. "+": looks at every row, because a search goes wrong where a damaged key is out of order.
  SQLite::Statement find_left_over{
      db,
      "SELECT key, value, typeof(value) = 'integer' AND key = 'erasing/' || value "
      "AND NOT EXISTS (SELECT 1 FROM runs WHERE run = value) "
      "FROM meta WHERE +key >= 'erasing/' AND +key < 'erasing0' LIMIT 1"};
  SQLite::Statement erase_some_records{
      db,
      "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE run = ?1 ORDER BY seq LIMIT "
      "?2)"};
  SQLite::Statement forget_left_over{db, "DELETE FROM meta WHERE +key = ?1"};
  SQLite::Statement get_value{db, std::string("SELECT bytes, version, ") +
                                      (checksums ? std::string("crc = ") + value_checksum : "1") +
                                      " FROM key_values WHERE space = ?1 AND key = ?2"};
  SQLite::Statement put_value{
      db, writing("INSERT INTO key_values(space, key, version, bytes, crc) "
                  "VALUES(?1, ?2, ?3, ?4, triage_checksum(?1, ?2, ?3, ?4)) "
                  "ON CONFLICT(space, key) DO UPDATE "
                  "SET version = excluded.version, bytes = excluded.bytes, crc = excluded.crc")};
  SQLite::Statement remove_value{db, "DELETE FROM key_values WHERE space = ?1 AND key = ?2"};
  SQLite::Statement list_keys{
      db, "SELECT key FROM key_values WHERE space = ?1 AND key >= ?2 ORDER BY key"};
};

}  // namespace triage::inline v0_1::detail
