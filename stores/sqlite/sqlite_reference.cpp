// SPDX-License-Identifier: MIT
#include "triage/stores/sqlite_reference.hpp"

#include "sqlite_database.hpp"
#include "sqlite_files.hpp"
#include "triage/detail/try.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr int busy_ms = 5'000;
constexpr const char* columns = "SELECT id, timestamp, state, trajectory, run_id FROM checkpoints ";

Error other_tables(const std::string& path) {
  return {Errc::corrupt, "\"" + printable(path) +
                             "\" has other tables than a store of triage-agent, whose one is "
                             "`checkpoints` with id, timestamp, state and trajectory"};
}

class SqliteReference final : public ReferenceStore {
 public:
  // made: the file was not there before, and goes again if nothing is kept.
  SqliteReference(const std::string& path, int flags, bool made)
      : made_(made ? path : std::string()), database_(path, flags, busy_ms) {}
  ~SqliteReference() override {
    if (!made_.empty()) ::unlink(made_.c_str());
  }

  // Before version 0.13 there was no run_id.
  Result<void> look(const std::string& path, bool to_write) {
    // First, because another one may be making the table, or removing the file with it.
    if (to_write) {
      database_.exec("BEGIN IMMEDIATE");
      if (::access(path.c_str(), F_OK) != 0) {
        return Error{Errc::busy, "another export into \"" + printable(path) + "\" was given up"};
      }
    }
    std::set<std::string> there;
    SQLite::Statement info(database_, "SELECT name FROM pragma_table_info('checkpoints')");
    while (info.executeStep()) there.insert(info.getColumn(0).getString());
    const bool none =
        there.empty() && database_.execAndGet("SELECT count(*) FROM sqlite_master").getInt64() == 0;
    if (none && to_write) return make();
    for (const char* name : {"id", "timestamp", "state", "trajectory"}) {
      if (!there.contains(name)) return other_tables(path);
    }
    has_runs_ = there.contains("run_id");
    if (!to_write) return outcome::success();
    if (!has_runs_) database_.exec("ALTER TABLE checkpoints ADD COLUMN run_id TEXT");
    has_runs_ = true;
    return outcome::success();
  }

  Result<void> visit(const Visit& visit) override {
    return guarded("reading", [&]() -> Result<void> {
      std::vector<std::int64_t> rows;  // Sorted first: the rows themselves may be large.
      SQLite::Statement order(database_, "SELECT rowid FROM checkpoints ORDER BY timestamp, rowid");
      while (order.executeStep()) rows.push_back(order.getColumn(0).getInt64());
      const std::string from = has_runs_ ? columns
                                         : "SELECT id, timestamp, state, trajectory, NULL FROM "
                                           "checkpoints ";
      SQLite::Statement row(database_, from + "WHERE rowid = ?");
      for (const std::int64_t number : rows) {
        row.reset();
        row.bind(1, number);
        if (!row.executeStep()) continue;
        TRIAGE_TRYV(visit(checkpoint_in(row)));
      }
      return outcome::success();
    });
  }

  Result<void> add(const ReferenceCheckpoint& checkpoint) override {
    return guarded("writing", [&]() -> Result<void> {
      SQLite::Statement look(database_, std::string(columns) + "WHERE id = ?");
      look.bind(1, checkpoint.id);
      if (look.executeStep()) {
        const auto stored = checkpoint_in(look);
        if (stored && same_reference(stored.value(), checkpoint)) return outcome::success();
        return Error{Errc::conflict, "checkpoint \"" + printable(checkpoint.id) +
                                         "\" is there already, with another content"};
      }
      SQLite::Statement insert(database_,
                               "INSERT INTO checkpoints(id, timestamp, state, trajectory, "
                               "run_id) VALUES(?, ?, ?, ?, ?)");
      insert.bind(1, checkpoint.id);
      insert.bind(2, checkpoint.timestamp);
      insert.bind(3, reference_text(checkpoint.state));
      insert.bind(4, reference_text(checkpoint.trajectory));
      if (!checkpoint.run.empty()) insert.bind(5, checkpoint.run);
      insert.exec();
      return outcome::success();
    });
  }

  Result<void> finish() override {
    return guarded("committing", [&]() -> Result<void> {
      database_.exec("COMMIT");
      made_.clear();
      return outcome::success();
    });
  }

 private:
  Result<void> make() {
    database_.exec(
        "CREATE TABLE checkpoints(id TEXT PRIMARY KEY, timestamp REAL NOT NULL, state TEXT NOT "
        "NULL, trajectory TEXT NOT NULL, run_id TEXT)");
    has_runs_ = true;
    return outcome::success();
  }

  static Result<ReferenceCheckpoint> checkpoint_in(SQLite::Statement& row) {
    ReferenceCheckpoint out{.id = row.getColumn(0).getString(),
                            .timestamp = row.getColumn(1).getDouble(),
                            .run = row.getColumn(4).getString()};
    TRIAGE_TRY(state, parse_reference(out.id, "state", row.getColumn(2).getString()));
    TRIAGE_TRY(steps, parse_reference(out.id, "trajectory", row.getColumn(3).getString()));
    out.state = std::move(state);
    out.trajectory = std::move(steps);
    return outcome::success(std::move(out));
  }

  template <class F>
  Result<void> guarded(const char* doing, F&& work) {
    try {
      return work();
    } catch (const SQLite::Exception& e) {
      return sqlite_error(e, printable(database_.getFilename()), doing);
    }
  }

  std::string made_;
  SQLite::Database database_;
  bool has_runs_ = false;
};

}  // namespace
}  // namespace detail

Result<std::unique_ptr<ReferenceStore>> open_sqlite_reference(const std::string& path,
                                                              bool to_write) {
  if (path == ":memory:") {
    return Error{Errc::invalid_argument,
                 "a store of triage-agent is a file; what is in memory would be lost"};
  }
  std::error_code ignored;
  if (!to_write && !std::filesystem::exists(path, ignored)) {
    return Error{Errc::not_found, "\"" + printable(path) + "\" does not exist"};
  }
  const bool made = to_write && detail::make_private_file(path);
  try {
    auto store = std::make_unique<detail::SqliteReference>(
        detail::plain_name(path),
        to_write ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY, made);
    TRIAGE_TRYV(store->look(path, to_write));
    return outcome::success(std::unique_ptr<ReferenceStore>(std::move(store)));
  } catch (const SQLite::Exception& e) {
    return detail::sqlite_error(e, printable(path), "opening");
  }
}

}  // namespace triage::inline v0_1
