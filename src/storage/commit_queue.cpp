// SPDX-License-Identifier: MIT
#include "storage/commit_queue.hpp"

#include "base/may_pass.hpp"
#include "base/run_catching.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::chrono::milliseconds idle_after{200};
constexpr std::chrono::milliseconds longest_retry{30'000};
// The first batch for a store that has failed: small, because it may fail again.
constexpr std::size_t most_in_a_probe = 64;

// While later records are still waiting, the newest status does not apply yet.
RunStatus status_after(bool all, RunStatus status) noexcept {
  return all ? status : RunStatus::running;
}

// Short enough to need no memory itself.
Error no_memory() noexcept { return {Errc::io, "out of memory"}; }

// No caller waits for a result, so an exception of the user's store is dropped.
void be_idle(CheckpointStore& store) noexcept {
  try {
    store.idle();
  } catch (...) {}
}

}  // namespace

void RunWriter::keep(Record record) {
  const bool follows = record.seq() == queued + 1;
  queued = record.seq();
  try {
    pending.push_back(std::move(record));
  } catch (...) {
    lose();
    throw;
  }
  if (!follows) lose();  // The one before was made, but not handed over.
}

void RunWriter::start_over() noexcept {
  pending.clear();
  queued = retry_at = 0;
  failure.reset();
  lost = false;
}

void RunWriter::lose() noexcept {
  lost = true;
  fail(no_memory());
}

// A retry costs as much as there are records, so that many new ones come first, but not so many
// that the queue would be full before the store is tried again.
void RunWriter::fail(Error why) noexcept {
  failure = std::move(why);
  retry_at = queued + std::min(pending.size(), std::max<std::size_t>(capacity / 8, 1));
}

CommitQueue::CommitQueue(CheckpointStore& store)
    : store_(store),
      takes_background_(store.capabilities().background_appends &&
                        store.capabilities().durability != Durability::none) {}

CommitQueue::~CommitQueue() { stop(); }

bool CommitQueue::is_foreign() const noexcept { return !process_.is_here(); }

void CommitQueue::stop() noexcept {
  if (is_foreign()) return;  // fork() did not copy the thread.
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

bool CommitQueue::list(RunWriter& writer) noexcept {
  if (writer.listed) return true;
  if (is_foreign()) return false;
  bool notify = false;
  {
    const std::scoped_lock lock(mutex_);
    try {
      listed_.push_back(&writer);
    } catch (const std::bad_alloc&) {
      return false;
    }
    writer.listed = true;
    if (writer.background && takes_background_ && !stopped_) {
      start_thread();
      notify = std::exchange(asleep_, false);
    }
  }
  if (notify) wake_.notify_one();
  return true;
}

void CommitQueue::start_thread() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run_thread(stop); });
  } catch (const std::exception&) {
    // No thread or no memory: drains commit, and the next run that is listed tries again.
  }
}

void CommitQueue::enqueue(RunWriter& writer, Record record) {
  writer.keep(std::move(record));
  if (writer.is_due() && takes_background_ && writer.background) list(writer);
}

Result<void> CommitQueue::drain(RunWriter& writer) {
  Sequence wanted = 0;
  {
    const std::scoped_lock run(*writer.mutex);
    if (writer.lost) return *writer.failure;
    wanted = writer.queued;
  }
  if (writer.durable.load(std::memory_order_acquire) >= wanted) return outcome::success();
  if (is_foreign()) {
    return Error{
        Errc::unsupported,
        "the store was opened before fork() and cannot be used in the child; open it again"};
  }
  if (takes_background_) {
    // Listed before taking a turn, so that whichever thread has it now commits this run too.
    const std::scoped_lock run(*writer.mutex);
    list(writer);
  }
  for (;;) {
    const int ended = turns_.ended();
    if (writer.durable.load(std::memory_order_acquire) >= wanted) return outcome::success();
    if (const std::unique_lock turn(turns_, std::try_to_lock); turn) {
      return drain_in_turn(writer, wanted);
    }
    turns_.wait_for_end_after(ended);
  }
}

