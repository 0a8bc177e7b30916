// SPDX-License-Identifier: MIT
#pragma once
// Finds a text in others in linear time, whatever the texts. Private.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The usual search of the standard library takes the product of both lengths for texts such as
// "aaaa…b". Source: D. Knuth, J. Morris, V. Pratt, "Fast pattern matching in strings", SIAM Journal
// on Computing 6(2), 1977. Refers to the text it was made of.
class TextFinder {
 public:
  enum class Case : std::uint8_t { counts, ignored };  // Of ASCII letters.

  // O(part.size()).
  explicit TextFinder(std::string_view part, Case letters = Case::counts);

  // O(text.size()); an empty part is in every text.
  [[nodiscard]] bool is_in(std::string_view text) const noexcept;

 private:
  [[nodiscard]] bool same(char a, char b) const noexcept;

  std::string_view part_;
  bool ignores_case_;
  std::vector<std::uint32_t> border_{};  // Of each beginning of the part: its longest proper one
                                         // that is its end, too.
};

// True if one of the two is found in the other; of long ones the beginning is looked for, near
// both ends.
[[nodiscard]] bool tell_the_same(std::string_view a, std::string_view b);

}  // namespace triage::inline v0_1::detail
