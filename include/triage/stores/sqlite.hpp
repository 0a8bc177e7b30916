// SPDX-License-Identifier: MIT
#pragma once
// A store in one SQLite file: journals that survive kill -9 or power loss.

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
  // process: PRAGMA synchronous = NORMAL in WAL mode. power: FULL, one fsync per commit.
  // Empty: process for a file; none for ":memory:", which supports no other level.
  std::optional<Durability> durability{};
  // How long to wait for another process's lock before Errc::busy. 0 to 1 hour.
  std::chrono::milliseconds busy_timeout{5'000};
  // How long a lease lasts without a commit if its owner cannot be checked (another host).
  std::chrono::milliseconds lease_timeout{30'000};  // 1 s to 1 day.
  // The write-ahead log is checkpointed above this size, or when idle. With any number of writing
  // processes it stays within four times this, unless a reader holds an old state for long or one
  // transaction is larger; take_warning() reports that.
  std::uint64_t wal_checkpoint_bytes = 16U << 20U;
  // For inspecting a store: writes are Errc::unsupported. Leaves nothing beside the file; neither
  // the file nor its folder need be writable.
  bool read_only = false;
  std::string vfs{};  // Name of a registered SQLite VFS; empty: the default one.
};

class SqliteStore : public CheckpointStore {
 public:
  // path: a file name, "sqlite:PATH", "sqlite://PATH", or ":memory:". Creates a missing file,
  // accessible to its owner only (0600); the data is not encrypted. Migrates format 1 in place,
  // unless read_only.
  // Errors: Errc::invalid_argument (empty path, a folder, options out of range), Errc::corrupt (not
  // a database, or a damaged one), Errc::unsupported (another program's database, a newer format,
  // an unsupported durability, a network file system), Errc::not_found (read_only without a file,
  // or with one in which no store has been made), Errc::io, Errc::busy. Writing to a file removed
  // or replaced while open is Errc::io. After fork(), every member is Errc::unsupported in the
  // child.
  [[nodiscard]] static Result<std::shared_ptr<SqliteStore>> open(const std::string& path,
                                                                 const SqliteOptions& options = {});
  // Uses an open connection, which nothing else may use from now on. Creates its tables beside
  // existing ones and sets the requested durability.
  [[nodiscard]] static Result<std::shared_ptr<SqliteStore>> open(
      std::unique_ptr<SQLite::Database> connection, const SqliteOptions& options = {});

  // For operators: takes a run from its owner. The run is then free, and the owner's appends are
  // Errc::fenced; its effect in flight, if any, stays in doubt. Returns the former owner as text,
  // empty if there was none. Errors, unless `force`: Errc::busy if the owner is alive and not
  // stopped, or was active within lease_timeout on another host; Errc::corrupt if the run's row is
  // damaged (`force` accepts it as it is). Always: Errc::not_found.
  [[nodiscard]] virtual Result<std::string> free_run(const RunId& run, bool force) = 0;
};

}  // namespace triage::inline v0_1