Result<void> CommitQueue::drain_in_turn(RunWriter& writer, Sequence wanted) {
  while (writer.durable.load(std::memory_order_acquire) < wanted) {
    bool listed = false;
    if (takes_background_) {
      const std::scoped_lock run(*writer.mutex);
      listed = list(writer);
    }
    if (listed) {
      commit_listed();
    } else {
      RunWriter* own = &writer;
      commit({&own, 1});
    }
    const std::scoped_lock run(*writer.mutex);
    if (writer.failure) return *writer.failure;
    if (writer.pending.empty()) break;
  }
  return outcome::success();
}

void CommitQueue::remove(RunWriter& writer) {
  if (is_foreign()) return;
  const std::scoped_lock turn(turns_);
  const std::scoped_lock lock(mutex_);
  std::erase(listed_, &writer);
  writer.listed = false;
}

void CommitQueue::commit_listed() noexcept {
  std::vector<RunWriter*> writers;
  {
    const std::scoped_lock lock(mutex_);
    writers.swap(listed_);
  }
  commit(writers);
}

// Batches that were stored although the call failed count as appended when they are offered again.
void CommitQueue::append(std::span<AppendBatch> batches) noexcept {
  try {
    const Result<void> called = run_catching([&]() -> Result<void> {
      store_.append_group(batches);
      return outcome::success();
    });
    if (called) return;
    for (AppendBatch& batch : batches) batch.outcome = called.error();
  } catch (...) {
    for (AppendBatch& batch : batches) batch.outcome = no_memory();
  }
}

void CommitQueue::commit(std::span<RunWriter*> writers) noexcept {
  std::vector<Taken> taken;
  bool works = false;
  try {
    taken.reserve(writers.size());
    for (RunWriter* writer : writers) take(*writer, taken);
    if (taken.empty()) return;
    works = commit_taken(taken);
  } catch (...) {
    for (Taken& run : taken) settle(run, no_memory());
    for (RunWriter* writer : writers) {
      const std::scoped_lock run(*writer->mutex);
      writer->listed = false;
      if (!writer->pending.empty() && !writer->failure) writer->fail(no_memory());
    }
  }
  if (works) retry_releases();
}

// There is room in `taken`.
void CommitQueue::take(RunWriter& writer, std::vector<Taken>& taken) noexcept {
  const std::scoped_lock run(*writer.mutex);
  writer.listed = false;
  const std::size_t waiting = writer.pending.size();
  if (waiting == 0 || writer.lost) return;
  const std::size_t offered = writer.failure ? std::min(waiting, most_in_a_probe) : waiting;
  try {
    Lease lease = writer.lease;
    taken.push_back(
        {&writer, std::exchange(writer.pending, {}), std::move(lease), writer.status, offered});
  } catch (const std::bad_alloc&) {
    writer.fail(no_memory());
  }
}

bool CommitQueue::commit_taken(std::span<Taken> taken) {
  std::vector<AppendBatch> batches;
  batches.reserve(taken.size());
  for (const Taken& run : taken) {
    batches.push_back({.lease = run.lease,
                       .records = std::span(run.records).first(run.offered),
                       .status = status_after(run.offered == run.records.size(), run.status)});
  }
  append(batches);
  bool works = false;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    works = works || batches[i].outcome.has_value();
    settle(taken[i], std::move(batches[i].outcome));
  }
  return works;
}

// Appends up to the first record that the store refuses, so that it does not block earlier ones.
std::size_t CommitQueue::append_singly(const Taken& run, Result<void>& stored) noexcept {
  const std::span<const Record> records = std::span(run.records).first(run.offered);
  std::size_t done = 0;
  try {
    for (; done < records.size(); ++done) {
      AppendBatch one{.lease = run.lease,
                      .records = records.subspan(done, 1),
                      .status = status_after(done + 1 == run.records.size(), run.status)};
      append({&one, 1});
      stored = std::move(one.outcome);
      if (!stored) break;
    }
  } catch (const std::bad_alloc&) {
    stored = no_memory();
  }
  return done;
}

