// SPDX-License-Identifier: MIT
#include "classifier/phrases/word_index.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::array<unsigned char, 256> make_lower_case() {
  std::array<unsigned char, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<unsigned char>(lower(static_cast<char>(i)));
  }
  return table;
}

}  // namespace

constinit const std::array<unsigned char, 256> WordIndex::lower_case = make_lower_case();

std::size_t WordIndex::slot_of(const std::string& word) const noexcept {
  return slot_of(byte(word, 0) | byte(word, 1) << 8U | byte(word, 2) << 16U, slot_shift_);
}

// Finds upper-case letters in all eight bytes at once: for bytes below 128, an addition sets the
// highest bit from 'A' on, but not from '[' on.
std::uint64_t WordIndex::eight_at(std::string_view text, std::size_t at) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text.data() + at, std::min(text.size() - at, sizeof bytes));
  const std::uint64_t low = bytes & (ones * 0x7F);
  const std::uint64_t from_a = low + ones * (0x80 - 'A');
  const std::uint64_t behind_z = low + ones * (0x80 - '[');
  const std::uint64_t upper = ~bytes & from_a & ~behind_z & (ones * 0x80);
  return bytes | upper >> 2U;
}

bool WordIndex::rest_stands_at(const std::string& word, std::string_view text,
                               std::size_t at) noexcept {
  if (word.size() > text.size() - at) return false;
  for (std::size_t i = sizeof(Entry::begin); i < word.size(); ++i) {
    if (byte(text, at + i) != static_cast<unsigned char>(word[i])) return false;
  }
  return true;
}

WordIndex::WordIndex(std::vector<std::string> words)
    : words_(std::move(words)), entries_(words_.size()) {
  // At least four slots per word, so that most are empty.
  const auto bits = static_cast<unsigned>(std::bit_width(words_.size())) + 2;
  slot_shift_ = 32 - std::clamp(bits, least_slot_bits, most_slot_bits);
  slots_.resize(std::size_t{1} << (32 - slot_shift_));
  for (const std::string& word : words_) {
    Slot& slot = slots_[slot_of(word)];
    ++slot.end;
    slot.fourth |= word.size() == least_bytes ? ~0U : 1U << (byte(word, least_bytes) % 32);
  }
  std::uint16_t begin = 0;
  for (Slot& slot : slots_) {
    slot.begin = begin;
    begin = static_cast<std::uint16_t>(begin + slot.end);
    slot.end = slot.begin;
  }
  for (std::size_t word = 0; word < words_.size(); ++word) {
    const std::size_t bytes = std::min(words_[word].size(), sizeof(Entry::begin));
    Entry& entry = entries_[slots_[slot_of(words_[word])].end++];
    std::memcpy(&entry.begin, words_[word].data(), bytes);
    std::memset(&entry.mask, 0xFF, bytes);
    entry.word = static_cast<std::uint16_t>(word);
  }
}

}  // namespace triage::inline v0_1::detail
