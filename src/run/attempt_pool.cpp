// SPDX-License-Identifier: MIT
#include "run/attempt_pool.hpp"

namespace triage::inline v0_1::detail {

Attempt* AttemptPool::make_block() {
  const std::scoped_lock lock(mutex_);
  return blocks_.emplace_back(new Attempt[block_size]).get();
}

Attempt& AttemptPool::open_shared(Run& run, int number) {
  Shard& own = shard();
  const std::scoped_lock lock(own.mutex);
  Attempt& attempt = take(own);
  begin(attempt, run, number);
  // Late callers may still be counted, so only the flags are cleared.
  attempt.users_.fetch_and(~(Attempt::closed | Attempt::awaited), std::memory_order_acq_rel);
  return attempt;
}

// An attempt that has been closed long enough, else an unused one.
Attempt& AttemptPool::take(Shard& from) {
  if (from.closed > quarantine) {
    --from.closed;
    Attempt& oldest = *from.oldest;
    from.oldest = oldest.next_;
    return oldest;
  }
  if (from.unused == from.unused_end) {
    from.unused = make_block();
    from.unused_end = from.unused + block_size;
  }
  return *from.unused++;
}

void AttemptPool::wait_for_others(Attempt& attempt, std::uint32_t flag) noexcept {
  constexpr std::uint32_t calls = ~(Attempt::closed | Attempt::awaited);
  std::uint32_t users = attempt.users_.fetch_or(flag, std::memory_order_acq_rel);
  while ((users & calls) != 0) {
    users = attempt.users_.load(std::memory_order_acquire);
    if ((users & calls) != 0) attempt.users_.wait(users, std::memory_order_acquire);
  }
}

void AttemptPool::close_shared(Attempt& attempt) noexcept {
  wait_for_others(attempt, Attempt::closed);
  Shard& own = shard();
  const std::scoped_lock lock(own.mutex);
  attempt.next_ = nullptr;
  (own.closed == 0 ? own.oldest : own.newest->next_) = &attempt;
  own.newest = &attempt;
  ++own.closed;
}

}  // namespace triage::inline v0_1::detail
