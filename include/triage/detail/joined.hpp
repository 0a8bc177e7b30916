// SPDX-License-Identifier: MIT
#pragma once
// Lists of names in messages. Not public API.

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace triage::inline v0_1::detail {

// A text as it is, a number or an enumerator by its to_string().
struct AsText {
  template <class Part>
  [[nodiscard]] auto operator()(const Part& part) const {
    if constexpr (std::is_convertible_v<const Part&, std::string_view>) {
      return std::string_view(part);
    } else {
      using std::to_string;
      return to_string(part);
    }
  }
};

// "a, b, c". to_text: a function, or a member.
template <class Range, class ToText = AsText>
[[nodiscard]] std::string joined(Range&& range, ToText to_text = {},
                                 std::string_view separator = ", ") {
  std::string text;
  bool is_first = true;
  for (const auto& part : range) {
    if (!is_first) text += separator;
    text += std::invoke(to_text, part);
    is_first = false;
  }
  return text;
}

}  // namespace triage::inline v0_1::detail
