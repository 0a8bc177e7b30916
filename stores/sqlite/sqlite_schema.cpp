// SPDX-License-Identifier: MIT
// The tables of a store, and recognising our files. See docs/checkpoint_format.md.
#include "sqlite_checksums.hpp"
#include "sqlite_database.hpp"

#include <array>

namespace triage::inline v0_1::detail {

std::int64_t stored_sqlite_format(SQLite::Database& database) {
  if (!database.tableExists("meta")) return 0;
  try {
    SQLite::Statement query(database, "SELECT value FROM meta WHERE key = 'triage_format'");
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
  } catch (const SQLite::Exception& e) {
    if (e.getErrorCode() != SQLITE_ERROR) throw;
    return 0;  // Another program's table.
  }
}

namespace {

// A separate id keeps inserts at the end of the table, which a packed key or WITHOUT ROWID does
// not. AUTOINCREMENT: the number of an erased run is never used again, so an old lease fits no new
// run. The partial index finds a position's state without touching steps
// (stores/sqlite/sqlite_state.cpp).
constexpr const char* schema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE runs(
  run INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL, label TEXT NOT NULL, parent TEXT NOT NULL,
  status INTEGER NOT NULL,
  started INTEGER NOT NULL, updated INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  owner TEXT, renewed INTEGER NOT NULL,
  id_crc INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX runs_by_id_crc ON runs(id_crc);
CREATE TABLE records(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, kind INTEGER NOT NULL,
  time INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL,
  UNIQUE(run, seq));
CREATE INDEX records_of_state ON records(run, seq) WHERE kind <> 3;
CREATE TABLE key_values(
  space BLOB NOT NULL, key BLOB NOT NULL, version INTEGER NOT NULL, bytes BLOB NOT NULL,
  crc INTEGER NOT NULL, PRIMARY KEY(space, key)) WITHOUT ROWID;
)";
constexpr const char* index_of_format_2 = "runs_by_id_crc";
constexpr std::array<const char*, 6> names = {
    "meta", "runs", "records", "key_values", "records_of_state", index_of_format_2};

// From format 1. The column `seen` gets another name, and key_values.crc has no default, so that a
// process of an older version that has the file open still cannot write rows without checksums:
// its statements fail, and nothing is acknowledged.
std::string migration_to_2() {
  const std::string values = value_checksum;
  return std::string(R"(
ALTER TABLE runs RENAME COLUMN seen TO renewed;
ALTER TABLE runs ADD COLUMN id_crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET id_crc = )") +
         run_id_checksum + ", crc = " + run_checksum("status", "epoch") + R"(;
CREATE INDEX runs_by_id_crc ON runs(id_crc);
CREATE TABLE key_values_2(
  space BLOB NOT NULL, key BLOB NOT NULL, version INTEGER NOT NULL, bytes BLOB NOT NULL,
  crc INTEGER NOT NULL, PRIMARY KEY(space, key)) WITHOUT ROWID;
INSERT INTO key_values_2 SELECT space, key, version, bytes, )" +
         values + R"( FROM key_values;
DROP TABLE key_values;
ALTER TABLE key_values_2 RENAME TO key_values;
UPDATE meta SET value = 2 WHERE key = 'triage_format';
)";
}

struct Identity {
  std::int64_t application_id = 0;
  std::int64_t user_version = 0;
  std::int64_t objects = 0;  // Tables, indexes, views and triggers of any program.
  std::int64_t format = 0;   // Of our tables; 0: none.
};

std::int64_t ask(SQLite::Database& database, const char* query) {
  return database.execAndGet(query).getInt64();
}

Identity identify(SQLite::Database& database) {
  return {.application_id = ask(database, "PRAGMA application_id"),
          .user_version = ask(database, "PRAGMA user_version"),
          .objects = ask(database, "SELECT count(*) FROM sqlite_master"),
          .format = stored_sqlite_format(database)};
}

Error refused(Errc code, const std::string& name, const std::string& text) {
  return {code, "sqlite store " + name + " " + text};
}

bool exists(SQLite::Database& database, const char* name) {
  SQLite::Statement query(database, "SELECT 1 FROM sqlite_master WHERE name = ?");
  query.bind(1, name);
  return query.executeStep();
}

// The format of our tables; 0 if they can be created.
Result<std::int64_t> judge(SQLite::Database& database, const std::string& name, bool beside) {
  const Identity found = identify(database);
  const bool marked = found.application_id == sqlite_application_id;
  const std::int64_t format = std::max(found.format, marked ? found.user_version : 0);
  if (format > sqlite_format) {
    return refused(Errc::unsupported, name,
                   "has format " + std::to_string(format) +
                       ", but this version reads formats up to " + std::to_string(sqlite_format) +
                       "; use a newer version of the library");
  }
  if (found.format >= 1) {
    for (const char* table : names) {
      const bool expected = found.format >= 2 || std::string_view(table) != index_of_format_2;
      if (exists(database, table) == expected) continue;
      return refused(Errc::corrupt, name,
                     expected ? "lacks its \"" + std::string(table) + "\""
                              : "says it has format 1, but its tables are newer: it is damaged");
    }
    return found.format;
  }
  if (found.format != 0 || (marked && found.objects != 0)) {
    return refused(Errc::corrupt, name, "is marked as a store, but its tables are damaged");
  }
  if (beside) {
    for (const char* table : names) {
      if (database.tableExists(table)) {
        return refused(
            Errc::unsupported, name,
            "has a table \"" + std::string(table) +
                "\" of another program, where the store needs its own; use another file");
      }
    }
    return 0;
  }
  if (found.objects != 0 || (!marked && found.application_id != 0)) {
    return refused(Errc::unsupported, name,
                   "is the database of another program (application id " +
                       std::to_string(found.application_id) + ", " + std::to_string(found.objects) +
                       " tables and indexes); allowed are a new file or a store's own");
  }
  return 0;
}

}  // namespace

Result<std::int64_t> find_sqlite_schema(SQLite::Database& database, const std::string& name,
                                        bool beside, bool read_only) {
  auto format = judge(database, name, beside);
  if (format && format.value() == 0 && read_only && !beside) {
    return refused(Errc::not_found, name, "is an empty file, in which no store has been made yet");
  }
  if (format && format.value() == 0 && read_only) {
    return refused(Errc::unsupported, name,
                   "holds no store, and cannot be made one because it is opened read-only");
  }
  return format;
}

Result<void> make_sqlite_schema(SQLite::Database& database, const std::string& name, bool beside) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  auto format = judge(database, name, beside);  // Another process may have been first.
  if (!format) return std::move(format).error();
  if (format.value() == sqlite_format) return outcome::success();
  bool ours = ask(database, "PRAGMA application_id") == sqlite_application_id;
  if (format.value() == 0) {
    ours = ask(database, "SELECT count(*) FROM sqlite_master") == 0 &&
           ask(database, "PRAGMA application_id") == 0;
    database.exec(schema);
    database.exec("INSERT INTO meta VALUES('triage_format', " + std::to_string(sqlite_format) +
                  ")");
  } else {
    database.exec(migration_to_2());
  }
  if (ours) {
    database.exec("PRAGMA application_id = " + std::to_string(sqlite_application_id) +
                  "; PRAGMA user_version = " + std::to_string(sqlite_format));
  }
  transaction.commit();
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
