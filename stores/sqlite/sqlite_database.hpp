// SPDX-License-Identifier: MIT
#pragma once
// A checked connection to a store's file: opening, transactions, log truncation, errors. Only
// stores/sqlite*.cpp use SQLiteCpp and sqlite3.

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

// "tria": marks files that contain only our tables (PRAGMA application_id).
inline constexpr std::int64_t sqlite_application_id = 0x74726961;
// PRAGMA user_version and meta.triage_format. Grows when older versions could misread a file.
inline constexpr std::int64_t sqlite_format = 2;

// Thread-safety: none; its owner locks. Members throw SQLite::Exception unless stated otherwise.
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

  // Takes the write lock at once, waiting at most busy_timeout for other processes.
  void begin_write();
  void begin_read() { run(begin_read_); }
  // Also throws if the file was moved or removed, because what is written there is lost.
  void commit();
  // Rolls back an open transaction, if any. Never throws.
  void rollback() noexcept;

  // Whether the file is unchanged since it was looked at: an answer from a file read without locks
  // only counts then. Always true with locks.
  [[nodiscard]] bool unchanged() const;
  // Opens the same file once more.
  [[nodiscard]] Result<std::unique_ptr<SqliteDatabase>> reopen() const;

  // Executes a statement that returns no row, and resets it.
  void run(SQLite::Statement& statement);
  // The same, returning SQLite's extended code; does not throw.
  [[nodiscard]] int try_run(SQLite::Statement& statement) noexcept;

  // Copies the write-ahead log into the file if it is larger than the options allow. A failure is
  // harmless: everything committed is in the log, and the next call retries.
  void checkpoint_log_if_large() noexcept;
  void checkpoint_log() noexcept;
  // For a full disk: frees the log's space. True if the log was truncated to nothing.
  [[nodiscard]] bool make_room() noexcept;
  // Whether take_warning() would return anything; may be called without the lock.
  [[nodiscard]] bool has_warning() const noexcept { return has_warning_; }
  // Why the log stays long; empty if it does not, or if this was already reported.
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
  // Copies the whole log into the file and truncates it, as soon as writers and readers permit.
  bool truncate_log(std::chrono::milliseconds wait) noexcept;
  bool wait_for_short_log() noexcept;

  std::unique_ptr<SQLite::Database> database_;  // Declared first: closed after the statements.
  std::string name_;                            // For messages.
  std::string path_;                            // As opened by SQLite; empty if in memory.
  bool in_memory_;
  Durability durability_;
  std::int64_t format_;
  std::uint64_t wal_checkpoint_bytes_;
  std::chrono::milliseconds busy_timeout_;
  LockWait lock_wait_;
  SqliteOptions options_{};
  std::optional<FilePrint> looked_at_{};  // For a file read without locks.
  std::uint64_t page_size_ = 4096;
  std::uint64_t log_pages_ = 0;  // Frames in the write-ahead log, of all processes.
  std::uint64_t checkpoint_at_pages_ = 0;
  std::string warning_;
  std::atomic<bool> has_warning_{false};
  bool warned_ = false;  // About the readers that currently keep the log long.
  SQLite::Statement begin_write_;
  SQLite::Statement begin_read_;
  SQLite::Statement commit_;
  SQLite::Statement rollback_;
};

// Of our tables; 0: none. Throws SQLite::Exception.
[[nodiscard]] std::int64_t stored_sqlite_format(SQLite::Database& database);
// Identifies the file. Returns the format of our tables, or 0 if they can be created in it,
// `beside` another program's tables if it has any. Errors: Errc::unsupported, Errc::corrupt;
// Errc::not_found (read_only, and nothing is in the file). Both functions throw SQLite::Exception.
[[nodiscard]] Result<std::int64_t> find_sqlite_schema(SQLite::Database& database,
                                                      const std::string& name, bool beside,
                                                      bool read_only);
// Creates the tables, or migrates those of an older format, unless another process was first.
// Errors: as above.
[[nodiscard]] Result<void> make_sqlite_schema(SQLite::Database& database, const std::string& name,
                                              bool beside);

[[nodiscard]] Error sqlite_error(const SQLite::Exception& e, std::string_view name,
                                 std::string_view doing);

}  // namespace triage::inline v0_1::detail
