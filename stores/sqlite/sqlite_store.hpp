// SPDX-License-Identifier: MIT
#pragma once
// The SQLite store's implementation: statements, leases held, and the lock that guards them.

#include "sqlite_database.hpp"
#include "storage/own_process.hpp"
#include "storage/owner_mark.hpp"
#include "triage/compaction.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// The largest body that is written or read; anything larger is damaged or a mistake.
inline constexpr std::size_t largest_record_body = std::size_t{256} << 20U;

// A commit renews its lease in the file after this fraction of lease_timeout: an UPDATE in every
// commit would take a third of its time.
inline constexpr int renewals_a_timeout = 4;

// Groups are inserted this many rows at a time, which halves the time per row.
inline constexpr std::size_t rows_a_statement = 16;
inline constexpr int parameters_a_row = 7;

// How often a file read without locks is re-read because it was written meanwhile.
inline constexpr int most_looks = 3;

// Resets a statement at the end of a scope.
class StatementUse {
 public:
  explicit StatementUse(SQLite::Statement& statement) noexcept : statement_(statement) {}
  ~StatementUse() { statement_.tryReset(); }
  StatementUse(const StatementUse&) = delete;
  StatementUse& operator=(const StatementUse&) = delete;

 private:
  SQLite::Statement& statement_;
};

// Binds bytes without copying; they must outlive the statement's next reset.
inline void bind_bytes(SQLite::Statement& statement, int index, std::string_view bytes) {
  statement.bindNoCopy(index, static_cast<const void*>(bytes.empty() ? "" : bytes.data()),
                       static_cast<int>(bytes.size()));
}

// The same for text.
inline void bind_text(SQLite::Statement& statement, int index, const std::string& text) {
  statement.bindNoCopy(index, text);
}

inline std::int64_t milliseconds(WallTime time) { return time.time_since_epoch().count(); }

// A row of the table `runs`, with what its records add.
struct RunRow {
  std::int64_t run = 0;
  std::uint64_t epoch = 0;
  std::string owner{};         // Empty: none.
  std::int64_t unseen_ms = 0;  // Since the lease's last renewal, by the database's clock.
  RunInfo info{};              // `damaged`: the row does not match its checksum.
};

class SqliteJournals final : public SqliteStore, public CompactsRuns {
 public:
  SqliteJournals(std::unique_ptr<SqliteDatabase> database, const SqliteOptions& options,
                 std::uint64_t store_number);
  ~SqliteJournals() override;

  [[nodiscard]] StoreCapabilities capabilities() const noexcept override;
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<void> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override;
  void append_group(std::span<AppendBatch> batches) override;
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override;
  Result<JournalReading> read(const RunId& run, SequenceRange range) override;
  Result<JournalReading> read_newest(const RunId& run) override;
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override;
  Result<RunInfo> run(const RunId& id) override;
  Result<State> load_state(const CheckpointId& id) override;
  Result<void> erase(const RunId& run) override;
  Result<std::size_t> erase_all(std::span<const RunId> runs) override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;
  void idle() override;
  Result<std::vector<std::string>> check() override;
  Result<std::string> free_run(const RunId& run, bool force) override;
  std::string take_warning() override;

 private:
  struct Statements;
  struct Row {  // A record to be inserted; its body is part of buffer_.
    const Lease* lease;
    const Record* record;
    std::size_t begin;
    std::size_t size;
    std::uint32_t crc;
  };
  struct Held {  // A lease of this object; free once its holder is gone.
    std::uint64_t epoch = 0;
    std::chrono::steady_clock::time_point renewed{};  // When it was last renewed in the file.
    std::weak_ptr<const void> holder{};
  };
  struct Settled {  // The result of append_together().
    bool committed = false;
    std::optional<Error> error{};  // Why nothing was written.
    bool full = false;             // Because the disk is full.
  };

  void forget_keys(const RunRow& row);
  // The version of a key, 0 if it does not exist; and the error if it is not the expected one.
  [[nodiscard]] Result<std::uint64_t> key_version(std::string_view space, std::string_view key);
  [[nodiscard]] Error damaged_key(std::string_view key) const;
  [[nodiscard]] Error other_version(std::string_view key, std::uint64_t stored,
                                    std::uint64_t expected);

