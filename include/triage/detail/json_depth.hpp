// SPDX-License-Identifier: MIT
#pragma once
// How deep the brackets of a JSON text are nested, before anything is parsed. Not public API.

#include <cstddef>
#include <string_view>

namespace triage::inline v0_1::detail {

// Whether arrays and objects are nested deeper than `most` levels. Parsing a million brackets would
// cost a gigabyte, and a tree is walked recursively. Text that is not JSON gets some answer.
// O(text).
[[nodiscard]] inline bool nested_deeper(std::string_view json, int most) noexcept {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace triage::inline v0_1::detail
