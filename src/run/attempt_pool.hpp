// SPDX-License-Identifier: MIT
#pragma once
// The memory of an agent's attempts. It stays reserved as long as the agent lives, so that a late
// caller finds its attempt closed.

#include "triage/attempt.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace triage::inline v0_1::detail {

// True only if the process has a single thread.
[[nodiscard]] inline bool is_alone() noexcept {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

// Unique among the threads that exist at the same time; never 0.
[[nodiscard]] inline std::uintptr_t this_thread_mark() noexcept {
#if defined(__x86_64__) && defined(__linux__)
  std::uintptr_t mark = 0;
  asm("mov %%fs:0, %0" : "=r"(mark));  // Equals pthread_self(), without the call.
  return mark;
#else
  return std::hash<std::thread::id>{}(std::this_thread::get_id()) | 1U;
#endif
}

// Only the thread that runs the callable uses an attempt unannounced: its run cannot end meanwhile.
// Other threads are counted in Attempt::users_: an attempt that ends waits for them, and so does a
// run, whose later callers find the attempt closed.
// Thread-safety: all members may be called from several threads at once.
class AttemptPool {
 public:
  AttemptPool() : spare_(&make_block()[0]) {}

  // For the calling thread, to use until close().
  [[nodiscard]] [[gnu::always_inline]] Attempt& open(Run& run, int number) {
    Attempt* attempt = spare_;
    if (!is_alone() || attempt == nullptr) [[unlikely]]
      return open_shared(run, number);
    spare_ = nullptr;
    begin(*attempt, run, number);
    attempt->users_.store(0, std::memory_order_relaxed);
    return *attempt;
  }
  // Waits for the calls by other threads that are in progress. What they did is visible then.
  static void wait_for_calls(Attempt& attempt) noexcept {
    if (!is_alone()) [[unlikely]]
      wait_for_others(attempt, Attempt::awaited);
  }
  // The same; later calls find the attempt closed.
  [[gnu::always_inline]] void close(Attempt& attempt) noexcept {
    if (!is_alone() || spare_ != nullptr) [[unlikely]] {
      close_shared(attempt);
      return;
    }
    // There are no other references.
    attempt.users_.store(Attempt::closed, std::memory_order_relaxed);
    spare_ = &attempt;
  }

 private:
  static constexpr std::size_t shard_count = 8;
  static constexpr std::size_t block_size = 64;
  // How many attempts of a shard end before one's memory is reused.
  static constexpr std::size_t quarantine = 1'024;

  struct alignas(64) Shard {
    std::mutex mutex{};
    Attempt* oldest = nullptr;  // Of the closed ones.
    Attempt* newest = nullptr;
    std::size_t closed = 0;
    Attempt* unused = nullptr;
    Attempt* unused_end = nullptr;
  };

  static void begin(Attempt& attempt, Run& run, int number) noexcept {
    attempt.run_ = &run;
    attempt.number_.store(number, std::memory_order_relaxed);
    attempt.thread_.store(this_thread_mark(), std::memory_order_relaxed);
  }
  [[nodiscard]] Shard& shard() noexcept {
    return shards_[(this_thread_mark() >> 12U) % shard_count];
  }
  Attempt* make_block();
  // Sets the flag, by which those that end know that somebody waits.
  static void wait_for_others(Attempt& attempt, std::uint32_t flag) noexcept;
  [[nodiscard]] Attempt& take(Shard& from);  // Call with its mutex locked.
  Attempt& open_shared(Run& run, int number);
  void close_shared(Attempt& attempt) noexcept;

  std::mutex mutex_{};
  std::vector<std::unique_ptr<Attempt[]>> blocks_{};
  Attempt* spare_;  // Only in a single-threaded process.
  std::array<Shard, shard_count> shards_{};
};

// One call on an attempt. False if the attempt's run has ended; then the attempt must not be used.
class AttemptUse {
 public:
  explicit AttemptUse(const Attempt& attempt) noexcept : attempt_(attempt) {
    if (attempt.thread_.load(std::memory_order_relaxed) == this_thread_mark()) [[likely]] {
      open_ = (attempt.users_.load(std::memory_order_relaxed) & Attempt::closed) == 0;
      return;
    }
    counted_ = true;
    open_ = (attempt.users_.fetch_add(1, std::memory_order_acq_rel) & Attempt::closed) == 0;
  }
  ~AttemptUse() {
    if (!counted_) [[likely]]
      return;
    const std::uint32_t before = attempt_.users_.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & (Attempt::closed | Attempt::awaited)) != 0) attempt_.users_.notify_all();
  }
  AttemptUse(const AttemptUse&) = delete;
  AttemptUse& operator=(const AttemptUse&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return open_; }
  [[nodiscard]] Run& run() const noexcept { return *attempt_.run_; }
  [[nodiscard]] int number() const noexcept { return attempt_.number(); }
  [[nodiscard]] bool elsewhere() const noexcept { return counted_; }

 private:
  const Attempt& attempt_;
  bool counted_ = false;
  bool open_ = false;
};

[[nodiscard]] inline Error ended_attempt() {
  return {Errc::invalid_argument, "the callable has returned: its attempt takes nothing any more"};
}

[[nodiscard]] inline Error ended_parent() {
  return {Errc::invalid_argument, "the attempt that was given as parent has ended"};
}

}  // namespace triage::inline v0_1::detail
