// SPDX-License-Identifier: MIT
// Appending to journals in the SQLite store.
#include "triage/stores/sqlite.hpp"

#include "sqlite_statements.hpp"

#include <limits>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t largest_sequence = std::numeric_limits<std::int64_t>::max();
// Bodies are encoded in groups of about this size, so that a few large ones need little memory.
constexpr std::size_t most_buffered = std::size_t{256} << 10U;

}  // namespace

Result<void> SqliteJournals::append(const Lease& lease, std::span<const Record> records,
                                    RunStatus status) {
  AppendBatch batch{.lease = lease, .records = records, .status = status};
  append_group({&batch, 1});
  return std::move(batch.outcome);
}

void SqliteJournals::append_group(std::span<AppendBatch> batches) {
  const auto refuse_all = [&](const Error& error) {
    for (AppendBatch& batch : batches) batch.outcome = error;
  };
  const Result<void> done = guarded_write("appending", [&]() -> Result<void> {
    Settled all = append_together(batches);
    if (all.committed) return outcome::success();
    if (batches.size() == 1) return *std::move(all.error);
    // An error in one batch must not fail the others, so each is tried by itself.
    for (AppendBatch& batch : batches) {
      Settled one = append_together({&batch, 1});
      if (!one.committed) batch.outcome = *std::move(one.error);
    }
    return outcome::success();
  });
  if (!done) refuse_all(done.error());
}

SqliteJournals::Settled SqliteJournals::append_together(std::span<AppendBatch> batches) {
  Settled settled = try_together(batches);
  // The log's space may be enough.
  if (settled.full && database_->make_room()) settled = try_together(batches);
  return settled;
}

SqliteJournals::Settled SqliteJournals::try_together(std::span<AppendBatch> batches) {
  const auto undone = [&](std::optional<Error> why) -> Settled {
    database_->rollback();
    forget_renewals(batches);
    return {.error = std::move(why)};
  };
  try {
    database_->begin_write();
    forget_rows();
    for (AppendBatch& batch : batches) {
      batch.outcome = outcome::success();
      RunStatus stored{};
      if (auto stale = check_lease(batch.lease, stored)) {
        batch.outcome = *std::move(stale);  // Only this batch is dropped.
        continue;
      }
      if (auto refused = insert(batch.lease, batch.records)) return undone(std::move(refused));
      note_commit(batch.lease, stored, batch.status);
    }
    if (auto refused = insert_rows()) return undone(std::move(refused));
    database_->commit();
    database_->checkpoint_log_if_large();
    return {.committed = true};
  } catch (const SQLite::Exception& e) {
    const bool full = e.getErrorCode() == SQLITE_FULL;
    Settled settled = undone(database_->translate(e, "appending"));
    settled.full = full;
    return settled;
  }
}

std::optional<Error> SqliteJournals::check_lease(const Lease& lease, RunStatus& stored) {
  SQLite::Statement& check = statements_->check_lease;
  const StatementUse use(check);
  check.bind(1, lease.handle);
  if (!check.executeStep()) return fenced(lease, "the run was erased");
  const auto epoch = static_cast<std::uint64_t>(check.getColumn(0).getInt64());
  if (lease.run != check.getColumn(3).getText())
    return fenced(lease, "it belongs to another store");
  if (epoch != lease.epoch) return fenced(lease, "the newest epoch is " + std::to_string(epoch));
  if (check.getColumn(1).getInt() == 0 || mark_.gave_up({lease.handle, epoch})) {
    return fenced(lease, "it was released");
  }
  stored = static_cast<RunStatus>(check.getColumn(2).getInt());
  return std::nullopt;
}

std::optional<Error> SqliteJournals::insert(const Lease& lease, std::span<const Record> records) {
  for (const Record& record : records) {
    if (auto refused = encode(lease, record)) return refused;
    if (rows_.size() < rows_a_statement && buffer_.size() < most_buffered) continue;
    if (auto refused = insert_rows()) return refused;
  }
  return std::nullopt;
}

// Appends the record to rows_, and its body to buffer_.
std::optional<Error> SqliteJournals::encode(const Lease& lease, const Record& record) {
  if (record.seq() == 0 || record.seq() > largest_sequence) {
    return database_->error(Errc::invalid_argument, "sequence " + std::to_string(record.seq()) +
                                                        ": allowed are 1 to 2^63 - 1");
  }
  const std::size_t begin = buffer_.size();
  record.encode_body(buffer_);
  const std::size_t size = buffer_.size() - begin;
  if (size > largest_record_body) {
    return database_->error(Errc::invalid_argument,
                            "record " + std::to_string(record.seq()) + " of run \"" + lease.run +
                                "\" has " + std::to_string(size) + " bytes; allowed are " +
                                std::to_string(largest_record_body));
  }
  if (!fits_in_memory(std::string_view(buffer_).substr(begin))) {
    return database_->error(Errc::invalid_argument,
                            "record " + std::to_string(record.seq()) + " of run \"" + lease.run +
                                "\" has " + std::to_string(size) +
                                " bytes and so many values that reading it back would take " +
                                "more than " + std::to_string(most_decoded_bytes >> 20U) +
                                " MiB of memory, which is the most that is allowed");
  }
  rows_.push_back({&lease, &record, begin, size,
                   record_checksum(lease.run, lease.epoch, record.seq(), record.kind(),
                                   record.time(), std::string_view(buffer_).substr(begin))});
  return std::nullopt;
}

