// SPDX-License-Identifier: MIT
#pragma once
// A block of consecutive steps: the storage behind Trajectory. Not public API.

#include "triage/step.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// Slots [0, used) hold immutable steps; a slot is claimed once, by the first to append. A chunk
// that starts with stored bytes holds only such, and decodes itself on first access.
class StepChunk {
 public:
  static constexpr std::uint32_t smallest = 4;  // Most runs are short, and 10,000 may be open.
  static constexpr std::uint32_t largest = 64;

  // An empty chunk after `previous` whose first step has index `first`.
  StepChunk(std::shared_ptr<StepChunk> previous, std::size_t first, std::uint32_t capacity);
  ~StepChunk();
  StepChunk(const StepChunk&) = delete;
  StepChunk& operator=(const StepChunk&) = delete;

  // Moves the step to slot `slot` if that is the next free one. If it is taken or past the end,
  // returns null and leaves `step` untouched.
  const Step* try_append(std::uint32_t slot, Step& step);
  // Likewise for an encoded step body (docs/checkpoint_format.md) that passed its checksum. Only
  // before the chunk is shared with other threads.
  bool try_append_encoded(std::uint32_t slot, std::shared_ptr<const std::string> body);
  [[nodiscard]] const Step& at(std::uint32_t slot) const;

  [[nodiscard]] const std::shared_ptr<StepChunk>& previous() const noexcept { return previous_; }
  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  [[nodiscard]] Step* slot_address(std::uint32_t slot) const noexcept;
  void decode() const;

  std::shared_ptr<StepChunk> previous_;
  std::size_t first_;
  std::uint32_t capacity_;
  mutable std::atomic<std::uint32_t> used_{0};
  mutable std::unique_ptr<std::byte[]> slots_;
  mutable std::once_flag decode_once_;
  mutable std::atomic<bool> decoded_{false};
  std::vector<std::shared_ptr<const std::string>> encoded_;
};

// Locates one step; keeps it alive.
struct StepRef {
  std::shared_ptr<const StepChunk> chunk{};
  std::uint32_t slot = 0;

  [[nodiscard]] const Step& step() const { return chunk->at(slot); }
};

// Appends to the chain that ends in `tail` and holds `size` steps; returns the stored step.
const Step& append_step(std::shared_ptr<StepChunk>& tail, std::size_t& size, Step&& step);
// Locates the newest of `size` steps.
[[nodiscard]] inline StepRef newest_step(const std::shared_ptr<StepChunk>& tail, std::size_t size) {
  return {tail, static_cast<std::uint32_t>(size - 1 - tail->first())};
}
void append_encoded_step(std::shared_ptr<StepChunk>& tail, std::size_t& size,
                         std::shared_ptr<const std::string> body);

}  // namespace triage::inline v0_1::detail
