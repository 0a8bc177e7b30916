// SPDX-License-Identifier: MIT
// Opening and closing the SQLite store. Leases are in sqlite_leases.cpp, appending in
// sqlite_append.cpp, reading in sqlite_read.cpp and sqlite_state.cpp, erasing in sqlite_erase.cpp,
// the key space in sqlite_keys.cpp.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/clock.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1 {
namespace detail {

SqliteJournals::SqliteJournals(std::unique_ptr<SqliteDatabase> database,
                               const SqliteOptions& options, std::uint64_t store_number)
    : read_only_(options.read_only),
      lease_timeout_(options.lease_timeout),
      mark_(store_number, !options.read_only),
      database_(std::move(database)),
      statements_(std::make_unique<Statements>(database_->handle(), !read_only_,
                                               database_->format() >= 2)) {}

SqliteJournals::~SqliteJournals() {
  stop_queue();
  if (!process_.is_here()) {
    // SQLite forbids even closing a connection that was opened before fork().
    static_cast<void>(statements_.release());
    static_cast<void>(database_.release());
    return;
  }
  if (read_only_ || (held_.empty() && mark_.given_up().empty())) return;
  // Spares the next process that opens the file the wait for this one's end.
  try {
    database_->begin_write();
    SQLite::Statement free_run(database_->handle(),
                               "UPDATE runs SET owner = NULL WHERE run = ?1 AND owner = ?2");
    bind_text(free_run, 2, mark_.text());
    const auto free = [&](std::int64_t run) {
      free_run.bind(1, run);
      database_->run(free_run);
    };
    for (const auto& [run, held] : held_) free(run);
    for (const auto& [run, epoch] : mark_.given_up()) free(run);
    database_->commit();
  } catch (const std::exception&) {
    database_->rollback();  // The leases are free anyway, because this object is gone.
  }
}

Result<void> SqliteJournals::look_again() {
  if (database_->unchanged()) return outcome::success();
  TRIAGE_TRY(fresh, database_->reopen());
  auto statements =
      std::make_unique<Statements>(fresh->handle(), !read_only_, fresh->format() >= 2);
  statements_ = std::move(statements);  // The old ones end before their connection.
  database_ = std::move(fresh);
  return outcome::success();
}

StoreCapabilities SqliteJournals::capabilities() const noexcept {
  return {.durability = database_->durability(),
          .shared_by_processes = !database_->in_memory(),
          .background_appends = true,
          .renew_every = lease_timeout_ / renewals_a_timeout};
}

Error SqliteJournals::no_such_run(const RunId& run) const {
  return database_->error(Errc::not_found, "there is no run \"" + run + "\"");
}

void SqliteJournals::idle() {
  if (!process_.is_here() || read_only_) return;
  const std::scoped_lock lock(mutex_);
  release_again();
  database_->checkpoint_log();
}

std::string SqliteJournals::take_warning() {
  if (!database_->has_warning() || !process_.is_here()) return {};
  const std::scoped_lock lock(mutex_);
  return database_->take_warning();
}

}  // namespace detail

namespace {

Result<std::shared_ptr<SqliteStore>> make(Result<std::unique_ptr<detail::SqliteDatabase>> database,
                                          const SqliteOptions& options) {
  if (!database) return std::move(database).error();
  const std::string name = database.value()->name();
  try {
    return std::shared_ptr<SqliteStore>(std::make_shared<detail::SqliteJournals>(
        std::move(database).value(), options, real_random()->next()));
  } catch (const SQLite::Exception& e) {
    return detail::sqlite_error(e, name, "preparing its statements");
  }
}

}  // namespace

Result<std::shared_ptr<SqliteStore>> SqliteStore::open(const std::string& path,
                                                       const SqliteOptions& options) {
  return make(detail::SqliteDatabase::open(path, options), options);
}

Result<std::shared_ptr<SqliteStore>> SqliteStore::open(std::unique_ptr<SQLite::Database> connection,
                                                       const SqliteOptions& options) {
  return make(detail::SqliteDatabase::adopt(std::move(connection), options), options);
}

}  // namespace triage::inline v0_1
