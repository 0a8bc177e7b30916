// SPDX-License-Identifier: MIT
// Leases of the SQLite store: who may append to a run.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {

Error SqliteJournals::fenced(const Lease& lease, const std::string& why) {
  return {Errc::fenced, "the lease of run \"" + lease.run + "\" (epoch " +
                            std::to_string(lease.epoch) + ") is lost: " + why};
}

bool SqliteJournals::owned(const RunRow& row) const {
  if (row.owner.empty()) return false;
  switch (check_owner(row.owner, owner_)) {
    case OwnerLife::alive: return true;
    case OwnerLife::gone: return false;
    case OwnerLife::elsewhere: break;
  }
  // A time far in the future comes from a clock that was set back since; it would never expire.
  return std::abs(row.unseen_ms) < lease_timeout_.count();
}

Result<Lease> SqliteJournals::start(const RunInfo& run, std::span<const Record> records) {
  TRIAGE_TRYV(check_run_id(run.id));
  return guarded_write("starting run \"" + run.id + "\"", [&]() -> Result<Lease> {
    database_->begin_write();
    SQLite::Statement& insert_run = statements_->insert_run;
    bind_text(insert_run, 1, run.id);
    bind_text(insert_run, 2, run.agent);
    bind_text(insert_run, 3, run.label);
    bind_text(insert_run, 4, run.parent);
    insert_run.bind(5, static_cast<int>(run.status));
    insert_run.bind(6, milliseconds(run.started));
    insert_run.bind(7, milliseconds(run.updated));
    bind_text(insert_run, 8, owner_);
    const int code = database_->try_run(insert_run);
    if (code == SQLITE_CONSTRAINT_UNIQUE) {
      return started_before(run.id, records);
    }
    if (code != SQLITE_DONE) throw SQLite::Exception(database_->handle().getHandle(), code);
    const Lease lease{run.id, 1, database_->handle().getLastInsertRowid()};
    forget_rows();
    if (auto refused = insert(lease, records)) return *std::move(refused);
    if (auto refused = insert_rows()) return *std::move(refused);
    database_->commit();
    held_[lease.handle] = {lease.epoch, std::chrono::steady_clock::now()};
    database_->fold_if_large();
    return lease;
  });
}

// The lease of a run that was started just so: the answer got lost.
Result<Lease> SqliteJournals::started_before(const RunId& run, std::span<const Record> records) {
  const std::optional<RunRow> row = find_run(run);
  const bool same = row && row->owner == owner_ && row->epoch == 1 && !records.empty() &&
                    row->info.last == records.back().seq();
  if (!same) return database_->error(Errc::conflict, "run \"" + run + "\" exists already");
  Lease lease{run, 1, row->run};
  forget_rows();
  if (auto refused = insert(lease, records)) return *std::move(refused);
  if (auto refused = insert_rows()) return *std::move(refused);
  database_->commit();
  held_[lease.handle] = {lease.epoch, {}};
  return outcome::success(std::move(lease));
}

Result<Lease> SqliteJournals::acquire(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  return guarded_write("acquiring run \"" + run + "\"", [&]() -> Result<Lease> {
    database_->begin_write();
    const std::optional<RunRow> row = find_run(run);
    if (!row) return no_such_run(run);
    if (owned(*row)) {
      return database_->error(Errc::busy, "run \"" + run +
                                              "\" is under way; its owner (host, process, start, "
                                              "store) is " +
                                              row->owner);
    }
    statements_->acquire.bind(1, row->run);
    bind_text(statements_->acquire, 2, owner_);
    database_->run(statements_->acquire);
    database_->commit();
    const Lease lease{run, row->epoch + 1, row->run};
    held_[lease.handle] = {lease.epoch, std::chrono::steady_clock::now()};
    return lease;
  });
}

Result<void> SqliteJournals::renew(const Lease& lease) {
  return guarded_write("renewing the lease of run \"" + lease.run + "\"", [&]() -> Result<void> {
    SQLite::Statement& renew = statements_->renew;
    renew.bind(1, lease.handle);
    renew.bind(2, static_cast<std::int64_t>(lease.epoch));
    bind_text(renew, 3, lease.run);
    database_->run(renew);
    if (database_->handle().getChanges() != 1) return fenced(lease, "a newer owner took the run");
    if (const auto held = held_.find(lease.handle); held != held_.end()) {
      held->second.second = std::chrono::steady_clock::now();
    }
    return outcome::success();
  });
}

Result<void> SqliteJournals::release(const Lease& lease) {
  return guarded_write("releasing run \"" + lease.run + "\"", [&]() -> Result<void> {
    SQLite::Statement& release = statements_->release;
    release.bind(1, lease.handle);
    release.bind(2, static_cast<std::int64_t>(lease.epoch));
    bind_text(release, 3, lease.run);
    database_->run(release);
    const auto held = held_.find(lease.handle);
    if (held != held_.end() && held->second.first == lease.epoch) held_.erase(held);
    return outcome::success();
  });
}

}  // namespace triage::inline v0_1::detail
