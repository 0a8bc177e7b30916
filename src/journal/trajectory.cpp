// SPDX-License-Identifier: MIT
#include "triage/trajectory.hpp"

#include "triage/detail/step_chunk.hpp"
#include "triage/record.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace triage::inline v0_1 {
namespace detail {

StepChunk::StepChunk(std::shared_ptr<StepChunk> previous, std::size_t first, std::uint32_t capacity,
                     Holds holds)
    : previous_(std::move(previous)), first_(first), capacity_(capacity) {
  static_assert(alignof(Step) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  if (holds == Holds::steps) {
    steps_.reset(new std::byte[capacity_ * sizeof(Step)]);
  } else {
    bodies_ = std::make_unique<Encoded[]>(capacity_);
  }
}

StepChunk::~StepChunk() {
  const std::uint32_t used = used_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) {
    if (steps_) {
      slot_address(i)->~Step();
    } else {
      delete bodies_[i].step.load(std::memory_order_acquire);
    }
  }
  // Chains are long, and the default destructor would recurse once per chunk.
  auto chain = std::move(previous_);
  while (chain && chain.use_count() == 1) chain = std::move(chain->previous_);
}

Step* StepChunk::slot_address(std::uint32_t slot) const noexcept {
  return std::launder(reinterpret_cast<Step*>(steps_.get() + slot * sizeof(Step)));
}

bool StepChunk::claim(std::uint32_t slot) noexcept {
  std::uint32_t expected = slot;
  return slot < capacity_ &&
         used_.compare_exchange_strong(expected, slot + 1, std::memory_order_acq_rel);
}

const Step* StepChunk::try_append(std::uint32_t slot, Step& step) {
  if (!steps_ || !claim(slot)) return nullptr;
  return ::new (static_cast<void*>(steps_.get() + slot * sizeof(Step))) Step(std::move(step));
}

bool StepChunk::try_append(std::uint32_t slot, Body& body) {
  if (!bodies_ || !claim(slot)) return false;
  bodies_[slot].body = std::move(body);
  return true;
}

const Step& StepChunk::at(std::uint32_t slot) const {
  return steps_ ? *slot_address(slot) : decoded(bodies_[slot]);
}

bool StepChunk::failed(std::uint32_t slot) const {
  const Step* const known =
      steps_ ? slot_address(slot) : bodies_[slot].step.load(std::memory_order_acquire);
  return known != nullptr ? known->error.has_value() : has_error(*bodies_[slot].body);
}

const Step& StepChunk::decoded(Encoded& slot) {
  const Step* known = slot.step.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  Result<Step> read = decode_step(*slot.body);
  // The checksum was right, so this is a step of an unknown version.
  auto step = std::make_unique<const Step>(
      read ? std::move(read).value()
           : Step{.action = "<unreadable step>", .error = read.error().detail});
  // Another thread may have been faster.
  if (!slot.step.compare_exchange_strong(known, step.get(), std::memory_order_acq_rel)) {
    return *known;
  }
  return *step.release();
}

namespace {

// The slot of the next step in the newest chunk, and a chunk after it if that takes no more.
std::uint32_t next_slot(const std::shared_ptr<StepChunk>& tail, std::size_t size) {
  return tail ? static_cast<std::uint32_t>(size - tail->first()) : 0U;
}
std::shared_ptr<StepChunk> next_chunk(const std::shared_ptr<StepChunk>& tail, std::size_t size,
                                      StepChunk::Holds holds) {
  const bool full = tail && next_slot(tail, size) == tail->capacity();
  const std::uint32_t capacity =
      full ? std::min(StepChunk::largest, tail->capacity() * 2) : StepChunk::smallest;
  return std::make_shared<StepChunk>(tail, size, capacity, holds);
}

}  // namespace

const Step& append_step(std::shared_ptr<StepChunk>& tail, std::size_t& size, Step&& step) {
  const Step* stored = tail ? tail->try_append(next_slot(tail, size), step) : nullptr;
  if (stored == nullptr) {
    tail = next_chunk(tail, size, StepChunk::Holds::steps);
    stored = tail->try_append(0, step);
  }
  ++size;
  return *stored;
}

void append_encoded_step(std::shared_ptr<StepChunk>& tail, std::size_t& size,
                         StepChunk::Body body) {
  if (!tail || !tail->try_append(next_slot(tail, size), body)) {
    tail = next_chunk(tail, size, StepChunk::Holds::bodies);
    tail->try_append(0, body);
  }
  ++size;
}

}  // namespace detail

const Step& Trajectory::operator[](std::size_t index) const {
  const detail::StepChunk* chunk = tail_.get();
  while (index < chunk->first()) chunk = chunk->previous().get();
  return chunk->at(static_cast<std::uint32_t>(index - chunk->first()));
}

const Step& Trajectory::append(Step step) {
  return detail::append_step(tail_, size_, std::move(step));
}

Trajectory Trajectory::prefix(std::size_t count) const {
  if (count >= size_) return *this;
  if (count == 0) return {};
  std::shared_ptr<detail::StepChunk> chunk = tail_;
  while (count <= chunk->first()) chunk = chunk->previous();
  return {std::move(chunk), count};
}

namespace {

// The chunk that holds the step, searching from `chunk` on.
std::size_t chunk_with(std::size_t index,
                       const std::vector<std::shared_ptr<detail::StepChunk>>& chunks,
                       std::size_t chunk) {
  // The next chunk may begin before this one's last slot: after a rewind the rest belongs to
  // another branch.
  while (chunk + 1 < chunks.size() && chunks[chunk + 1]->first() <= index) ++chunk;
  return chunk;
}

}  // namespace

Trajectory::Iterator Trajectory::begin() const { return {*this, 0}; }
Trajectory::Iterator Trajectory::end() const {
  Iterator end;
  end.index_ = size_;
  return end;
}

Trajectory::Iterator::Iterator(const Trajectory& trajectory, std::size_t index) : index_(index) {
  for (auto chunk = trajectory.tail_; chunk; chunk = chunk->previous()) chunks_.push_back(chunk);
  std::reverse(chunks_.begin(), chunks_.end());
  chunk_ = chunk_with(index_, chunks_, 0);
}

const Step& Trajectory::Iterator::operator*() const {
  return chunks_[chunk_]->at(static_cast<std::uint32_t>(index_ - chunks_[chunk_]->first()));
}

Trajectory::Iterator& Trajectory::Iterator::operator++() {
  ++index_;
  chunk_ = chunk_with(index_, chunks_, chunk_);
  return *this;
}

}  // namespace triage::inline v0_1
