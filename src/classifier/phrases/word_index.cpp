// SPDX-License-Identifier: MIT
#include "classifier/phrases/word_index.hpp"

#include "base/ascii.hpp"

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

std::size_t WordIndex::slot_of(const std::string& word) noexcept {
  return slot_of(byte(word, 0) | byte(word, 1) << 8U | byte(word, 2) << 16U);
}

bool WordIndex::stands_at(const std::string& word, std::string_view text, std::size_t at) noexcept {
  if (word.size() > text.size() - at) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (byte(text, at + i) != static_cast<unsigned char>(word[i])) return false;
  }
  return true;
}

WordIndex::WordIndex(std::vector<std::string> words)
    : words_(std::move(words)), slots_(std::size_t{1} << slot_bits), order_(words_.size()) {
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
    order_[slots_[slot_of(words_[word])].end++] = static_cast<std::uint16_t>(word);
  }
}

}  // namespace triage::inline v0_1::detail
