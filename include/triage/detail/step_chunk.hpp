// SPDX-License-Identifier: MIT
#pragma once
// A block of consecutive steps: the storage behind Trajectory. Not public API.

#include "triage/step.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1::detail {

// Slots [0, used) are immutable; a slot is claimed once, by the first to append. A chunk holds
// steps, or encoded steps (docs/checkpoint_format.md), of which each is decoded when it is first
// read.
class StepChunk {
 public:
  using Body = std::shared_ptr<const std::string>;
  enum class Holds : std::uint8_t { steps, bodies };
  static constexpr std::uint32_t smallest = 4;  // Most runs are short, and 10,000 may be open.
  static constexpr std::uint32_t largest = 64;

  // An empty chunk after `previous` whose first step has index `first`.
  StepChunk(std::shared_ptr<StepChunk> previous, std::size_t first, std::uint32_t capacity,
            Holds holds);
  ~StepChunk();
  StepChunk(const StepChunk&) = delete;
  StepChunk& operator=(const StepChunk&) = delete;

  // Moves the step to slot `slot` if that is the next free one. If it is taken or past the end, or
  // the chunk holds bodies, returns null and leaves `step` untouched.
  const Step* try_append(std::uint32_t slot, Step& step);
  // Likewise for an encoded step; false if it was left untouched.
  bool try_append(std::uint32_t slot, Body& body);
  [[nodiscard]] const Step& at(std::uint32_t slot) const;
  // Whether the step has an `error`, without decoding it.
  [[nodiscard]] bool failed(std::uint32_t slot) const;

  [[nodiscard]] const std::shared_ptr<StepChunk>& previous() const noexcept { return previous_; }
  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  struct Encoded {
    Body body{};
    std::atomic<const Step*> step{nullptr};
  };

  [[nodiscard]] bool claim(std::uint32_t slot) noexcept;
  [[nodiscard]] Step* slot_address(std::uint32_t slot) const noexcept;
  [[nodiscard]] static const Step& decoded(Encoded& slot);

  std::shared_ptr<StepChunk> previous_;
  std::size_t first_;
  std::uint32_t capacity_;
  std::atomic<std::uint32_t> used_{0};
  std::unique_ptr<std::byte[]> steps_{};  // One of these two.
  std::unique_ptr<Encoded[]> bodies_{};
};

// Appends to the chain that ends in `tail` and holds `size` steps; returns the stored step.
const Step& append_step(std::shared_ptr<StepChunk>& tail, std::size_t& size, Step&& step);
void append_encoded_step(std::shared_ptr<StepChunk>& tail, std::size_t& size, StepChunk::Body body);

}  // namespace triage::inline v0_1::detail
