// SPDX-License-Identifier: MIT
// The tables of a store, and telling our files from others'. See docs/checkpoint_format.md.
#include "sqlite_database.hpp"

#include <array>

namespace triage::inline v0_1::detail {
namespace {

// A separate id keeps inserts at the end of the table, which a packed key or WITHOUT ROWID does
// not. AUTOINCREMENT: the number of an erased run is never used again, so an old lease fits no new
// run. The partial index finds a position's state without touching steps (stores/sqlite_state.cpp).
constexpr const char* schema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE runs(
  run INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL, label TEXT NOT NULL, parent TEXT NOT NULL,
  status INTEGER NOT NULL,
  started INTEGER NOT NULL, updated INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  owner TEXT, seen INTEGER NOT NULL);
CREATE TABLE records(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, kind INTEGER NOT NULL,
  time INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL,
  UNIQUE(run, seq));
CREATE INDEX records_of_state ON records(run, seq) WHERE kind <> 3;
CREATE TABLE key_values(
  space BLOB NOT NULL, key BLOB NOT NULL, version INTEGER NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(space, key)) WITHOUT ROWID;
)";
constexpr std::array<const char*, 5> names = {"meta", "runs", "records", "records_of_state",
                                              "key_values"};

struct Identity {
  std::int64_t application_id = 0;
  std::int64_t user_version = 0;
  std::int64_t objects = 0;  // Tables, indexes, views and triggers of anyone.
  std::int64_t format = 0;   // Of our tables; 0: there are none.
};

std::int64_t ask(SQLite::Database& database, const char* query) {
  return database.execAndGet(query).getInt64();
}

std::int64_t stored_format(SQLite::Database& database) {
  if (!database.tableExists("meta")) return 0;
  try {
    SQLite::Statement query(database, "SELECT value FROM meta WHERE key = 'triage_format'");
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
  } catch (const SQLite::Exception& e) {
    if (e.getErrorCode() != SQLITE_ERROR) throw;
    return 0;  // Another program's table of this name.
  }
}

Identity identify(SQLite::Database& database) {
  return {.application_id = ask(database, "PRAGMA application_id"),
          .user_version = ask(database, "PRAGMA user_version"),
          .objects = ask(database, "SELECT count(*) FROM sqlite_master"),
          .format = stored_format(database)};
}

Error refused(Errc code, const std::string& name, const std::string& text) {
  return {code, "sqlite store " + name + " " + text};
}

// True if our tables are there and can be used; false if they can be made.
Result<bool> judge(SQLite::Database& database, const std::string& name, bool beside) {
  const Identity found = identify(database);
  const bool marked = found.application_id == sqlite_application_id;
  const std::int64_t format = std::max(found.format, marked ? found.user_version : 0);
  if (format > sqlite_format) {
    return refused(Errc::unsupported, name,
                   "has format " + std::to_string(format) +
                       ", but this version reads formats up to " + std::to_string(sqlite_format) +
                       "; use a newer version of the library");
  }
  if (found.format == sqlite_format) {
    for (const char* table : names) {
      SQLite::Statement query(database, "SELECT 1 FROM sqlite_master WHERE name = ?");
      query.bind(1, table);
      if (!query.executeStep()) {
        return refused(Errc::corrupt, name, "lacks its \"" + std::string(table) + "\"");
      }
    }
    return true;
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
    return false;
  }
  if (found.objects != 0 || (!marked && found.application_id != 0)) {
    return refused(Errc::unsupported, name,
                   "is the database of another program (application id " +
                       std::to_string(found.application_id) + ", " + std::to_string(found.objects) +
                       " tables and indexes); allowed are a new file or a store's own");
  }
  return false;
}

}  // namespace

Result<bool> find_sqlite_schema(SQLite::Database& database, const std::string& name, bool beside,
                                bool read_only) {
  auto ready = judge(database, name, beside);
  if (ready && !ready.value() && read_only) {
    return refused(Errc::unsupported, name,
                   "holds no store, and cannot be made one because it is opened read-only");
  }
  return ready;
}

Result<void> make_sqlite_schema(SQLite::Database& database, const std::string& name, bool beside) {
  database.exec("BEGIN IMMEDIATE");
  auto ready = judge(database, name, beside);  // Another process may have been first.
  if (ready && !ready.value()) {
    const bool alone = ask(database, "SELECT count(*) FROM sqlite_master") == 0 &&
                       ask(database, "PRAGMA application_id") == 0;
    database.exec(schema);
    database.exec("INSERT INTO meta VALUES('triage_format', " + std::to_string(sqlite_format) +
                  ")");
    if (alone) {
      database.exec("PRAGMA application_id = " + std::to_string(sqlite_application_id) +
                    "; PRAGMA user_version = " + std::to_string(sqlite_format));
    }
  }
  database.exec("COMMIT");
  if (!ready) return std::move(ready).error();
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
