// SPDX-License-Identifier: MIT
#pragma once
// A value that is created on first use; until then it takes one word.

#include <atomic>
#include <memory>
#include <utility>

namespace triage::inline v0_1::detail {

// Thread-safety: all members but take() may be called from several threads at once.
template <class T>
class MadeOnce {
 public:
  MadeOnce() noexcept = default;
  ~MadeOnce() {
    if (T* made = get()) [[unlikely]]
      destroy(made);
  }
  MadeOnce(const MadeOnce&) = delete;
  MadeOnce& operator=(const MadeOnce&) = delete;

  // Null until it is made.
  [[nodiscard]] T* get() const noexcept { return made_.load(std::memory_order_acquire); }
  [[nodiscard]] explicit operator bool() const noexcept { return get() != nullptr; }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }

  // Stores `made` unless another thread was faster; returns the stored value.
  T& offer(std::unique_ptr<T> made) noexcept {
    T* faster = nullptr;
    if (!made_.compare_exchange_strong(faster, made.get(), std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      return *faster;
    }
    return *made.release();
  }
  [[nodiscard]] std::unique_ptr<T> take() noexcept {
    return std::unique_ptr<T>(made_.exchange(nullptr, std::memory_order_acq_rel));
  }

 private:
  [[gnu::noinline]] static void destroy(T* made) { delete made; }

  std::atomic<T*> made_{nullptr};
};

}  // namespace triage::inline v0_1::detail
