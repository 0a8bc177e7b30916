// SPDX-License-Identifier: MIT
#include "vocabulary.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace triage::training {

Vocabulary::Vocabulary(const std::vector<const Example*>& examples, std::size_t least_origins) {
  std::map<std::size_t, std::vector<const Example*>> by_origin;
  for (const Example* example : examples) by_origin[example->origin].push_back(example);
  std::vector<std::uint32_t> hashes;  // Once per origin that has it.
  for (const auto& [origin, of_origin] : by_origin) {
    std::vector<std::uint32_t> own;
    for (const Example* example : of_origin) {
      for (const detail::Feature& feature : example->features) own.push_back(feature.hash);
    }
    std::sort(own.begin(), own.end());
    hashes.insert(hashes.end(), own.begin(), std::unique(own.begin(), own.end()));
  }
  std::sort(hashes.begin(), hashes.end());
  for (std::size_t begin = 0; begin < hashes.size();) {
    std::size_t end = begin + 1;
    while (end < hashes.size() && hashes[end] == hashes[begin]) ++end;
    if (end - begin >= least_origins) hashes_.push_back(hashes[begin]);
    begin = end;
  }
  for (const std::uint32_t hash : hashes_) ++begins_[(hash >> 16U) + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

std::uint32_t Vocabulary::number(std::uint32_t hash) const {
  const auto begin = hashes_.begin() + begins_[hash >> 16U];
  const auto end = hashes_.begin() + begins_[(hash >> 16U) + 1];
  const auto found = std::lower_bound(begin, end, hash);
  if (found == end || *found != hash) return none;
  return static_cast<std::uint32_t>(found - hashes_.begin());
}

std::uint32_t Places::give(std::uint32_t hash) {
  const std::size_t begin = detail::bucket_begin(hash);
  for (std::size_t i = begin; i < begin + detail::ModelParameters::bucket_rows; ++i) {
    // With the same tag it shares the other feature's row.
    if (tags_[i] != 0 && tags_[i] != detail::feature_tag(hash)) continue;
    tags_[i] = detail::feature_tag(hash);
    return static_cast<std::uint32_t>(i);
  }
  return none;
}

}  // namespace triage::training
