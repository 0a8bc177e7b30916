// SPDX-License-Identifier: MIT
#pragma once
// What lines of traces begin with. Private.

#include <algorithm>
#include <array>
#include <string_view>

namespace triage::inline v0_1::detail::undressing {

// What a line may start with. Most lines differ from all of it in the first byte.
template <std::size_t Count>
class Starts {
 public:
  explicit constexpr Starts(const std::array<std::string_view, Count>& starts) : starts_(starts) {
    for (const std::string_view start : starts_)
      first_[static_cast<unsigned char>(start[0])] = true;
  }

  // The first of them that the line begins with; empty if there is none.
  [[nodiscard]] constexpr std::string_view of(std::string_view line) const noexcept {
    if (line.empty() || !first_[static_cast<unsigned char>(line[0])]) return {};
    for (const std::string_view start : starts_) {
      if (start[0] == line[0] && line.starts_with(start)) return start;
    }
    return {};
  }

  template <class Test>
  [[nodiscard]] constexpr bool any(Test test) const {
    return std::any_of(starts_.begin(), starts_.end(), test);
  }

 private:
  std::array<std::string_view, Count> starts_;
  std::array<bool, 256> first_{};
};

// Lines between frames and links of a chain, which say nothing about the failure.
inline constexpr Starts marker_starts(
    std::to_array<std::string_view>({"Traceback (most recent call last)",
                                     "Exception Group Traceback (most recent call last)",
                                     "During handling of the above exception",
                                     "The above exception was the direct cause",
                                     "--- End of ",
                                     "---End of",
                                     "stack backtrace:",
                                     "Stack trace:",
                                     "Stack Trace:",
                                     "stack traceback:",
                                     "note: run with `RUST_BACKTRACE",
                                     "note: Some details are omitted",
                                     "[Previous line repeated",
                                     "Backtrace:",
                                     "Call stack:",
                                     "Stacktrace:",
                                     "Call Stack",
                                     "The following exception was thrown",
                                     "Previous exception in",
                                     "thrown in ",
                                     "+-",
                                     "[signal ",
                                     "[recovered]"}));
[[nodiscard]] constexpr bool is_marker(std::string_view line) noexcept {
  if (!marker_starts.of(line).empty()) return true;
  if (line.starts_with("... ") && (line.ends_with(" more") || line.ends_with("omitted")))
    return true;
  return line.starts_with("Node.js v") && line.size() < 24;
}

// What introduces a link of a chain.
inline constexpr Starts introductions(std::to_array<std::string_view>(
    {"Caused by: ", "Suppressed: ", "[cause]: ", "[errors]: ", "---> ", "Unhandled exception. ",
     "Unhandled Exception: ", "Unhandled exception: ", "Uncaught (in promise) ", "Uncaught ",
     "panic: ", "fatal error: ", "PHP Fatal error:  ", "Fatal error: ", "** ",
     "Wrapped by: ", "Root cause: ", "Nested exception is ", "nested exception is "}));
// The introduction that the line begins with; empty if there is none.
[[nodiscard]] constexpr std::string_view introduction_of(std::string_view line) noexcept {
  return introductions.of(line);
}
// Whether the line is an introduction and nothing else, without the blank at its end.
[[nodiscard]] constexpr bool is_introduction(std::string_view line) noexcept {
  return introductions.any([line](std::string_view start) {
    return start.size() == line.size() + 1 && start.starts_with(line) && start.back() == ' ';
  });
}

}  // namespace triage::inline v0_1::detail::undressing
