// SPDX-License-Identifier: MIT
#include "triage/detail/nearest.hpp"

#include "triage/detail/joined.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_compared = 64;

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, longest_compared);
  b = b.substr(0, longest_compared);
  using Row = std::array<int, longest_compared + 1>;
  Row before_last{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view wrong, const std::vector<std::string>& names) {
  std::string_view best;
  int best_distance = 0;
  for (const std::string& name : names) {
    const int distance = edit_distance(wrong, name);
    if (best.empty() || distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  // With more than a third of the characters wrong (or two, in a short name) it is not a typo.
  const auto length =
      static_cast<int>(std::min(std::max(wrong.size(), best.size()), longest_compared));
  return best_distance <= std::max(2, length / 3) && best_distance < length ? best
                                                                            : std::string_view{};
}

std::string meant_name(std::string_view wrong, const std::vector<std::string>& names) {
  const std::string_view meant = nearest(wrong, names);
  return meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?";
}

std::string allowed_names(std::string_view wrong, const std::vector<std::string>& names) {
  const std::string allowed =
      names.empty() ? "; nothing is allowed here" : "; allowed are " + joined(names);
  return allowed + meant_name(wrong, names);
}

}  // namespace triage::inline v0_1::detail
