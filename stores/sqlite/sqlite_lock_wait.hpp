// SPDX-License-Identifier: MIT
#pragma once
// Waiting for SQLite's write lock.

#include <sqlite3.h>

#include <chrono>
#include <cstdint>

namespace triage::inline v0_1::detail {

// SQLite's own wait tries again after up to 100 ms, so that among many writers who waited longest
// gets the lock last: 5 s are 50 tries, each of which meets somebody else. This one tries again
// after about a millisecond all the time, at random, so that every waiter has the same chance.
// Thread-safety: none; it belongs to one connection. It outlives what it is installed in.
class LockWait {
 public:
  LockWait(std::chrono::milliseconds longest, std::uint64_t seed) noexcept
      : longest_(longest), random_(seed | 1U) {}
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;

  // Cheap: called before each wait, since sqlite3_busy_timeout() takes its place.
  void install(sqlite3* database) noexcept;

 private:
  static int wait(void* self, int tries) noexcept;
  [[nodiscard]] std::chrono::microseconds next_delay() noexcept;

  std::chrono::milliseconds longest_;
  std::uint64_t random_;
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace triage::inline v0_1::detail
