// SPDX-License-Identifier: MIT
#pragma once
// Which features training meets, and which of them have a row in the model's table.

#include "trainer.hpp"

#include <cstdint>
#include <vector>

namespace triage::training {

// The features that examples of enough origins have, numbered in the order of their hashes.
class Vocabulary {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  Vocabulary(const std::vector<const Example*>& examples, std::size_t least_origins);

  // The feature's number, or none.
  [[nodiscard]] std::uint32_t number(std::uint32_t hash) const;
  [[nodiscard]] const std::vector<std::uint32_t>& hashes() const { return hashes_; }

 private:
  std::vector<std::uint32_t> hashes_{};
  // The first number of each value of a hash's upper half, and where the last of them ends.
  std::vector<std::uint32_t> begins_ = std::vector<std::uint32_t>((1U << 16U) + 1, 0);
};

// The rows of the table, given to features one after the other.
class Places {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The row of the feature; none if its bucket is full.
  [[nodiscard]] std::uint32_t give(std::uint32_t hash);
  // By row; 0: free.
  [[nodiscard]] const std::vector<std::uint16_t>& tags() const { return tags_; }

 private:
  std::vector<std::uint16_t> tags_ =
      std::vector<std::uint16_t>(detail::ModelParameters::table_rows, 0);
};

}  // namespace triage::training
