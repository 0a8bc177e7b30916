// SPDX-License-Identifier: MIT
#pragma once
// Whose turn it is to commit: a mutex whose waiters can leave when another thread has done their
// work.

#include <atomic>
#include <mutex>

namespace triage::inline v0_1::detail {

// Thread-safety: all members may be called from several threads at once.
class CommitTurns {
 public:
  void lock() { mutex_.lock(); }
  [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }
  // Wakes all waiters of wait_for_end_after() at once: most have nothing left to do.
  void unlock() {
    mutex_.unlock();
    ended_.fetch_add(1, std::memory_order_release);
    ended_.notify_all();
  }

  // How many turns have ended; wraps around.
  [[nodiscard]] int ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  // Returns when another turn has ended since ended() returned `known`.
  void wait_for_end_after(int known) const noexcept {
    ended_.wait(known, std::memory_order_acquire);
  }

 private:
  std::mutex mutex_;
  std::atomic<int> ended_{0};
};

}  // namespace triage::inline v0_1::detail
