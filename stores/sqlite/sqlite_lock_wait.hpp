// SPDX-License-Identifier: MIT
#pragma once
// Waits for SQLite's write lock.

#include <sqlite3.h>

#include <chrono>
#include <cstdint>

namespace triage::inline v0_1::detail {

// SQLite's own wait backs off to 100 ms, so among many writers the one that waited longest gets the
// lock last: 5 s are only 50 tries. This one retries about every millisecond, at random, so that
// every waiter has the same chance. Thread-safety: none; it belongs to one connection, which it
// outlives.
class LockWait {
 public:
  LockWait(std::chrono::milliseconds longest, std::uint64_t seed) noexcept
      : longest_(longest), random_(seed | 1U) {}
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;

  // Cheap: call before each wait, because sqlite3_busy_timeout() replaces it.
  void install(sqlite3* database) noexcept;

 private:
  static int wait(void* self, int tries) noexcept;
  [[nodiscard]] std::chrono::microseconds next_delay() noexcept;

  std::chrono::milliseconds longest_;
  std::uint64_t random_;
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace triage::inline v0_1::detail
