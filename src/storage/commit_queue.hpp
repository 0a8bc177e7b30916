// SPDX-License-Identifier: MIT
#pragma once
// The queue in front of a store: group commit by leader.
//
// Recording appends to the run's own list and returns. A thread that must wait takes a turn and
// writes everything queued, of all runs of the store; a background thread makes the same call.
// (Handing over to a writer thread costs 8 times as much as a commit.)

#include "storage/commit_turns.hpp"
#include "storage/own_process.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/record.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace triage::inline v0_1::detail {

// One run's share of the queue. Everything but `durable` is guarded by *mutex, which is the run's.
struct RunWriter {
  std::mutex* mutex = nullptr;
  Lease lease{};
  RunStatus status = RunStatus::running;
  bool background = false;           // The store's thread commits soon.
  std::size_t capacity = 16'384;     // Of `pending`: AgentOptions::queue_capacity.
  std::vector<Record> pending{};     // Recorded, not yet durable, oldest first.
  Sequence queued = 0;               // Sequence of the newest record ever enqueued.
  std::atomic<Sequence> durable{0};  // Everything up to here is in the store.
  std::optional<Error> failure{};    // Why the last commit failed; empty while attached.
  Sequence retry_at = 0;             // After a failure: recording retries from here on.
  bool listed = false;               // In the queue's list.
  bool lost = false;  // Memory ran out for a record: nothing is stored until a gap stands for it.

  // Adds a record. Throws std::bad_alloc if there is no memory; then the record is lost.
  void keep(Record record);
  // Forgets a start that was refused, so that another run may begin.
  void start_over() noexcept;
  // Why records cannot be stored just now. Needs no memory.
  void fail(Error why) noexcept;
  // Whether the store should be tried.
  [[nodiscard]] bool is_due() const noexcept { return !failure || queued >= retry_at; }

 private:
  void lose() noexcept;
};

// Thread-safety: all members may be called from several threads at once.
class CommitQueue {
 public:
  explicit CommitQueue(CheckpointStore& store);
  ~CommitQueue();
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // Adds a record, as RunWriter::keep() does. The caller holds *writer.mutex. Never blocks on the
  // store.
  void enqueue(RunWriter& writer, Record record);
  // Returns when everything this run has enqueued is durable, or says why it is not; then the
  // records stay pending and the next drain tries again. The caller does not hold *writer.mutex.
  // Errors: the store's; Errc::unsupported in a child made by fork().
  [[nodiscard]] Result<void> drain(RunWriter& writer);
  // Calls this while nobody appends anything by this queue. It must not drain.
  template <class Work>
  auto between_appends(const Work& work) {
    const std::scoped_lock turn(turns_);
    return work();
  }
  // Forgets a run: nothing of it is touched afterwards.
  void remove(RunWriter& writer);
  // Releases a lease. If the store fails, the release is retried by the queue's thread, by the next
  // commit or by retry_releases().
  void release(Lease lease) noexcept;
  // Retries failed releases; call it before taking a run over.
  void retry_releases() noexcept;
  // Joins the background thread. Idempotent.
  void stop() noexcept;
  // True in a child made by fork(), where locks of other threads may be held for ever.
  [[nodiscard]] bool is_foreign() const noexcept;

 private:
  struct Taken {
    RunWriter* writer;
    std::vector<Record> records;
    Lease lease;
    RunStatus status;
    std::size_t offered;  // How many of them the store is given.
  };

  // False if it is not listed: there is no memory, or a child made by fork() asks.
  bool list(RunWriter& writer) noexcept;
  void start_thread();  // The caller holds mutex_.
  [[nodiscard]] Result<void> drain_in_turn(RunWriter& writer, Sequence wanted);
  // The following are called during this thread's turn. Without memory they store nothing, lose
  // nothing, and the runs' drains fail.
  void commit(std::span<RunWriter*> writers) noexcept;
  void commit_listed() noexcept;
  static void take(RunWriter& writer, std::vector<Taken>& taken) noexcept;
  [[nodiscard]] bool commit_taken(std::span<Taken> taken);  // True if the store took something.
  void append(std::span<AppendBatch> batches) noexcept;
  [[nodiscard]] std::size_t append_singly(const Taken& run, Result<void>& stored) noexcept;
  void settle(Taken& run, Result<void> stored) noexcept;
  void run_thread(const std::stop_token& stop);

  CheckpointStore& store_;
  const OwnProcess process_{};
  const bool takes_background_;
  CommitTurns turns_;  // Taken before any run's mutex.
  std::mutex mutex_;   // Guards the members below; taken after a run's mutex.
  std::vector<RunWriter*> listed_;
  std::condition_variable_any wake_;
  std::vector<Lease> unreleased_;
  bool release_failed_ = false;  // Since the thread last looked.
  bool asleep_ = false;
  bool stopped_ = false;
  std::jthread thread_;
};

}  // namespace triage::inline v0_1::detail
