// SPDX-License-Identifier: MIT
#pragma once
// Reads lines of any length and any bytes, NUL included.

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

class LineReader {
 public:
  static constexpr std::size_t longest_line_bytes = 64U << 20U;

  struct Line {
    std::string_view text{};  // Without its end; valid until the next call of next().
    bool too_long = false;    // Truncated at longest_line_bytes.
  };

  // The caller owns the file, which stays open.
  explicit LineReader(std::FILE* file) : file_(file) {}
  // The next line, even if the last has no newline; empty at the end.
  [[nodiscard]] std::optional<Line> next();
  // True if reading ended with an error.
  [[nodiscard]] bool failed() const noexcept { return std::ferror(file_) != 0; }

 private:
  bool fill();

  std::FILE* file_;
  std::string buffer_{};
  std::size_t begin_ = 0;    // Where the next line begins.
  std::size_t scanned_ = 0;  // There is no newline before this.
};

}  // namespace triage::inline v0_1::cli
