// SPDX-License-Identifier: MIT
#include "classifier/phrases/word_index.hpp"

#include "base/ascii.hpp"

#include <algorithm>
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

std::uint32_t four_of(const std::string& word) noexcept {
  std::uint32_t four = 0;
  std::memcpy(&four, word.data(), std::min(word.size(), sizeof four));
  return four;
}

}  // namespace

constinit const std::array<unsigned char, 256> WordIndex::lower_case = make_lower_case();

WordIndex::Slot& WordIndex::slot_of(const std::string& word) noexcept {
  const std::uint32_t four = four_of(word);
  return word.size() == least_bytes ? short_slots_[short_slot_of(four)]
                                    : slots_[begin_of(four) >> (begin_bits - slot_bits)];
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

void WordIndex::note_begin(const std::string& word) {
  const auto note = [&](std::uint32_t four) {
    const std::uint32_t begin = begin_of(four);
    begins_[begin / 64] |= std::uint64_t{1} << (begin % 64);
  };
  const std::uint32_t four = four_of(word);
  if (word.size() > least_bytes) return note(four);
  for (std::uint32_t fourth = 0; fourth < 256; ++fourth) note(four | fourth << 24U);  // Any.
}

WordIndex::WordIndex(std::vector<std::string> words)
    : words_(std::move(words)),
      begins_((std::size_t{1} << begin_bits) / 64),
      slots_(std::size_t{1} << slot_bits),
      short_slots_(std::size_t{1} << short_slot_bits),
      entries_(words_.size()) {
  for (const std::string& word : words_) {
    note_begin(word);
    ++slot_of(word).end;
  }
  std::uint16_t begin = 0;
  for (auto* slots : {&slots_, &short_slots_}) {
    for (Slot& slot : *slots) {
      slot.begin = begin;
      begin = static_cast<std::uint16_t>(begin + slot.end);
      slot.end = slot.begin;
    }
  }
  for (std::size_t word = 0; word < words_.size(); ++word) {
    const std::size_t bytes = std::min(words_[word].size(), sizeof(Entry::begin));
    Entry& entry = entries_[slot_of(words_[word]).end++];
    std::memcpy(&entry.begin, words_[word].data(), bytes);
    std::memset(&entry.mask, 0xFF, bytes);
    entry.word = static_cast<std::uint16_t>(word);
  }
}

}  // namespace triage::inline v0_1::detail
