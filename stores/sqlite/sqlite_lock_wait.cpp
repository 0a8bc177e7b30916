// SPDX-License-Identifier: MIT
#include "sqlite_lock_wait.hpp"

#include <thread>

namespace triage::inline v0_1::detail {

void LockWait::install(sqlite3* database) noexcept {
  sqlite3_busy_handler(database, &LockWait::wait, this);
}

std::chrono::microseconds LockWait::next_delay() noexcept {
  // Source: xorshift64, G. Marsaglia, "Xorshift RNGs", 2003.
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 7U;
  random_ ^= random_ << 17U;
  return std::chrono::microseconds(200 + random_ % 1'000);
}

int LockWait::wait(void* self, int tries) noexcept {
  auto& own = *static_cast<LockWait*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) own.began_ = now;
  if (now - own.began_ >= own.longest_) return 0;
  std::this_thread::sleep_for(own.next_delay());
  return 1;
}

}  // namespace triage::inline v0_1::detail
