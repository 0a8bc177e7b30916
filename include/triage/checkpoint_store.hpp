// SPDX-License-Identifier: MIT
#pragma once
// The seam between the core and durable storage: append-only journals and leases, beside a small
// key space.

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

// What survives, once append() has returned. Each level includes the one before.
enum class Durability : std::uint8_t {
  none,     // Nothing survives the process.
  process,  // Survives kill -9, not a power cut.
  power,    // Survives a power cut, as far as the disk keeps its word about fsync.
};
[[nodiscard]] std::string_view to_string(Durability level) noexcept;

// Persisted; the values do not change.
enum class RunStatus : std::uint8_t {
  running = 1,    // Under way, or its process died: see RunInfo::owned.
  finished = 2,   // Returned a result.
  escalated = 3,  // The four below can be continued by resume_run.
  aborted = 4,
  cancelled = 5,
  suspended = 6,
  failed = 7,    // The library could not go on, for example because of its store.
  poisoned = 8,  // Its process died again and again: continued by ResumeOptions::revive only.
};
[[nodiscard]] std::string_view to_string(RunStatus status) noexcept;
[[nodiscard]] std::optional<RunStatus> parse_run_status(std::string_view name) noexcept;

struct RunInfo {
  RunId id{};
  std::string agent{};  // AgentOptions::name.
  std::string label{};  // RunOptions::label; empty if none.
  RunId parent{};       // Run of the agent that called this one; empty if none.
  RunStatus status = RunStatus::running;
  WallTime started{};
  WallTime updated{};
  bool owned = false;  // A living owner holds the lease now.
  Sequence last = 0;   // Sequence of the newest record.
  // What is said here failed verification: the run is shown, but cannot be gone on with.
  bool damaged = false;
};

// The right to append to one run's journal. The epoch fences: it grows with every acquisition, and
// an append under an older one is refused.
struct Lease {
  RunId run{};
  std::uint64_t epoch = 0;
  std::int64_t handle = 0;  // The store's own; opaque.
  // Shared by all copies. A store that sets it may give the run to its own process again when no
  // copy is left: the answer of acquire() got lost, or nobody could release it. Null: the lease is
  // held until it is released.
  std::shared_ptr<const void> holder{};
};

// One run's share of a group commit.
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

// A record that failed verification. It is left where it is and never used.
struct DamagedRecord {
  Sequence seq = 0;
  Error error{};
  std::optional<RecordKind> kind{};  // As it is stored, which is not verified; empty: unknown.
};

// Intact state changes in a row, without what they changed: a later snapshot says it again.
struct SupersededChanges {
  Sequence first = 0;
  Sequence last = 0;
  WallTime time{};  // Of the last one.
};

struct JournalReading {
  RunInfo info{};
  std::vector<Record> records{};         // The intact ones, ascending.
  std::vector<DamagedRecord> damaged{};  // Those that failed verification, ascending.
  // Only read_newest() leaves these out of `records`; ascending.
  std::vector<SupersededChanges> superseded{};
  Sequence state_from = 0;  // The state at positions before it cannot be told from this reading.
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
  std::optional<WallTime> keep_since{};      // Runs updated before may go.
  std::optional<std::size_t> keep_newest{};  // At most this many runs of an agent stay.
  bool only_ended = true;                    // Never touch running or suspended runs.
};

struct StoreCapabilities {
  Durability durability = Durability::none;
  bool shared_by_processes = false;
  // False: append() is only called at drains, on the run's own thread (see stores/simple.hpp).
  bool background_appends = true;
  // A run that waits for longer than this renews its lease so often, if processes share the store.
  // 0: leases do not expire.
  std::chrono::milliseconds renew_every{10'000};
};

namespace detail {

// What lies in own_space() for one run.
struct RunKeys {
  std::vector<std::string> tickets{};  // Keys in `suspensions`.
  std::string signals{};               // How its keys in `signals` begin.
  std::string label{};                 // Key in `forks`, if its value is the run's id; empty: none.
};
// Without tickets: those are in the run's records.
[[nodiscard]] RunKeys keys_of(const RunInfo& run);
// The key that the body of a `suspended` names; empty if it names none.
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

