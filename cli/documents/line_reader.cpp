// SPDX-License-Identifier: MIT
#include "line_reader.hpp"

#include <cerrno>

#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t block_bytes = 256U << 10U;

}  // namespace

// Appends a block. False at the end.
bool LineReader::fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  const std::size_t size = buffer_.size();
  buffer_.resize(size + block_bytes);
  if (before_reading_) before_reading_();
  ssize_t got = -1;
  do {
    got = ::read(file_, buffer_.data() + size, block_bytes);
  } while (got < 0 && errno == EINTR);
  failed_ = got < 0;
  buffer_.resize(size + static_cast<std::size_t>(failed_ ? 0 : got));
  return got > 0;
}

std::optional<LineReader::Line> LineReader::next() {
  bool too_long = false;
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      const Line line{std::string_view(buffer_).substr(begin_, end - begin_), too_long};
      begin_ = scanned_ = end + 1;
      return line;
    }
    scanned_ = buffer_.size();
    if (scanned_ - begin_ > longest_line_bytes) {  // Drop it and skip to its end.
      too_long = true;
      begin_ = scanned_;
    }
    if (!fill()) break;
  }
  const Line line{std::string_view(buffer_).substr(begin_), too_long};
  begin_ = scanned_ = buffer_.size();
  if (line.text.empty() && !too_long) return std::nullopt;
  return line;
}

}  // namespace triage::inline v0_1::cli
