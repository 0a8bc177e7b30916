// SPDX-License-Identifier: MIT
#include "commit_queue.hpp"

#include "shield.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::chrono::milliseconds idle_after{200};

}  // namespace

CommitQueue::CommitQueue(CheckpointStore& store)
    : store_(store),
      pid_(::getpid()),
      takes_background_(store.capabilities().background_appends &&
                        store.capabilities().durability != Durability::none) {}

CommitQueue::~CommitQueue() { stop(); }

void CommitQueue::stop() noexcept {
  if (::getpid() != pid_) {  // A child made by fork() has no such thread, and locks may be held.
    if (thread_.joinable()) thread_.detach();
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void CommitQueue::list(RunWriter& writer) {
  if (writer.listed || ::getpid() != pid_) return;
  writer.listed = true;
  bool notify = false;
  {
    const std::scoped_lock lock(mutex_);
    listed_.push_back(&writer);
    if (writer.background && takes_background_ && !stopped_) {
      if (!thread_.joinable()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { run_thread(stop); });
      }
      notify = std::exchange(asleep_, false);
    }
  }
  if (notify) wake_.notify_one();
}

void CommitQueue::enqueue(RunWriter& writer, Record record) {
  writer.queued = record.seq();
  writer.pending.push_back(std::move(record));
  // A run whose store failed is tried again at its drains only, by the run itself.
  if (!writer.failure && takes_background_ && writer.background) list(writer);
}

Result<void> CommitQueue::drain(RunWriter& writer) {
  Sequence wanted = 0;
  {
    const std::scoped_lock run(*writer.mutex);
    wanted = writer.queued;
  }
  if (writer.durable.load(std::memory_order_acquire) >= wanted) return outcome::success();
  if (::getpid() != pid_) {
    return Error{
        Errc::unsupported,
        "the store was opened before fork() and cannot be used in the child; open it again"};
  }
  const std::scoped_lock commit_lock(commit_mutex_);
  if (writer.durable.load(std::memory_order_acquire) >= wanted) return outcome::success();
  if (takes_background_) {
    {
      const std::scoped_lock run(*writer.mutex);
      list(writer);
    }
    commit_listed();
  } else {
    RunWriter* own = &writer;
    commit({&own, 1});
  }
  const std::scoped_lock run(*writer.mutex);
  if (writer.failure) return *writer.failure;
  return outcome::success();
}

void CommitQueue::remove(RunWriter& writer) {
  if (::getpid() != pid_) return;
  const std::scoped_lock commit_lock(commit_mutex_);
  const std::scoped_lock lock(mutex_);
  std::erase(listed_, &writer);
  writer.listed = false;
}

void CommitQueue::commit_listed() {
  std::vector<RunWriter*> writers;
  {
    const std::scoped_lock lock(mutex_);
    writers.swap(listed_);
  }
  commit(writers);
}

void CommitQueue::commit(std::span<RunWriter*> writers) {
  std::vector<Taken> taken;
  taken.reserve(writers.size());
  for (RunWriter* writer : writers) {
    const std::scoped_lock run(*writer->mutex);
    writer->listed = false;
    if (writer->pending.empty()) continue;
    taken.push_back({writer, std::exchange(writer->pending, {}), writer->lease, writer->status});
  }
  if (taken.empty()) return;
  std::vector<AppendBatch> batches;
  batches.reserve(taken.size());
  for (const Taken& run : taken) {
    batches.push_back({.lease = run.lease, .records = run.records, .status = run.status});
  }
  const Result<void> called = shielded([&]() -> Result<void> {
    store_.append_group(batches);
    return outcome::success();
  });
  if (!called) {  // Batches that were stored all the same count as appended when they come again.
    for (AppendBatch& batch : batches) batch.outcome = called.error();
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    RunWriter& writer = *taken[i].writer;
    const std::scoped_lock run(*writer.mutex);
    if (batches[i].outcome) {
      writer.durable.store(taken[i].records.back().seq(), std::memory_order_release);
      writer.failure.reset();
    } else {
      writer.failure = std::move(batches[i].outcome).error();
      std::vector<Record>& kept = taken[i].records;
      kept.insert(kept.end(), std::make_move_iterator(writer.pending.begin()),
                  std::make_move_iterator(writer.pending.end()));
      writer.pending = std::move(kept);
    }
  }
}

void CommitQueue::run_thread(const std::stop_token& stop) {
  bool idled = false;
  while (!stop.stop_requested()) {
    bool timed_out = false;
    {
      std::unique_lock lock(mutex_);
      if (listed_.empty()) {
        asleep_ = true;
        const auto ready = [this] { return !listed_.empty(); };
        if (idled) {
          wake_.wait(lock, stop, ready);
        } else {
          timed_out = !wake_.wait_for(lock, stop, idle_after, ready);
        }
        asleep_ = false;
      }
    }
    if (stop.stop_requested()) return;
    if (timed_out) {
      store_.idle();
      idled = true;
      continue;
    }
    idled = false;
    const std::scoped_lock commit_lock(commit_mutex_);
    commit_listed();
  }
}

}  // namespace triage::inline v0_1::detail
