// SPDX-License-Identifier: MIT
#include "sqlite_database.hpp"

#include "sqlite_checksums.hpp"
#include "triage/clock.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds longest_busy_timeout = std::chrono::hours{1};
constexpr std::chrono::milliseconds shortest_lease = std::chrono::seconds{1};
constexpr std::chrono::milliseconds longest_lease = std::chrono::hours{24};
// How often opening is retried while another process creates or converts the same file.
constexpr std::chrono::milliseconds open_retry{5};
// How often a read-only opening is retried.
constexpr int most_missed = 3;

Result<void> check_range(const char* option, std::chrono::milliseconds value,
                         std::chrono::milliseconds least, std::chrono::milliseconds most) {
  if (value >= least && value <= most) return outcome::success();
  return Error{Errc::invalid_argument, std::string("SqliteOptions::") + option + " is " +
                                           std::to_string(value.count()) + " ms; allowed are " +
                                           std::to_string(least.count()) + " to " +
                                           std::to_string(most.count()) + " ms"};
}

Result<void> check_options(const SqliteOptions& options) {
  TRIAGE_TRYV(check_range("busy_timeout", options.busy_timeout, std::chrono::milliseconds{0},
                          longest_busy_timeout));
  return check_range("lease_timeout", options.lease_timeout, shortest_lease, longest_lease);
}

std::string in_quotes(std::string_view path) { return "\"" + printable(path) + "\""; }

Error refused(Errc code, const std::string& path, const std::string& why) {
  return {code, "sqlite store " + in_quotes(path) + " " + why};
}

// Refuses files that SQLite would misread, hang on or reject without a reason.
Result<void> check_file(const std::string& path, bool read_only) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  switch (status.type()) {
    case fs::file_type::regular: return outcome::success();
    case fs::file_type::directory:
      return refused(Errc::invalid_argument, path, "is a folder; give the name of a file in it");
    case fs::file_type::not_found: break;
    case fs::file_type::none: return outcome::success();  // Not visible: SQLite says why.
    default:
      return refused(Errc::invalid_argument, path, "is no regular file; give the name of a file");
  }
  if (read_only) return refused(Errc::not_found, path, "does not exist");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored)) {
    return refused(Errc::io, path,
                   "cannot be made: the folder " + in_quotes(folder.string()) + " does not exist");
  }
  return outcome::success();
}

// The write-ahead log lies beside the file, not beside a link to it.
std::string without_link(const std::string& path) {
  std::error_code problem;
  if (!fs::is_symlink(path, problem)) return path;
  const fs::path target = fs::weakly_canonical(path, problem);
  return problem ? path : target.string();
}

Result<Durability> choose_durability(const SqliteOptions& options, bool in_memory,
                                     const std::string& path) {
  if (!in_memory) return options.durability.value_or(Durability::process);
  if (options.durability.value_or(Durability::none) == Durability::none) return Durability::none;
  return refused(Errc::unsupported, path,
                 "lives in memory and cannot give durability " +
                     std::string(to_string(*options.durability)) + "; use a file, or ask for none");
}

// Settings that make a hostile file harmless and our writes fast; applied before anything is read.
void restrain(SQLite::Database& database) {
  sqlite3* raw = database.getHandle();
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // Reading another program's file must not checkpoint its log.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void use_write_ahead_log(SQLite::Database& database) {
  // Only affects new files. With pages of 4,096 bytes a page holds three steps of 1 KB and wastes a
  // quarter; with 8,192 the file is an eighth smaller and groups are written a quarter faster.
  database.exec("PRAGMA page_size = 8192");
  // The switch writes the file's header through a rollback journal. EXTRA syncs the folder when
  // that journal is deleted: if it came back after a power cut, it would undo everything written
  // since.
  database.exec("PRAGMA synchronous = EXTRA");
  database.exec("PRAGMA journal_mode = WAL");
}

bool has_write_ahead_log(SQLite::Database& database) {
  return database.execAndGet("PRAGMA journal_mode").getString() == "wal";
}

int count_log_pages(void* pages, sqlite3* /*raw*/, const char* database, int count) {
  if (std::string_view(database) == "main") {
    *static_cast<std::uint64_t*>(pages) = static_cast<std::uint64_t>(count);
  }
  return SQLITE_OK;
}

}  // namespace

SqliteDatabase::SqliteDatabase(std::unique_ptr<SQLite::Database> database, std::string name,
                               bool in_memory, const SqliteOptions& options)
    : database_(std::move(database)),
      name_(std::move(name)),
      path_(sqlite3_db_filename(database_->getHandle(), "main")),
      in_memory_(in_memory),
      durability_(options.durability.value_or(in_memory ? Durability::none : Durability::process)),
      format_(stored_sqlite_format(*database_)),
      wal_checkpoint_bytes_(options.wal_checkpoint_bytes),
      busy_timeout_(options.busy_timeout),
      lock_wait_(options.busy_timeout, real_random()->next()),
      options_(options),
      begin_write_(*database_, "BEGIN IMMEDIATE"),
      begin_read_(*database_, "BEGIN"),
      commit_(*database_, "COMMIT"),
      rollback_(*database_, "ROLLBACK") {
  configure(options);
}

