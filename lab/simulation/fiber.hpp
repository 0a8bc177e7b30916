// SPDX-License-Identifier: MIT
#pragma once
// A call that can pause and continue later, on its own stack but in the same thread.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// Reuses stacks: creating one costs two system calls.
class StackPool {
 public:
  explicit StackPool(std::size_t bytes);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  [[nodiscard]] std::byte* take();  // Throws std::bad_alloc.
  void give_back(std::byte* stack) noexcept { free_.push_back(stack); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
  std::vector<std::byte*> all_{};
  std::vector<std::byte*> free_{};
};

// No exception leaves the body. Thread-safety: none; used by a single thread.
class Fiber {
 public:
  Fiber(StackPool& stacks, std::function<void()> body);
  // If it is not done, objects on its stack are not destroyed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();   // From outside: continues until the body suspends itself or ends.
  void suspend();  // From the body.
  [[nodiscard]] bool done() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace triage::inline v0_1::lab::detail
