// SPDX-License-Identifier: MIT
#pragma once
// A checked connection to a store's file: opening, transactions, keeping the log short, errors.
// Only stores/sqlite*.cpp see SQLiteCpp and sqlite3.

#include "sqlite_files.hpp"
#include "sqlite_lock_wait.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::detail {

// "tria": marks files that are ours alone (PRAGMA application_id).
inline constexpr std::int64_t sqlite_application_id = 0x74726961;
// PRAGMA user_version and meta.triage_format. Grows when older versions could misread a file.
inline constexpr std::int64_t sqlite_format = 2;

// Thread-safety: none; its owner locks. Members throw SQLite::Exception unless they say otherwise.
class SqliteDatabase {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path,
                                                                    const SqliteOptions& options);
  [[nodiscard]] static Result<std::unique_ptr<SqliteDatabase>> adopt(
      std::unique_ptr<SQLite::Database> connection, const SqliteOptions& options);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  [[nodiscard]] SQLite::Database& handle() noexcept { return *database_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }  // Quoted.
  [[nodiscard]] bool in_memory() const noexcept { return in_memory_; }
  [[nodiscard]] Durability durability() const noexcept { return durability_; }
  // Less than sqlite_format only where the file is opened read-only.
  [[nodiscard]] std::int64_t format() const noexcept { return format_; }

  // Takes the write lock at once, waiting for other processes at most busy_timeout.
  void begin_write();
  void begin_read() { run(begin_read_); }
  // Throws too if the file is not where it was opened any more: what is written there is lost.
  void commit();
  // Ends a transaction without effect, if one is open. Never throws.
  void rollback() noexcept;

  // The file is still what was looked at: an answer from a file that is read without locks counts
  // only then. Always true where there are locks.
  [[nodiscard]] bool unchanged() const;
  // Opens the same file again.
  [[nodiscard]] Result<std::unique_ptr<SqliteDatabase>> reopen() const;

  // Executes a statement that returns no row, and resets it.
  void run(SQLite::Statement& statement);
  // The same, returning SQLite's extended code; throws for none.
  [[nodiscard]] int try_run(SQLite::Statement& statement) noexcept;

  // Folds the write-ahead log into the file if it is larger than the options allow. A failure is
  // not an error: everything committed is in the log, and the next call tries again.
  void checkpoint_log_if_large() noexcept;
  void checkpoint_log() noexcept;
  // For when the disk is full: gives back what the log takes. True if it was cut to nothing.
  [[nodiscard]] bool make_room() noexcept;
  // Whether take_warning() has something to say; may be asked without the lock.
  [[nodiscard]] bool has_warning() const noexcept { return has_warning_; }
  // Why the log stays long; empty if it does not, or if that was told before.
  [[nodiscard]] std::string take_warning() {
    has_warning_ = false;
    return std::exchange(warning_, {});
  }

  // `doing` completes the sentence "sqlite store X: …".
  [[nodiscard]] Error translate(const SQLite::Exception& e, std::string_view doing) const;
  [[nodiscard]] Error error(Errc code, std::string_view text) const;

 private:
  SqliteDatabase(std::unique_ptr<SQLite::Database> database, std::string name, bool in_memory,
                 const SqliteOptions& options);
  void configure(const SqliteOptions& options);
  // Folds all of the log and cuts its file, once writers and readers let it.
  bool truncate_log(std::chrono::milliseconds wait) noexcept;
  bool wait_for_short_log() noexcept;

  std::unique_ptr<SQLite::Database> database_;  // Before the statements: it must close after them.
  std::string name_;                            // For messages.
  std::string path_;                            // As SQLite opened it; empty in memory.
  bool in_memory_;
  Durability durability_;
  std::int64_t format_;
  std::uint64_t wal_checkpoint_bytes_;
  std::chrono::milliseconds busy_timeout_;
  LockWait lock_wait_;
  SqliteOptions options_{};
  std::optional<FilePrint> looked_at_{};  // Of a file that is read without locks.
  std::uint64_t page_size_ = 4096;
  std::uint64_t log_pages_ = 0;  // Frames in the write-ahead log, all processes' commits included.
  std::uint64_t checkpoint_at_pages_ = 0;
  std::string warning_;
  std::atomic<bool> has_warning_{false};
  bool warned_ = false;  // Of the readers that keep the log long now.
  SQLite::Statement begin_write_;
  SQLite::Statement begin_read_;
  SQLite::Statement commit_;
  SQLite::Statement rollback_;
};

// Of our tables; 0: there are none. Throws SQLite::Exception.
[[nodiscard]] std::int64_t stored_sqlite_format(SQLite::Database& database);
// Checks what the file is. Returns the format of our tables, or 0 if they can be made in it,
// `beside` another program's where it has any. Errors: Errc::unsupported, Errc::corrupt. Both throw
// SQLite::Exception.
[[nodiscard]] Result<std::int64_t> find_sqlite_schema(SQLite::Database& database,
                                                      const std::string& name, bool beside,
                                                      bool read_only);
// Makes the tables, or brings those of an older format up to date, unless another process was
// first. Errors: as above.
[[nodiscard]] Result<void> make_sqlite_schema(SQLite::Database& database, const std::string& name,
                                              bool beside);

[[nodiscard]] Error sqlite_error(const SQLite::Exception& e, std::string_view name,
                                 std::string_view doing);

}  // namespace triage::inline v0_1::detail