SqliteDatabase::~SqliteDatabase() { rollback(); }

void SqliteDatabase::configure(const SqliteOptions& options) {
  SQLite::Database& database = *database_;
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                    options.read_only ? 1 : 0, nullptr);
  database.exec(durability_ == Durability::power     ? "PRAGMA synchronous = FULL"
                : durability_ == Durability::process ? "PRAGMA synchronous = NORMAL"
                                                     : "PRAGMA synchronous = OFF");
  // Keeps the default page cache of 2 MB: with more, appending touches new memory for longer and
  // takes a sixth more time.
  database.exec("PRAGMA cell_size_check = ON");
  lock_wait_.install(database.getHandle());
  if (in_memory_ || options.read_only) return;
  page_size_ = static_cast<std::uint64_t>(database.execAndGet("PRAGMA page_size").getInt64());
  checkpoint_at_pages_ = wal_checkpoint_bytes_ / page_size_;
  database.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = " +
                std::to_string(std::min<std::uint64_t>(wal_checkpoint_bytes_, 1ULL << 62U)));
  sqlite3_wal_hook(database.getHandle(), count_log_pages, &log_pages_);
}

namespace {

Result<std::unique_ptr<SQLite::Database>> connect(const std::string& path,
                                                  const SqliteOptions& options, bool in_memory,
                                                  std::optional<FilePrint>& looked_at) {
  int flags =
      (options.read_only ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) |
      SQLITE_OPEN_NOMUTEX;
  std::string name = in_memory ? path : plain_name(path);
  std::string vfs = options.vfs;
  bool exclusive = false;
  if (options.read_only && vfs.empty()) {
    Look look = choose_look(path);
    flags |= SQLITE_OPEN_URI;
    name = std::move(look.uri);
    looked_at = look.print;
    if (look.vfs != nullptr) vfs = look.vfs;
    exclusive = look.exclusive;
  } else if (!in_memory && vfs.empty()) {
    make_private_file(path);
  }
  auto database = std::make_unique<SQLite::Database>(
      name, flags, static_cast<int>(options.busy_timeout.count()), vfs);
  restrain(*database);
  add_checksum_function(*database);
  if (exclusive) database->exec("PRAGMA locking_mode = EXCLUSIVE");
  if (!in_memory && !options.read_only && sqlite3_db_readonly(database->getHandle(), "main") == 1) {
    return refused(Errc::io, path, "cannot be written; change its permissions");
  }
  return outcome::success(std::move(database));
}

Result<std::unique_ptr<SQLite::Database>> prepare(std::unique_ptr<SQLite::Database> database,
                                                  const std::string& path,
                                                  const SqliteOptions& options, bool in_memory,
                                                  bool beside) {
  TRIAGE_TRY(format, find_sqlite_schema(*database, in_quotes(path), beside, options.read_only));
  const bool has_log = !in_memory && !options.read_only;
  if (has_log && !has_write_ahead_log(*database)) use_write_ahead_log(*database);
  if (format < sqlite_format && !options.read_only) {
    TRIAGE_TRYV(make_sqlite_schema(*database, in_quotes(path), beside));
  }
  if (!has_log) return outcome::success(std::move(database));
  if (!has_write_ahead_log(*database)) {
    return refused(Errc::unsupported, path,
                   "lies where SQLite cannot keep a write-ahead log with shared memory (a network "
                   "file system?), and without one no durability can be given; use a local file");
  }
  return outcome::success(std::move(database));
}

}  // namespace

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& path,
                                                             const SqliteOptions& options) {
  TRIAGE_TRYV(check_options(options));
  constexpr std::string_view scheme = "sqlite:";
  std::string file = path.starts_with(scheme) ? path.substr(scheme.size()) : path;
  if (path.starts_with("sqlite://")) file.erase(0, 2);  // As in URLs: sqlite://x.db means x.db.
  if (file.empty() || file.find('\0') != std::string::npos) {
    return refused(Errc::invalid_argument, path,
                   "is not a file name; allowed are PATH, sqlite:PATH and :memory:");
  }
  const bool in_memory = file == ":memory:";
  TRIAGE_TRY(durability, choose_durability(options, in_memory, file));
  static_cast<void>(durability);
  if (in_memory && options.read_only) {
    return refused(Errc::invalid_argument, file, "is new and empty, so it cannot be read-only");
  }
  if (!options.vfs.empty() && sqlite3_vfs_find(options.vfs.c_str()) == nullptr) {
    return refused(Errc::invalid_argument, file,
                   "cannot be opened: no VFS " + in_quotes(options.vfs) + " is registered");
  }
  if (!in_memory && options.vfs.empty()) {
    TRIAGE_TRYV(check_file(file, options.read_only));
    file = without_link(file);
  }
  const auto deadline = std::chrono::steady_clock::now() + options.busy_timeout;
  int missed = 0;
  for (;;) {
    try {
      std::optional<FilePrint> looked_at;
      TRIAGE_TRY(fresh, connect(file, options, in_memory, looked_at));
      TRIAGE_TRY(database, prepare(std::move(fresh), file, options, in_memory, false));
      std::unique_ptr<SqliteDatabase> opened(
          new SqliteDatabase(std::move(database), in_quotes(file), in_memory, options));
      opened->path_ = file;
      opened->looked_at_ = looked_at;
      return outcome::success(std::move(opened));
    } catch (const SQLite::Exception& e) {
      // Switching to the write-ahead log reports a busy file at once, without the busy timeout. A
      // reader may miss the log while its last writer removes it.
      const bool again =
          e.getErrorCode() == SQLITE_BUSY || e.getErrorCode() == SQLITE_LOCKED ||
          (options.read_only && e.getErrorCode() == SQLITE_CANTOPEN && !(++missed > most_missed));
      if (!again || std::chrono::steady_clock::now() >= deadline) {
        return sqlite_error(e, in_quotes(file), "opening it");
      }
    }
    std::this_thread::sleep_for(open_retry);
  }
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::adopt(
    std::unique_ptr<SQLite::Database> connection, const SqliteOptions& options) {
  TRIAGE_TRYV(check_options(options));
  if (!connection) {
    return Error{Errc::invalid_argument, "the SQLite connection is null; give an open one"};
  }
  sqlite3* raw = connection->getHandle();
  const char* file = sqlite3_db_filename(raw, "main");
  const bool in_memory = file == nullptr || *file == '\0';
  const std::string path = in_memory ? std::string(":memory:") : std::string(file);
  if (sqlite3_get_autocommit(raw) == 0) {
    return refused(Errc::invalid_argument, path,
                   "has a transaction open; end it before handing the connection over");
  }
  if (sqlite3_db_readonly(raw, "main") == 1 && !options.read_only) {
    return refused(Errc::io, path, "is a read-only connection; set read_only = true");
  }
  TRIAGE_TRY(durability, choose_durability(options, in_memory, path));
  static_cast<void>(durability);
  try {
    connection->setBusyTimeout(static_cast<int>(options.busy_timeout.count()));
    add_checksum_function(*connection);
    TRIAGE_TRY(database, prepare(std::move(connection), path, options, in_memory, true));
    return std::unique_ptr<SqliteDatabase>(
        new SqliteDatabase(std::move(database), in_quotes(path), in_memory, options));
  } catch (const SQLite::Exception& e) {
    return sqlite_error(e, in_quotes(path), "opening it");
  }
}

void SqliteDatabase::begin_write() {
  lock_wait_.install(database_->getHandle());
  run(begin_write_);
}

void SqliteDatabase::commit() {
  int moved = 0;
  if (!in_memory_ && !options_.read_only &&
      sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
          SQLITE_OK &&
      moved != 0) {
    throw SQLite::Exception(
        "the file was removed, or another one has its place; what is written "
        "to it is lost",
        SQLITE_READONLY_DBMOVED);
  }
  run(commit_);
}

bool SqliteDatabase::unchanged() const { return !looked_at_ || take_print(path_) == *looked_at_; }

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::reopen() const {
  return open(path_, options_);
}

void SqliteDatabase::run(SQLite::Statement& statement) {
  const int code = statement.tryExecuteStep();
  if (code != SQLITE_DONE) {
    const SQLite::Exception e(database_->getHandle(), code);
    statement.tryReset();
    throw e;
  }
  statement.tryReset();
}

int SqliteDatabase::try_run(SQLite::Statement& statement) noexcept {
  const int code = statement.tryExecuteStep();
  const int extended = code == SQLITE_DONE ? code : database_->getExtendedErrorCode();
  statement.tryReset();
  return extended;
}

void SqliteDatabase::rollback() noexcept {
  if (sqlite3_get_autocommit(database_->getHandle()) == 0) static_cast<void>(try_run(rollback_));
}

Error SqliteDatabase::translate(const SQLite::Exception& e, std::string_view doing) const {
  return sqlite_error(e, name_, doing);
}

Error SqliteDatabase::error(Errc code, std::string_view text) const {
  return {code, "sqlite store " + name_ + ": " + std::string(text)};
}

}  // namespace triage::inline v0_1::detail
