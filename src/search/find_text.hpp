// SPDX-License-Identifier: MIT
#pragma once
// Finds one text in another, always in linear time. Private.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The standard library's search takes O(n * m) on texts such as "aaaa…b". Source: D. Knuth, J.
// Morris, V. Pratt, "Fast pattern matching in strings", SIAM Journal on Computing 6(2), 1977.
// Refers to the text it was made from.
class TextFinder {
 public:
  enum class Case : std::uint8_t { counts, ignored };  // Of ASCII letters.

  // O(part.size()).
  explicit TextFinder(std::string_view part, Case letters = Case::counts);

  // O(text.size()). An empty part is found in every text.
  [[nodiscard]] bool is_in(std::string_view text) const noexcept;

 private:
  [[nodiscard]] bool same(char a, char b) const noexcept;

  std::string_view part_;
  bool ignores_case_;
  std::vector<std::uint32_t> border_{};  // For each prefix of the part: its longest proper prefix
                                         // that is also its suffix.
};

// True if one of the two contains the other. For long texts, only the shorter one's beginning is
// looked for, and only near both ends of the longer one.
[[nodiscard]] bool tell_the_same(std::string_view a, std::string_view b);

}  // namespace triage::inline v0_1::detail
