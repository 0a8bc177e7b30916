// SPDX-License-Identifier: MIT
#pragma once
// Reads lines of any length and any bytes, NUL included.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::cli {

class LineReader {
 public:
  static constexpr std::size_t longest_line_bytes = 64U << 20U;

  struct Line {
    std::string_view text{};  // Without its end; valid until the next call of next().
    bool too_long = false;    // Truncated at longest_line_bytes.
  };

  // file: a descriptor that the caller owns; it stays open. before_reading: called before each
  // read, which may have to wait.
  explicit LineReader(int file, std::function<void()> before_reading = {})
      : file_(file), before_reading_(std::move(before_reading)) {}
  // The next line, even if the last has no newline; empty at the end.
  [[nodiscard]] std::optional<Line> next();
  // True if reading ended with an error.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  bool fill();

  int file_;
  std::function<void()> before_reading_;
  bool failed_ = false;
  std::string buffer_{};
  std::size_t begin_ = 0;    // Where the next line begins.
  std::size_t scanned_ = 0;  // There is no newline before this.
};

}  // namespace triage::inline v0_1::cli