// Inserts all encoded rows, of all runs.
std::optional<Error> SqliteJournals::insert_rows() {
  if (rows_.size() != rows_a_statement || !insert_together()) {
    for (const Row& row : rows_) {
      if (auto refused = insert_one(row)) return refused;
    }
  }
  forget_rows();
  return std::nullopt;
}

// `at`: the row's place in the statement.
void SqliteJournals::bind_row(SQLite::Statement& insert, const Row& row, std::size_t at) const {
  const int first = 1 + static_cast<int>(at) * parameters_a_row;
  insert.bind(first, row.lease->handle);
  insert.bind(first + 1, static_cast<std::int64_t>(row.lease->epoch));
  insert.bind(first + 2, static_cast<std::int64_t>(row.record->seq()));
  insert.bind(first + 3, static_cast<int>(row.record->kind()));
  insert.bind(first + 4, milliseconds(row.record->time()));
  insert.bind(first + 5, static_cast<std::int64_t>(row.crc));
  bind_bytes(insert, first + 6, body_of(row));
}

// False if a row is already stored; some of the others may be stored now.
bool SqliteJournals::insert_together() {
  SQLite::Statement& insert = statements_->insert_records;
  for (std::size_t i = 0; i < rows_.size(); ++i) bind_row(insert, rows_[i], i);
  const int code = database_->try_run(insert);
  if (code == SQLITE_DONE) return true;
  if (code == SQLITE_CONSTRAINT_UNIQUE) return false;
  throw SQLite::Exception(database_->handle().getHandle(), code);
}

std::optional<Error> SqliteJournals::insert_one(const Row& row) {
  SQLite::Statement& insert = statements_->insert_record;
  bind_row(insert, row, 0);
  const int code = database_->try_run(insert);
  if (code == SQLITE_DONE) return std::nullopt;
  if (code == SQLITE_CONSTRAINT_UNIQUE) return settle_duplicate(row);
  throw SQLite::Exception(database_->handle().getHandle(), code);
}

// Empty if the stored row is the same: its commit's reply was lost, or insert_together() stored it.
std::optional<Error> SqliteJournals::settle_duplicate(const Row& row) {
  const Lease& lease = *row.lease;
  const Record& record = *row.record;
  SQLite::Statement& find = statements_->find_record;
  const StatementUse use(find);
  find.bind(1, lease.handle);
  find.bind(2, static_cast<std::int64_t>(record.seq()));
  if (find.executeStep()) {
    const auto body = find.getColumn(4);
    const std::string_view stored(static_cast<const char*>(body.getBlob()),
                                  static_cast<std::size_t>(body.getBytes()));
    if (find.getColumn(1).getInt() == static_cast<int>(record.kind()) &&
        find.getColumn(2).getInt64() == milliseconds(record.time()) && stored == body_of(row)) {
      return std::nullopt;
    }
  }
  return database_->error(Errc::conflict, "record " + std::to_string(record.seq()) + " of run \"" +
                                              lease.run +
                                              "\" is stored already, with other content");
}

void SqliteJournals::note_commit(const Lease& lease, RunStatus stored, RunStatus status) {
  const auto now = std::chrono::steady_clock::now();
  Held& held = held_[lease.handle];
  if (held.epoch == lease.epoch && status == stored &&
      now - held.renewed < lease_timeout_ / renewals_a_timeout) {
    return;
  }
  statements_->note_commit.bind(1, lease.handle);
  statements_->note_commit.bind(2, static_cast<int>(status));
  database_->run(statements_->note_commit);
  if (held.epoch != lease.epoch) held.holder = lease.holder;
  held.epoch = lease.epoch;
  held.renewed = now;
}

// The renewals in note_commit() were rolled back too; the next commit renews again.
void SqliteJournals::forget_renewals(std::span<const AppendBatch> batches) {
  for (const AppendBatch& batch : batches) {
    if (const auto held = held_.find(batch.lease.handle); held != held_.end()) {
      held->second.renewed = {};
    }
  }
}

}  // namespace triage::inline v0_1::detail
