// SPDX-License-Identifier: MIT
// Checks a store's file beyond single records: everything that lookups rely on.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/json.hpp"

namespace triage::inline v0_1::detail {
namespace {

constexpr const char* integrity = "PRAGMA integrity_check(100)";

// Runs the query; the damage it looks for may itself end it early.
template <class Row>
void for_each(SQLite::Database& database, const std::string& sql,
              std::vector<std::string>& problems, Row&& row) {
  try {
    SQLite::Statement query(database, sql);
    while (query.executeStep()) row(query);
  } catch (const SQLite::Exception& e) {
    problems.push_back(std::string("the file cannot be read to its end: ") + e.what());
  }
}

}  // namespace

// Checks that each run is found by its id and that its row is unchanged.
void SqliteJournals::check_runs(std::vector<std::string>& problems) {
  std::vector<RunRow> rows;
  for_each(database_->handle(), "SELECT run FROM runs NOT INDEXED ORDER BY run", problems,
           [&](SQLite::Statement& query) {
             if (auto row = row_at(query.getColumn(0).getInt64())) rows.push_back(*std::move(row));
           });
  for (const RunRow& row : rows) {
    const std::string name = "run \"" + printable(row.info.id) + "\"";
    if (row.info.damaged) problems.push_back(name + ": its row does not match its checksum");
    if (!check_run_id(row.info.id)) {
      problems.push_back(name + ": this is not a run id, so it cannot be looked up");
      continue;
    }
    try {
      const auto found = find_run(row.info.id);
      if (!found) {
        problems.push_back(found.error().detail);
      } else if (!found.value() || found.value()->run != row.run) {
        problems.push_back(name + ": it is stored, but looking it up does not find it");
      }
    } catch (const SQLite::Exception& e) {
      problems.push_back(name + ": looking it up fails: " + e.what());
    }
  }
}

void SqliteJournals::check_values(std::vector<std::string>& problems) {
  if (database_->format() < 2) return;  // In these, values have no checksums.
  for_each(database_->handle(),
           std::string("SELECT space, key FROM key_values WHERE crc <> ") + value_checksum,
           problems, [&](SQLite::Statement& query) {
             problems.push_back("key \"" + printable(query.getColumn(1).getString()) +
                                "\" in space \"" + printable(query.getColumn(0).getString()) +
                                "\": its value does not match its checksum");
           });
}

Result<std::vector<std::string>> SqliteJournals::check() {
  return guarded("checking the file", [&]() -> Result<std::vector<std::string>> {
    std::vector<std::string> problems;
    database_->begin_read();
    SQLite::Database& database = database_->handle();
    for_each(database, integrity, problems, [&](SQLite::Statement& query) {
      std::string found = query.getColumn(0).getString();
      if (found != "ok") problems.push_back("SQLite finds: " + printable(found));
    });
    for_each(database,
             "SELECT run, count(*) FROM records NOT INDEXED "
             "WHERE run NOT IN (SELECT run FROM runs NOT INDEXED) GROUP BY run",
             problems, [&](SQLite::Statement& query) {
               problems.push_back(std::to_string(query.getColumn(1).getInt64()) +
                                  " records belong to no run (to number " +
                                  std::to_string(query.getColumn(0).getInt64()) + ")");
             });
    check_runs(problems);
    check_values(problems);
    database_->commit();
    return outcome::success(std::move(problems));
  });
}

}  // namespace triage::inline v0_1::detail
