// SPDX-License-Identifier: MIT
#pragma once
// A store in one SQLite file: journals that survive kill -9, or power loss.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace SQLite {
class Database;
}

namespace triage::inline v0_1 {

struct SqliteOptions {
  // process: PRAGMA synchronous = NORMAL in WAL mode. power: FULL, one fsync a commit.
  // Empty: process for a file, none for ":memory:", which can give no other.
  std::optional<Durability> durability{};
  // How long a call waits for another process's lock before it is Errc::busy. 0 to 1 hour.
  std::chrono::milliseconds busy_timeout{5'000};
  // How long a lease lives without a commit where the owner cannot be checked (another host).
  std::chrono::milliseconds lease_timeout{30'000};  // 1 s to 1 day.
  // The write-ahead log is folded into the file when it grows beyond this, or when idle. However
  // many processes write, it stays within four times this, unless somebody reads an old state for
  // long or one transaction is larger; who does is told by take_warning().
  std::uint64_t fold_at_bytes = 16U << 20U;
  // For looking at a store; every write is Errc::unsupported. Nothing is left beside the file, and
  // neither it nor its folder need be writable.
  bool read_only = false;
  std::string vfs{};  // Name of a registered SQLite VFS; empty: the default one.
};

class SqliteStore : public CheckpointStore {
 public:
  // path: a file name, "sqlite:PATH", "sqlite://PATH", or ":memory:". The file is made if it is
  // missing. Errors: Errc::invalid_argument (empty path, a folder, options out of range),
  // Errc::corrupt (no database, or a damaged one), Errc::unsupported (another program's database, a
  // newer format, a level it cannot give, or a network file system), Errc::not_found (read_only,
  // and there is no file), Errc::io, Errc::busy. After fork(), every member is Errc::unsupported in
  // the child. A new file can be read and written by its owner only (0600); what it holds is not
  // encrypted. A file that is removed or replaced while it is open is Errc::io when something is
  // written. Format 1 is brought up to date in place, unless read_only.
  [[nodiscard]] static Result<std::shared_ptr<SqliteStore>> open(const std::string& path,
                                                                 const SqliteOptions& options = {});
  // Uses a connection that is already open (and nothing else uses from now on). Its tables are made
  // beside what is there; durability is set as asked for.
  [[nodiscard]] static Result<std::shared_ptr<SqliteStore>> open(
      std::unique_ptr<SQLite::Database> connection, const SqliteOptions& options = {});

  // Takes a run away from its owner, for an operator: the run is free, and what the owner still
  // appends is Errc::fenced. Its effect in flight, if there is one, stays in doubt. Returns who had
  // the run, as text; empty if it was free. Unless `force`: Errc::busy while the owner is alive and
  // not stopped, or was heard of within lease_timeout on another host; Errc::corrupt if the run's
  // row is damaged (with `force` it counts as it is from then on). Errors: Errc::not_found too.
  [[nodiscard]] virtual Result<std::string> free_run(const RunId& run, bool force) = 0;
};

}  // namespace triage::inline v0_1
