// SPDX-License-Identifier: MIT
#include "triage/trajectory.hpp"

#include "triage/detail/step_chunk.hpp"
#include "triage/record.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace triage::inline v0_1 {
namespace detail {

StepChunk::StepChunk(std::shared_ptr<StepChunk> previous, std::size_t first, std::uint32_t capacity)
    : previous_(std::move(previous)), first_(first), capacity_(capacity) {
  static_assert(alignof(Step) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

StepChunk::~StepChunk() {
  const std::uint32_t used = used_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) slot_address(i)->~Step();
  // Chains are long, and the default destructor would recurse once per chunk.
  auto chain = std::move(previous_);
  while (chain && chain.use_count() == 1) chain = std::move(chain->previous_);
}

Step* StepChunk::slot_address(std::uint32_t slot) const noexcept {
  return std::launder(reinterpret_cast<Step*>(slots_.get() + slot * sizeof(Step)));
}

const Step* StepChunk::try_append(std::uint32_t slot, Step& step) {
  if (slot >= capacity_ || !encoded_.empty()) return nullptr;
  std::uint32_t expected = slot;
  if (!used_.compare_exchange_strong(expected, slot + 1, std::memory_order_acq_rel)) return nullptr;
  if (slot == 0) slots_.reset(new std::byte[capacity_ * sizeof(Step)]);
  return ::new (static_cast<void*>(slots_.get() + slot * sizeof(Step))) Step(std::move(step));
}

bool StepChunk::try_append_encoded(std::uint32_t slot, std::shared_ptr<const std::string> body) {
  if (slot >= capacity_ || slot != encoded_.size() || slots_ != nullptr || decoded_) return false;
  encoded_.push_back(std::move(body));
  return true;
}

const Step& StepChunk::at(std::uint32_t slot) const {
  if (!encoded_.empty()) std::call_once(decode_once_, [this] { decode(); });
  return *slot_address(slot);
}

void StepChunk::decode() const {
  slots_.reset(new std::byte[encoded_.size() * sizeof(Step)]);
  for (std::uint32_t i = 0; i < encoded_.size(); ++i) {
    Result<Step> decoded = decode_step(*encoded_[i]);
    // The checksum was right, so this is a step of an unknown version.
    Step step = decoded ? std::move(decoded).value()
                        : Step{.action = "<unreadable step>", .error = decoded.error().detail};
    ::new (static_cast<void*>(slots_.get() + i * sizeof(Step))) Step(std::move(step));
    used_.store(i + 1, std::memory_order_release);
  }
  decoded_ = true;
}

const Step& append_step(std::shared_ptr<StepChunk>& tail, std::size_t& size, Step&& step) {
  const auto slot = tail ? static_cast<std::uint32_t>(size - tail->first()) : 0U;
  const Step* stored = tail ? tail->try_append(slot, step) : nullptr;
  if (stored == nullptr) {
    const bool full = tail && slot == tail->capacity();
    const std::uint32_t capacity =
        full ? std::min(StepChunk::largest, tail->capacity() * 2) : StepChunk::smallest;
    auto chunk = std::make_shared<StepChunk>(tail, size, std::max(capacity, StepChunk::smallest));
    stored = chunk->try_append(0, step);
    tail = std::move(chunk);
  }
  ++size;
  return *stored;
}

void append_encoded_step(std::shared_ptr<StepChunk>& tail, std::size_t& size,
                         std::shared_ptr<const std::string> body) {
  const auto slot = tail ? static_cast<std::uint32_t>(size - tail->first()) : 0U;
  if (!tail || !tail->try_append_encoded(slot, body)) {
    tail = std::make_shared<StepChunk>(tail, size, StepChunk::largest);
    tail->try_append_encoded(0, std::move(body));
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
