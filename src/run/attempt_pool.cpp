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
  // Late callers may still be counted, so only the mark is cleared.
  attempt.users_.fetch_and(~Attempt::closed, std::memory_order_acq_rel);
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

void AttemptPool::close_shared(Attempt& attempt) noexcept {
  std::uint32_t users = attempt.users_.fetch_or(Attempt::closed, std::memory_order_acq_rel);
  while ((users & ~Attempt::closed) != 0) {
    users = attempt.users_.load(std::memory_order_acquire);
    if ((users & ~Attempt::closed) != 0) attempt.users_.wait(users, std::memory_order_acquire);
  }
  Shard& own = shard();
  const std::scoped_lock lock(own.mutex);
  attempt.next_ = nullptr;
  (own.closed == 0 ? own.oldest : own.newest->next_) = &attempt;
  own.newest = &attempt;
  ++own.closed;
}

}  // namespace triage::inline v0_1::detail
