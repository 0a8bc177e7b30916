// SPDX-License-Identifier: MIT
#pragma once
// The interface between the core and durable storage: append-only journals, leases, and a small key
// space.

#include "triage/checkpoint.hpp"
#include "triage/key_space.hpp"
#include "triage/record.hpp"
#include "triage/result.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

namespace detail {
class CommitQueue;
}

// What survives after append() has returned. Each level includes the previous one.
enum class Durability : std::uint8_t {
  none,     // Nothing survives the process.
  process,  // Survives kill -9, not a power cut.
  power,    // Survives a power cut, if the disk honours fsync.
};
[[nodiscard]] std::string_view to_string(Durability level) noexcept;

// Stored; do not change the values.
enum class RunStatus : std::uint8_t {
  running = 1,    // In progress, or its process died: see RunInfo::owned.
  finished = 2,   // Returned a result.
  escalated = 3,  // resume_run continues this and the next four (aborted: if revived).
  aborted = 4,
  cancelled = 5,
  suspended = 6,
  failed = 7,    // The library could not continue, for example because of its store.
  poisoned = 8,  // Its process died repeatedly; continued only with ResumeOptions::revive.
};
[[nodiscard]] std::string_view to_string(RunStatus status) noexcept;
[[nodiscard]] std::optional<RunStatus> parse_run_status(std::string_view name) noexcept;

struct RunInfo {
  RunId id{};
  std::string agent{};  // AgentOptions::name.
  std::string label{};  // RunOptions::label; empty if none.
  RunId parent{};       // The run whose attempt started this one; empty if none.
  RunStatus status = RunStatus::running;
  WallTime started{};
  WallTime updated{};
  bool owned = false;  // A live owner holds the lease now.
  Sequence last = 0;   // Sequence of the newest record.
  // This entry failed verification: the run is listed, but cannot be resumed.
  bool damaged = false;
};

// The right to append to one run's journal. The epoch is a fencing token: it grows with every
// acquisition, and appends under an older one are refused.
struct Lease {
  RunId run{};
  std::uint64_t epoch = 0;
  std::int64_t handle = 0;  // Private to the store.
  // Shared by all copies. If set, the store may give the run to its own process again once no copy
  // is left (the answer of acquire() was lost, or nobody could release it). Null: the lease is held
  // until it is released.
  std::shared_ptr<const void> holder{};
};

// One run's part of a group commit.
struct AppendBatch {
  Lease lease{};
  std::span<const Record> records{};
  RunStatus status = RunStatus::running;      // The run's status after these records.
  Result<void> outcome = outcome::success();  // Set by append_group.
};

struct SequenceRange {
  Sequence first = 1;
  Sequence last = std::numeric_limits<Sequence>::max();  // Inclusive.
};

// A record that failed verification. It stays where it is and is never used.
struct DamagedRecord {
  Sequence seq = 0;
  Error error{};
  std::optional<RecordKind> kind{};  // As stored, unverified; empty: unknown.
};

// Consecutive intact state changes, without their content: a later snapshot repeats it.
struct SupersededChanges {
  Sequence first = 0;
  Sequence last = 0;
  WallTime time{};  // Of the last one.
};

struct JournalReading {
  RunInfo info{};
  std::vector<Record> records{};         // Intact ones, ascending.
  std::vector<DamagedRecord> damaged{};  // Those that failed verification, ascending.
  // Left out of `records`, by read_newest() only; ascending.
  std::vector<SupersededChanges> superseded{};
  Sequence state_from = 0;  // This reading does not tell the state at earlier positions.
};

struct RunQuery {
  std::string agent{};  // Empty: any.
  std::string label{};
  RunId parent{};
  std::optional<RunStatus> status{};
  std::optional<WallTime> started_since{};  // Inclusive.
  std::optional<WallTime> started_until{};  // Exclusive.
  std::size_t limit = 1000;                 // Newest first. 0: no limit.
};

struct Retention {
  std::optional<WallTime> keep_since{};      // Runs updated earlier may be removed.
  std::optional<std::size_t> keep_newest{};  // At most this many runs of an agent are kept.
  bool only_ended = true;                    // Never removes running or suspended runs.
};

struct StoreCapabilities {
  Durability durability = Durability::none;
  bool shared_by_processes = false;
  // False: append() is only called at drains, on the run's own thread (see stores/simple.hpp).
  bool background_appends = true;
  // While it waits, a run renews its lease at this interval, if processes share the store. 0:
  // leases do not expire.
  std::chrono::milliseconds renew_every{10'000};
};

namespace detail {

// A run's keys in own_space().
struct RunKeys {
  std::vector<std::string> tickets{};  // Keys in `suspensions`.
  std::string signals{};               // Prefix of its keys in `signals`.
  std::string label{};                 // Key in `forks`, if its value is the run's id; else empty.
};
// Without tickets, which are in the run's records.
[[nodiscard]] RunKeys keys_of(const RunInfo& run);
// The key named in the body of a `suspended` record; empty if none.
[[nodiscard]] std::string ticket_of(const Record& suspended);

}  // namespace detail

// Append-only journals of runs.
//
// Thread-safety: all members may be called from several threads at once.
// Errors of all members: Errc::io, Errc::busy (after a bounded wait), Errc::corrupt,
// Errc::unsupported (used after fork()), Errc::invalid_argument (run id).
class CheckpointStore : public KeySpace {
 public:
  CheckpointStore();
  ~CheckpointStore() override;
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  [[nodiscard]] virtual StoreCapabilities capabilities() const noexcept = 0;

