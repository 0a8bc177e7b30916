// SPDX-License-Identifier: MIT
#include "base/percent.hpp"

#include <algorithm>
#include <charconv>

namespace triage::inline v0_1::detail {

std::optional<std::string> percent_decoded(std::string_view text, Malformed malformed) {
  std::string plain;
  for (;;) {
    const std::size_t mark = std::min(text.find('%'), text.size());
    plain += text.substr(0, mark);
    if (mark == text.size()) return plain;
    const std::string_view digits = text.substr(mark + 1, 2);
    const char* const end = digits.data() + digits.size();
    unsigned byte = 0;
    if (digits.size() == 2 && std::from_chars(digits.data(), end, byte, 16).ptr == end) {
      plain += static_cast<char>(byte);
      text.remove_prefix(mark + 3);
    } else if (malformed == Malformed::keep) {
      plain += '%';
      text.remove_prefix(mark + 1);
    } else {
      return std::nullopt;
    }
  }
}

}  // namespace triage::inline v0_1::detail