  // Creates a run and appends its first records, all in one step. The lease is taken with it. A run
  // that this owner has started with the same records, and that holds nothing else yet, counts as
  // started (an answer that got lost). Errors: Errc::conflict if another run has this id.
  [[nodiscard]] virtual Result<Lease> start(const RunInfo& run,
                                            std::span<const Record> records) = 0;
  // Takes over an existing run. A lease whose owner is provably dead is free at once.
  // Errors: Errc::not_found; Errc::busy while a living owner holds it.
  [[nodiscard]] virtual Result<Lease> acquire(const RunId& run) = 0;
  // Keeps the lease from expiring while nothing is appended. Errors: Errc::fenced.
  [[nodiscard]] virtual Result<void> renew(const Lease& lease) = 0;
  // Gives the lease up; appending under it is fenced from now on. Harmless if it is already lost.
  [[nodiscard]] virtual Result<void> release(const Lease& lease) = 0;

  // Appends all records or none; on success they have the store's durability. Records that are
  // already stored with the same content count as appended (a commit whose answer got lost).
  // Errors: Errc::fenced if the lease is no longer the newest; Errc::conflict if a sequence is
  // already stored with other content.
  [[nodiscard]] virtual Result<void> append(const Lease& lease, std::span<const Record> records,
                                            RunStatus status) = 0;
  // Appends several runs' batches, in one transaction where the store has them. Each batch is all
  // or none by itself, and gets its own outcome. The default calls append() for each.
  virtual void append_group(std::span<AppendBatch> batches);

  // Reads and verifies. Errors: Errc::not_found. Damage is reported in the reading, not as an
  // error.
  [[nodiscard]] virtual Result<JournalReading> read(const RunId& run, SequenceRange range) = 0;
  // The same, for going on with the run: state changes that are of no consequence for the newest
  // position may be left out, so that a long run costs what is left of it. The default reads all.
  [[nodiscard]] virtual Result<JournalReading> read_newest(const RunId& run);
  [[nodiscard]] virtual Result<std::vector<RunInfo>> runs(const RunQuery& query) = 0;
  [[nodiscard]] virtual Result<RunInfo> run(const RunId& id) = 0;

  // Restores a position; the default folds what read() returns.
  // Errors: Errc::not_found; Errc::corrupt if a record it needs is damaged.
  [[nodiscard]] virtual Result<Checkpoint> load(const CheckpointId& id);
  // Only the state there: may be much cheaper than load().
  [[nodiscard]] virtual Result<State> load_state(const CheckpointId& id);
  // The checkpoints of a run, oldest first.
  [[nodiscard]] virtual Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run);
  // The newest intact position, even inside an open step.
  [[nodiscard]] virtual Result<Checkpoint> latest(const RunId& run);

  // Removes a run, its records and its keys: see erase_keys(). Errors: Errc::busy while a living
  // owner holds it.
  [[nodiscard]] virtual Result<void> erase(const RunId& run) = 0;
  // Returns how many runs went. Never removes a run that a living owner holds.
  [[nodiscard]] virtual Result<std::size_t> prune(const Retention& retention);
  // Removes those of the runs that exist and that no living owner holds; returns how many. Nobody
  // who appends meanwhile waits for all of them. The default calls erase() for each.
  [[nodiscard]] virtual Result<std::size_t> erase_all(std::span<const RunId> runs);
  // What is wrong with the store itself, beyond what reading its runs reports: a sentence each.
  // The default finds nothing. May take as long as reading everything.
  [[nodiscard]] virtual Result<std::vector<std::string>> check();

  // Called by the queue's thread when it has had nothing to write for a moment. The default does
  // nothing; SQLite folds its write-ahead log. An exception is ignored: nobody waits for it.
  virtual void idle() {}

  // What an operator should know and no call failed for, such as a reader that keeps the store from
  // shrinking. Told once, then empty until there is news; runs pass it on as `store_warning`.
  [[nodiscard]] virtual std::string take_warning() { return {}; }

  // The queue that all runs on this store share. Made on first use.
  [[nodiscard]] detail::CommitQueue& queue();

 protected:
  // Removes what lies in the library's own spaces for a run: hashes of its tokens, signals, the
  // label of a branch. Else a later run of the same id would find them. By this store's own list,
  // get and erase_if; for erase(), with what read() gave before, when the run is gone. A store that
  // removes no keys (Errc::unsupported) keeps them.
  [[nodiscard]] Result<void> erase_keys(const JournalReading& run);

  // A store that overrides idle() calls this first in its destructor: it joins the queue's thread.
  void stop_queue() noexcept;

 private:
  std::once_flag queue_made_{};
  std::unique_ptr<detail::CommitQueue> queue_;
};

}  // namespace triage::inline v0_1