  // Atomically creates a run, appends its first records and takes the lease. If this owner has
  // already started the run with the same records (the answer was lost) and nothing followed,
  // succeeds. Errors: Errc::conflict if another run has this id.
  [[nodiscard]] virtual Result<Lease> start(const RunInfo& run,
                                            std::span<const Record> records) = 0;
  // Takes over an existing run. A lease whose owner is certainly dead is free at once.
  // Errors: Errc::not_found; Errc::busy while a live owner holds it.
  [[nodiscard]] virtual Result<Lease> acquire(const RunId& run) = 0;
  // Keeps the lease from expiring between appends. Errors: Errc::fenced.
  [[nodiscard]] virtual Result<void> renew(const Lease& lease) = 0;
  // Gives up the lease; later appends under it are fenced. Harmless if it is already lost.
  [[nodiscard]] virtual Result<void> release(const Lease& lease) = 0;

  // Appends all records or none; on success they are durable at the store's level. Records already
  // stored with the same content count as appended (the answer to a commit was lost).
  // Errors: Errc::fenced if a newer lease exists; Errc::conflict if a sequence is already stored
  // with other content.
  [[nodiscard]] virtual Result<void> append(const Lease& lease, std::span<const Record> records,
                                            RunStatus status) = 0;
  // Appends the batches of several runs, in one transaction if the store has them. Each batch is
  // atomic and gets its own outcome. The default calls append() for each.
  virtual void append_group(std::span<AppendBatch> batches);

  // Reads and verifies. Errors: Errc::not_found. Damage is reported in the reading, not as an
  // error.
  [[nodiscard]] virtual Result<JournalReading> read(const RunId& run, SequenceRange range) = 0;
  // Reads and verifies what is needed to resume. May leave out state changes that do not affect the
  // newest position, so that a long run costs only what remains. The default reads everything.
  [[nodiscard]] virtual Result<JournalReading> read_newest(const RunId& run);
  [[nodiscard]] virtual Result<std::vector<RunInfo>> runs(const RunQuery& query) = 0;
  [[nodiscard]] virtual Result<RunInfo> run(const RunId& id) = 0;

  // Restores a position; the default replays what read() returns.
  // Errors: Errc::not_found; Errc::corrupt if a needed record is damaged.
  [[nodiscard]] virtual Result<Checkpoint> load(const CheckpointId& id);
  // Restores only the state; may be much cheaper than load().
  [[nodiscard]] virtual Result<State> load_state(const CheckpointId& id);
  // The checkpoints of a run, oldest first.
  [[nodiscard]] virtual Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run);
  // The newest intact position, even inside an open step.
  [[nodiscard]] virtual Result<Checkpoint> latest(const RunId& run);

  // Removes a run, its records and its keys: see erase_keys(). Errors: Errc::busy while a live
  // owner holds it; Errc::not_found, then also without what may have been left of its keys.
  [[nodiscard]] virtual Result<void> erase(const RunId& run) = 0;
  // Returns the number of removed runs. Never removes a run that a live owner holds, nor one whose
  // parent is running or suspended, and may ask for its result again.
  [[nodiscard]] virtual Result<std::size_t> prune(const Retention& retention);
  // Removes the given runs, except those that do not exist or that a live owner holds; returns how
  // many it removed. Appends by others need not wait for the whole batch. The default calls
  // erase().
  [[nodiscard]] virtual Result<std::size_t> erase_all(std::span<const RunId> runs);
  // Problems of the store itself, beyond those that reading its runs reports, a sentence each. The
  // default finds none. May take as long as reading everything.
  [[nodiscard]] virtual Result<std::vector<std::string>> check();

  // Called by the queue's thread after a moment without writes. The default does nothing; SQLite
  // checkpoints its write-ahead log. Exceptions are ignored.
  virtual void idle() {}

  // A condition that an operator should know but that fails no call, such as a reader that keeps
  // the store from shrinking. Returned once, then empty until there is a new one; runs report it as
  // `store_warning`.
  [[nodiscard]] virtual std::string take_warning() { return {}; }

  // The queue shared by all runs on this store. Created on first use.
  [[nodiscard]] detail::CommitQueue& queue();

 protected:
  // Removes a run's keys from the library's own spaces: token hashes, signals, a branch's label; a
  // later run with the same id would find them. Uses list, get and erase_if of this store. For
  // erase(): call it before the run goes, and while nobody can take it, with what read() gave. Keys
  // stay in a store that cannot remove them (Errc::unsupported).
  [[nodiscard]] Result<void> erase_keys(const JournalReading& run);

  // Every store calls this first in its destructor: joins the queue's thread, which may still
  // release a run or call idle().
  void stop_queue() noexcept;

 private:
  std::once_flag queue_made_{};
  std::unique_ptr<detail::CommitQueue> queue_;
};

}  // namespace triage::inline v0_1
