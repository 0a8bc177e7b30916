// SPDX-License-Identifier: MIT
// Keeping the write-ahead log short, however many processes write.
#include "sqlite_database.hpp"
#include "sqlite_log_readers.hpp"
#include "triage/detail/joined.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

// While several processes write, the log is never restarted, because one appends while another
// checkpoints. When it is this many times too long, writers are made to wait.
constexpr std::uint64_t overgrown = 2;
// How long a commit may be delayed by that, and how often it checks: while one process checkpoints,
// the others are refused at once.
constexpr std::chrono::milliseconds patience{250};
constexpr std::chrono::milliseconds between_tries{5};

std::string warning_text(const std::string& name, std::uint64_t bytes,
                         const std::vector<std::int64_t>& readers) {
  return "the write-ahead log of sqlite store " + name + " has " + std::to_string(bytes >> 20U) +
         " MiB and cannot be checkpointed, because an old state of the store is being read by " +
         (readers.empty() ? "another process" : "process " + joined(readers)) +
         "; it shrinks when that transaction has ended";
}

}  // namespace

bool SqliteDatabase::truncate_log(std::chrono::milliseconds wait) noexcept {
  sqlite3* raw = database_->getHandle();
  sqlite3_busy_timeout(raw, static_cast<int>(wait.count()));
  const int code =
      sqlite3_wal_checkpoint_v2(raw, "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout_.count()));
  if (code == SQLITE_OK) log_pages_ = 0;
  return code == SQLITE_OK;
}

// Writers wait until some process has truncated the log, so it is truncated however many write.
bool SqliteDatabase::wait_for_short_log() noexcept {
  // Long readers are already known and must not delay one commit after another.
  const auto most = warned_ ? std::chrono::milliseconds{0} : std::min(patience, busy_timeout_);
  const auto deadline = std::chrono::steady_clock::now() + most;
  for (;;) {
    if (truncate_log(std::min(most, between_tries))) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(between_tries);
  }
}

void SqliteDatabase::checkpoint_log_if_large() noexcept {
  if (in_memory_) return;
  const std::uint64_t most = std::max<std::uint64_t>(wal_checkpoint_bytes_ / page_size_, 1);
  if (log_pages_ <= most) {  // It was restarted meanwhile.
    checkpoint_at_pages_ = most;
    return;
  }
  if (log_pages_ <= checkpoint_at_pages_) return;
  const std::uint64_t before = log_pages_;
  // Not at every commit: a checkpoint waits for the disk.
  checkpoint_at_pages_ = before + most / 4;
  if (before <= overgrown * most) return checkpoint_log();
  try {
    const std::vector<std::int64_t> early = log_readers(path_);
    if (wait_for_short_log()) {
      checkpoint_at_pages_ = most;
      warned_ = false;
      return;
    }
    if (std::exchange(warned_, true)) return;
    // A writer holds the same lock only briefly; whoever held it all the time is a reader.
    std::vector<std::int64_t> readers;
    const std::vector<std::int64_t> late = log_readers(path_);
    std::set_intersection(early.begin(), early.end(), late.begin(), late.end(),
                          std::back_inserter(readers));
    if (readers.empty()) {
      warned_ = false;  // Another process checkpointed, or the writers were faster.
    } else {
      warning_ = warning_text(name_, before * page_size_, readers);
      has_warning_ = true;
    }
  } catch (const std::exception&) {
    warned_ = false;  // Checkpointing is retried, and so is the warning.
  }
}

void SqliteDatabase::checkpoint_log() noexcept {
  if (in_memory_ || log_pages_ == 0) return;
  int pages = -1;
  int written = -1;
  const int code = sqlite3_wal_checkpoint_v2(database_->getHandle(), "main",
                                             SQLITE_CHECKPOINT_PASSIVE, &pages, &written);
  if (code == SQLITE_OK && pages == written) log_pages_ = 0;
}

bool SqliteDatabase::make_room() noexcept {
  return !in_memory_ && truncate_log(std::min(patience, busy_timeout_));
}

}  // namespace triage::inline v0_1::detail
