// SPDX-License-Identifier: MIT
#pragma once
// Texts that say the same but for names and numbers.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace triage::training {

// The measure of scripts/check_corpus: the share of word trigrams that two texts have in common,
// once names and numbers are masked. Linear in the trigrams' occurrences.
class NearDuplicates {
 public:
  void add(std::string_view text);
  // The largest share that a text has in common with any of those added; 0 to 1.
  [[nodiscard]] double largest_share(std::string_view text) const;

 private:
  std::vector<std::size_t> sizes_{};  // Trigrams of each text added.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> holders_{};
};

}  // namespace triage::training