  // Runs `f` under the lock; no exception escapes, and none leaves a transaction open.
  template <class F>
  auto guarded(std::string_view doing, F&& f) -> decltype(f()) {
    if (auto usable = process_.check("SQLite"); !usable) return std::move(usable).error();
    const std::scoped_lock lock(mutex_);
    for (int look = 0, full = 0; look < most_looks;) {
      try {
        if (auto current = look_again(); !current) return std::move(current).error();
        auto result = f();
        database_->rollback();  // No effect after a commit.
        if (database_->unchanged()) return result;
        ++look;
      } catch (const SQLite::Exception& e) {
        database_->rollback();
        const bool first = e.getErrorCode() == SQLITE_FULL && ++full == 1;
        if (!first || !database_->make_room()) return database_->translate(e, doing);
      } catch (const std::exception& e) {
        database_->rollback();
        return database_->error(Errc::io, std::string(doing) + ": " + e.what());
      }
    }
    return database_->error(Errc::busy,
                            std::string(doing) + ": somebody writes the file just now; try again");
  }
  // The same for operations that write.
  template <class F>
  auto guarded_write(std::string_view doing, F&& f) -> decltype(f()) {
    if (read_only_) {
      return Error{Errc::unsupported, std::string("this store is opened read-only, so ") +
                                          std::string(doing) + " is not allowed"};
    }
    return guarded(doing, std::forward<F>(f));
  }

  [[nodiscard]] OwnerLife life_of_owner(const RunRow& row) const;
  [[nodiscard]] bool owned(const RunRow& row) const;
  void release_again();
  [[nodiscard]] Error no_such_run(const RunId& run) const;
  [[nodiscard]] static Error fenced(const Lease& lease, const std::string& why);

  // Reopens a file that is read without locks if it has changed.
  [[nodiscard]] Result<void> look_again();

  // Call the members below under the lock, and inside a transaction if they write. Empty: the run
  // certainly does not exist. Errors: Errc::corrupt if the file contradicts itself.
  [[nodiscard]] Result<std::optional<RunRow>> find_run(const RunId& run);
  [[nodiscard]] std::optional<RunRow> row_at(std::int64_t number);
  // Why a run may exist although the index of run ids does not list it.
  [[nodiscard]] std::optional<Error> find_hidden(const RunId& run);
  [[nodiscard]] Error damaged_run(const RunId& run, const std::string& why) const;
  [[nodiscard]] Result<RunRow> intact_run(const RunId& run);
  [[nodiscard]] Result<Lease> started_before(const RunId& run, std::span<const Record> records);
  [[nodiscard]] Settled append_together(std::span<AppendBatch> batches);
  [[nodiscard]] Settled try_together(std::span<AppendBatch> batches);
  [[nodiscard]] std::optional<Error> check_lease(const Lease& lease, RunStatus& stored);
  [[nodiscard]] std::optional<Error> insert(const Lease& lease, std::span<const Record> records);
  [[nodiscard]] std::optional<Error> encode(const Lease& lease, const Record& record);
  [[nodiscard]] std::optional<Error> insert_rows();
  [[nodiscard]] bool insert_together();
  [[nodiscard]] std::optional<Error> insert_one(const Row& row);
  [[nodiscard]] std::optional<Error> settle_duplicate(const Row& row);
  void forget_rows() noexcept {
    rows_.clear();
    buffer_.clear();
  }
  void bind_row(SQLite::Statement& insert, const Row& row, std::size_t at) const;
  [[nodiscard]] std::string_view body_of(const Row& row) const {
    return std::string_view(buffer_).substr(row.begin, row.size);
  }
  [[nodiscard]] Lease lend(Lease lease, std::chrono::steady_clock::time_point renewed);
  void note_commit(const Lease& lease, RunStatus stored, RunStatus status);
  void forget_renewals(std::span<const AppendBatch> batches);
  [[nodiscard]] std::optional<Error> take_away(const RunId& run, std::size_t& room);
  [[nodiscard]] Result<bool> erase_some_left_over();
  void erase_left_over();
  [[nodiscard]] bool scan(const RunRow& row, SequenceRange range, JournalReading& out);
  void salvage(const RunRow& row, SequenceRange range, JournalReading& out);
  void find_unlisted(const RunRow& row, SequenceRange range, JournalReading& out);
  void check_runs(std::vector<std::string>& problems);
  void check_values(std::vector<std::string>& problems);
  [[nodiscard]] bool is_position(std::int64_t run, const RunId& id, Sequence at);
  [[nodiscard]] Result<std::optional<State>> quick_state(const CheckpointId& id);

  const OwnProcess process_{};
  const bool read_only_;
  const std::chrono::milliseconds lease_timeout_;
  std::mutex mutex_;
  OwnerMark mark_;                            // This process and store object.
  std::unique_ptr<SqliteDatabase> database_;  // Before the statements, which must be closed first.
  std::unique_ptr<Statements> statements_;
  std::vector<Row> rows_;                        // For one statement.
  std::string buffer_;                           // Their bodies, encoded.
  std::unordered_map<std::int64_t, Held> held_;  // The leases of this object, by run number.
};

}  // namespace triage::inline v0_1::detail
