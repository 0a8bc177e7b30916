// SPDX-License-Identifier: MIT
// Leases of the SQLite store: who may append to a run.
#include "storage/busy_run.hpp"
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {

Error SqliteJournals::fenced(const Lease& lease, const std::string& why) {
  return {Errc::fenced, "the lease of run \"" + lease.run + "\" (epoch " +
                            std::to_string(lease.epoch) + ") is lost: " + why};
}

OwnerLife SqliteJournals::life_of_owner(const RunRow& row) const {
  if (row.owner.empty()) return OwnerLife::gone;
  if (row.owner != mark_.text()) return check_owner(row.owner, mark_.text(), {row.run, row.epoch});
  const auto held = held_.find(row.run);  // Ours: only this object knows whether a run holds it.
  const bool is_held =
      held != held_.end() && held->second.epoch == row.epoch && !held->second.holder.expired();
  return is_held ? OwnerLife::alive : OwnerLife::gone;
}

// Hands a lease out and tracks its holder from then on: a lease whose reply gets lost is free.
Lease SqliteJournals::lend(Lease lease, std::chrono::steady_clock::time_point renewed) {
  Held& held = held_[lease.handle];
  if (held.epoch == lease.epoch) lease.holder = held.holder.lock();
  if (!lease.holder) lease.holder = std::make_shared<char>();
  held = {.epoch = lease.epoch, .renewed = renewed, .holder = lease.holder};
  return lease;
}

bool SqliteJournals::owned(const RunRow& row) const {
  switch (life_of_owner(row)) {
    case OwnerLife::alive:
    case OwnerLife::stopped: return true;
    case OwnerLife::gone: return false;
    case OwnerLife::elsewhere: break;
  }
  // A time far in the future comes from a clock that was set back since; it would never expire.
  return row.unseen_ms < lease_timeout_.count() && row.unseen_ms > -lease_timeout_.count();
}

Result<Lease> SqliteJournals::start(const RunInfo& run, std::span<const Record> records) {
  TRIAGE_TRYV(check_run_id(run.id));
  return guarded_write("starting run \"" + run.id + "\"", [&]() -> Result<Lease> {
    database_->begin_write();
    // The index used by the insertion may be damaged: a run is absent only if all lookups agree.
    TRIAGE_TRYV(find_run(run.id));
    SQLite::Statement& insert_run = statements_->insert_run;
    bind_text(insert_run, 1, run.id);
    bind_text(insert_run, 2, run.agent);
    bind_text(insert_run, 3, run.label);
    bind_text(insert_run, 4, run.parent);
    insert_run.bind(5, static_cast<int>(run.status));
    insert_run.bind(6, milliseconds(run.started));
    insert_run.bind(7, milliseconds(run.updated));
    bind_text(insert_run, 8, mark_.text());
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
    Lease lent = lend(lease, std::chrono::steady_clock::now());
    database_->checkpoint_log_if_large();
    return outcome::success(std::move(lent));
  });
}

// The lease of a run that was already started with the same records: the reply was lost.
Result<Lease> SqliteJournals::started_before(const RunId& run, std::span<const Record> records) {
  TRIAGE_TRY(row, find_run(run));
  const bool same = row && !row->info.damaged && row->owner == mark_.text() && row->epoch == 1 &&
                    !records.empty() && row->info.last == records.back().seq();
  if (!same) return database_->error(Errc::conflict, "run \"" + run + "\" exists already");
  Lease lease{run, 1, row->run};
  forget_rows();
  if (auto refused = insert(lease, records)) return *std::move(refused);
  if (auto refused = insert_rows()) return *std::move(refused);
  database_->commit();
  return outcome::success(lend(std::move(lease), {}));
}

Result<Lease> SqliteJournals::acquire(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  return guarded_write("acquiring run \"" + run + "\"", [&]() -> Result<Lease> {
    database_->begin_write();
    TRIAGE_TRY(row, intact_run(run));
    if (owned(row)) {
      return database_->error(Errc::busy, detail::busy_run(run, row.owner, mark_.text()).detail);
    }
    statements_->acquire.bind(1, row.run);
    bind_text(statements_->acquire, 2, mark_.text());
    database_->run(statements_->acquire);
    database_->commit();
    mark_.forget({row.run, row.epoch});
    return outcome::success(lend({run, row.epoch + 1, row.run}, std::chrono::steady_clock::now()));
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
      held->second.renewed = std::chrono::steady_clock::now();
    }
    return outcome::success();
  });
}

Result<void> SqliteJournals::release(const Lease& lease) {
  return guarded_write("releasing run \"" + lease.run + "\"", [&]() -> Result<void> {
    // Given up from now on, even where that cannot be written.
    const auto held = held_.find(lease.handle);
    const bool ours = held != held_.end() && held->second.epoch == lease.epoch;
    if (ours) {
      held_.erase(held);
      mark_.give_up({lease.handle, lease.epoch});
    }
    SQLite::Statement& release = statements_->release;
    release.bind(1, lease.handle);
    release.bind(2, static_cast<std::int64_t>(lease.epoch));
    bind_text(release, 3, lease.run);
    database_->run(release);
    if (ours) mark_.forget({lease.handle, lease.epoch});
    return outcome::success();
  });
}

Result<std::string> SqliteJournals::free_run(const RunId& run, bool force) {
  TRIAGE_TRYV(check_run_id(run));
  return guarded_write("freeing run \"" + run + "\"", [&]() -> Result<std::string> {
    database_->begin_write();
    TRIAGE_TRY(found, find_run(run));
    if (!found) return no_such_run(run);
    const RunRow& row = *found;
    if (!force && row.info.damaged) return damaged_run(run, "its row does not match its checksum");
    const bool stopped = life_of_owner(row) == OwnerLife::stopped;
    if (!force && !stopped && owned(row)) {
      return database_->error(Errc::busy,
                              detail::busy_run(run, row.owner, mark_.text()).detail +
                                  ", which seems to be alive; force it only if you know better");
    }
    SQLite::Statement free(database_->handle(),
                           "UPDATE runs SET owner = NULL, epoch = epoch + 1, crc = " +
                               run_checksum("status", "epoch + 1") + " WHERE run = ?1");
    free.bind(1, row.run);
    database_->run(free);
    database_->commit();
    return outcome::success(row.owner);
  });
}

// Writes the releases that failed. Another failure is harmless: those leases are free anyway.
void SqliteJournals::release_again() {
  if (mark_.given_up().empty()) return;
  try {
    SQLite::Statement free_run(database_->handle(),
                               "UPDATE runs SET owner = NULL WHERE run = ?1 AND epoch = ?2");
    for (const auto& [run, epoch] : std::set(mark_.given_up())) {
      free_run.bind(1, run);
      free_run.bind(2, static_cast<std::int64_t>(epoch));
      database_->run(free_run);
      mark_.forget({run, epoch});
    }
  } catch (const std::exception&) {
    database_->rollback();
  }
}

}  // namespace triage::inline v0_1::detail
