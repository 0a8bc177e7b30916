// SPDX-License-Identifier: MIT
#include "near_duplicates.hpp"

#include "triage/detail/fnv1a.hpp"

#include <re2/re2.h>
#include <algorithm>
#include <string>

namespace triage::training {
namespace {

using detail::fnv1a;
using detail::fnv1a_start;

// The hash goes on with a word and an end that stands in no text.
std::uint64_t with_word(std::uint64_t hash, std::string_view word) {
  return fnv1a("\xff", fnv1a(word, hash));
}

// Replaces quoted names, words with digits and compound names by one word each.
std::string masked(std::string_view text) {
  static const RE2 quoted(R"('[^'\n]{1,60}'|"[^"\n]{1,60}"|`[^`\n]{1,60}`)");
  static const RE2 numbered(R"([\pL\pN_./:@-]*\pN[\pL\pN_./:@-]*)");
  static const RE2 compound(R"([\pL\pN_-]+(?:[./:@_\\][\pL\pN_-]+)+)");
  std::string words(text);
  RE2::GlobalReplace(&words, quoted, " <q> ");
  std::transform(words.begin(), words.end(), words.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  RE2::GlobalReplace(&words, numbered, " <n> ");
  RE2::GlobalReplace(&words, compound, " <id> ");
  return words;
}

std::vector<std::uint64_t> trigrams(std::string_view text) {
  static const RE2 word(R"((<q>|<n>|<id>|[\pL\pN_]+))");
  const std::string words = masked(text);
  re2::StringPiece rest(words);
  re2::StringPiece found;
  std::vector<std::string_view> all;
  while (RE2::FindAndConsume(&rest, word, &found)) all.emplace_back(found.data(), found.size());
  std::vector<std::uint64_t> grams;
  if (all.size() < 3) {
    std::uint64_t hash = fnv1a_start;
    for (const std::string_view one : all) hash = with_word(hash, one);
    grams.push_back(hash);
  }
  for (std::size_t i = 0; i + 2 < all.size(); ++i) {
    grams.push_back(with_word(with_word(with_word(fnv1a_start, all[i]), all[i + 1]), all[i + 2]));
  }
  std::sort(grams.begin(), grams.end());
  grams.erase(std::unique(grams.begin(), grams.end()), grams.end());
  return grams;
}

}  // namespace

void NearDuplicates::add(std::string_view text) {
  const std::vector<std::uint64_t> grams = trigrams(text);
  const auto index = static_cast<std::uint32_t>(sizes_.size());
  sizes_.push_back(grams.size());
  for (const std::uint64_t gram : grams) holders_[gram].push_back(index);
}

double NearDuplicates::largest_share(std::string_view text) const {
  const std::vector<std::uint64_t> grams = trigrams(text);
  std::unordered_map<std::uint32_t, std::size_t> common;
  for (const std::uint64_t gram : grams) {
    const auto found = holders_.find(gram);
    if (found == holders_.end()) continue;
    for (const std::uint32_t holder : found->second) ++common[holder];
  }
  double largest = 0;
  for (const auto& [holder, count] : common) {
    const auto both = static_cast<double>(grams.size() + sizes_[holder]);
    largest = std::max(largest, 2 * static_cast<double>(count) / both);
  }
  return largest;
}

}  // namespace triage::training
