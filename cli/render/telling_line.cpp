// SPDX-License-Identifier: MIT
#include "render/telling_line.hpp"

#include "render/output.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace triage::inline v0_1::cli {
namespace {

// "main.(*Server).run(0x1, {0xc000, 0x8})", "created by main.run in goroutine 1": frames of Go.
bool is_frame(std::string_view line) {
  constexpr std::string_view arguments = "0123456789abcdefx{}_?., ";
  const std::size_t open = line.rfind('(');
  const bool call = line.back() == ')' && open != std::string_view::npos &&
                    line.find_first_not_of(arguments, open + 1) == line.size() - 1 &&
                    line.substr(0, open).find('.') != std::string_view::npos &&
                    line.substr(0, open).find(' ') == std::string_view::npos;
  return call || line.starts_with("created by ") || line.starts_with("goroutine ");
}

bool tells_nothing(std::string_view line) {
  constexpr std::array appended{"Node.js v", "note: run with `RUST_BACKTRACE",
                                "note: Some details are omitted", "exit status "};
  const auto begins = [line](const char* with) { return line.starts_with(with); };
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c < 0;
  };
  return line.front() == ' ' || line.front() == '\t' ||
         std::none_of(line.begin(), line.end(), is_letter) ||
         std::any_of(appended.begin(), appended.end(), begins) || is_frame(line);
}

}  // namespace

std::string_view telling_line(std::string_view text) {
  std::string_view last;
  while (!text.empty()) {
    const std::size_t start = text.rfind('\n') + 1;  // 0 if there is none.
    std::string_view line = text.substr(start);
    text = text.substr(0, start == 0 ? 0 : start - 1);
    const std::size_t end = line.find_last_not_of(" \t\r");
    if (end == std::string_view::npos) continue;
    line = line.substr(0, end + 1);
    if (!tells_nothing(line)) return line;
    if (last.empty()) last = line;
  }
  return last;
}

std::string quote(std::string_view text, std::size_t longest) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const bool fits = text.size() <= longest;
  return shorten(fits ? text : telling_line(text), longest);
}

}  // namespace triage::inline v0_1::cli