void CommitQueue::settle(Taken& run, Result<void> stored) noexcept {
  std::vector<Record>& records = run.records;
  std::size_t done = stored ? run.offered : 0;
  if (!stored && stored.error().code == Errc::invalid_argument) done = append_singly(run, stored);
  RunWriter& writer = *run.writer;
  const std::scoped_lock lock(*writer.mutex);
  if (done > 0) writer.durable.store(records[done - 1].seq(), std::memory_order_release);
  if (stored && !writer.lost) writer.failure.reset();
  if (done < records.size()) {
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(done));
    try {
      records.insert(records.end(), std::make_move_iterator(writer.pending.begin()),
                     std::make_move_iterator(writer.pending.end()));
    } catch (const std::bad_alloc&) {
      writer.lost = true;
      if (stored) stored = no_memory();
    }
    writer.pending = std::move(records);
  }
  if (!stored) return writer.fail(std::move(stored).error());
  // The rest of a run whose store works again.
  if (!writer.pending.empty() && takes_background_ && writer.background) list(writer);
}

// --- Leases that could not be released.

void CommitQueue::release(Lease lease) noexcept {
  if (is_foreign()) return;
  lease.holder.reset();  // The run is not continued here.
  try {
    if (run_catching([&] { return store_.release(lease); })) return;
    const std::scoped_lock lock(mutex_);
    unreleased_.push_back(std::move(lease));
    release_failed_ = true;
  } catch (const std::bad_alloc&) {
    return;  // Nobody holds the lease any more, so the store may give it away.
  }
  wake_.notify_one();
}

void CommitQueue::retry_releases() noexcept {
  if (is_foreign()) return;
  std::vector<Lease> leases;
  {
    const std::scoped_lock lock(mutex_);
    leases.swap(unreleased_);
  }
  // A run that was taken over meanwhile has a new epoch, so it is not affected.
  try {
    const auto stuck = std::find_if(leases.begin(), leases.end(), [&](const Lease& lease) {
      const Result<void> released = run_catching([&] { return store_.release(lease); });
      return !released && may_pass(released.error().code);
    });
    if (stuck == leases.end()) return;
    const std::scoped_lock lock(mutex_);
    unreleased_.insert(unreleased_.end(), std::make_move_iterator(stuck),
                       std::make_move_iterator(leases.end()));
  } catch (const std::bad_alloc&) {
    // As in release().
  }
}

// --- The background thread.

void CommitQueue::run_thread(const std::stop_token& stop) {
  bool idled = false;
  std::chrono::milliseconds retry_after = idle_after;
  while (!stop.stop_requested()) {
    bool timed_out = false;
    bool owes = false;
    {
      std::unique_lock lock(mutex_);
      if (std::exchange(release_failed_, false)) retry_after = idle_after;
      owes = !unreleased_.empty();
      if (listed_.empty()) {
        asleep_ = true;
        const auto ready = [this] { return !listed_.empty() || release_failed_; };
        if (idled && !owes) {
          wake_.wait(lock, stop, ready);
        } else {
          timed_out = !wake_.wait_for(lock, stop, owes ? retry_after : idle_after, ready);
        }
        asleep_ = false;
      }
    }
    if (stop.stop_requested()) return;
    if (timed_out) {
      if (owes) {
        retry_releases();
        retry_after = std::min(2 * retry_after, longest_retry);
      }
      if (!std::exchange(idled, true)) be_idle(store_);
      continue;
    }
    idled = false;
    const std::scoped_lock turn(turns_);
    commit_listed();
  }
}

}  // namespace triage::inline v0_1::detail
