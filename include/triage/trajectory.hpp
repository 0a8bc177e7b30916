// SPDX-License-Identifier: MIT
#pragma once
// The steps of a run so far, as a value: copying is O(1), and copies share their steps.

#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

namespace triage::inline v0_1 {

struct Step;  // step.hpp
namespace detail {
class StepChunk;
}

// An append-only list of steps in shared, immutable chunks.
// Thread-safety: like a shared_ptr. One object is used by one thread at a time; other threads may
// read and append to its copies, and no copy sees what was appended to another.
class Trajectory {
 public:
  class Iterator;

  Trajectory() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Undefined for index >= size(). O(size / 64); the first access to a chunk read from a store
  // decodes it.
  [[nodiscard]] const Step& operator[](std::size_t index) const;
  [[nodiscard]] const Step& back() const { return (*this)[size_ - 1]; }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

  // Amortised O(1). Returns the stored step.
  const Step& append(Step step);
  // The first `count` steps, or all if there are fewer. Shares them.
  [[nodiscard]] Trajectory prefix(std::size_t count) const;

  // The chunks, newest first, for folding and encoding inside the library.
  [[nodiscard]] const std::shared_ptr<detail::StepChunk>& tail() const noexcept { return tail_; }
  Trajectory(std::shared_ptr<detail::StepChunk> tail, std::size_t size)
      : tail_(std::move(tail)), size_(size) {}

 private:
  std::shared_ptr<detail::StepChunk> tail_{};
  std::size_t size_ = 0;
};

// Visits the steps oldest first and keeps them alive. Creating one costs O(size / 64).
class Trajectory::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Step;
  using difference_type = std::ptrdiff_t;
  using pointer = const Step*;
  using reference = const Step&;

  Iterator() = default;
  Iterator(const Trajectory& trajectory, std::size_t index);
  reference operator*() const;
  pointer operator->() const { return &**this; }
  Iterator& operator++();
  Iterator operator++(int) {
    Iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) noexcept {
    return a.index_ == b.index_;
  }

 private:
  friend class Trajectory;
  std::vector<std::shared_ptr<detail::StepChunk>> chunks_{};  // Oldest first.
  std::size_t chunk_ = 0;
  std::size_t index_ = 0;
};

}  // namespace triage::inline v0_1
