// SPDX-License-Identifier: MIT
#include "arguments/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace triage::inline v0_1::cli {

std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string meant_name(std::string_view given, const std::vector<std::string>& names) {
  std::string_view best;
  std::size_t nearest = least_unlike;
  for (const std::string& name : names) {
    if (std::max(given.size(), name.size()) > longest_typo) continue;
    if (const std::size_t letters = letters_between(given, name);
        letters < std::min(nearest, std::max(given.size(), name.size()))) {
      nearest = letters;
      best = name;
    }
  }
  return best.empty() ? "" : "; did you mean \"" + std::string(best) + "\"?";
}

}  // namespace triage::inline v0_1::cli
