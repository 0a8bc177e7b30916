// SPDX-License-Identifier: MIT
#pragma once
// The lexicon (data/lexicon.tsv): which words have the same meaning. Private.

#include "triage/result.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// One step of the hash shared by words, word prefixes and features (FNV-1a).
inline constexpr std::uint32_t hash_seed = 2166136261U;
[[nodiscard]] constexpr std::uint32_t hash_byte(std::uint32_t hash, unsigned char byte) noexcept {
  return (hash ^ byte) * 16777619U;
}

// Numbered from 1; 0 is no concept.
using Concept = std::uint8_t;

// Thread-safety: immutable after parse().
class Lexicon {
 public:
  // Reads the table. Errors: Errc::invalid_argument, naming the line.
  [[nodiscard]] static Result<Lexicon> parse(std::string_view table);

  // The concept of all words that start with the bytes of this hash; 0 if none.
  [[nodiscard]] Concept prefix(std::uint32_t hash) const noexcept { return find(hash, prefixes_); }
  // The concept of the word with this hash; 0 if none.
  [[nodiscard]] Concept word(std::uint32_t hash) const noexcept { return find(hash, words_); }
  // By number; "" for 0.
  [[nodiscard]] const std::vector<std::string>& concepts() const noexcept { return concepts_; }

 private:
  static constexpr std::uint32_t slots = 1U << 14U;
  struct Table {
    std::array<std::uint64_t, (1U << 16U) / 64> filter{};
    std::vector<std::uint32_t> hashes = std::vector<std::uint32_t>(slots, 0);
    std::vector<Concept> concepts = std::vector<Concept>(slots, 0);
    std::size_t size = 0;
  };

  static Concept find(std::uint32_t hash, const Table& table) noexcept {
    const std::uint32_t low = (hash ^ (hash >> 16U)) & 0xFFFFU;
    if ((table.filter[low / 64] >> (low % 64) & 1U) == 0) return 0;
    for (std::uint32_t slot = hash & (slots - 1);; slot = (slot + 1) & (slots - 1)) {
      if (table.concepts[slot] == 0) return 0;
      if (table.hashes[slot] == hash) return table.concepts[slot];
    }
  }
  static Result<void> add(std::string_view entry, Concept meaning, Table& table);

  Table words_{};
  Table prefixes_{};
  std::vector<std::string> concepts_{""};
};

// The built-in table and its checksum: a model fits one lexicon only.
[[nodiscard]] std::string_view built_in_lexicon_table() noexcept;
[[nodiscard]] std::uint32_t built_in_lexicon_checksum() noexcept;
[[nodiscard]] const Lexicon& built_in_lexicon();

}  // namespace triage::inline v0_1::detail
