// SPDX-License-Identifier: MIT
#include "supervise/process/passage.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include <poll.h>
#include <sys/stat.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t block_bytes = 64U << 10U;
// poll(2) guarantees that this much can be written without blocking. Source: pipe(7), PIPE_BUF.
constexpr std::size_t written_at_once = PIPE_BUF;
constexpr std::size_t most_waiting = 4 * block_bytes;

// Not that the reader has gone, as a terminal does with EIO.
bool is_of_disk(int file, int why) {
  if (why != EIO) return why == ENOSPC || why == EDQUOT || why == EFBIG;
  struct stat found {};
  return ::fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

Passage::Passage(Loop& loop, FileDescriptor from, int to, Reader on_bytes)
    : loop_(loop), from_(std::move(from)), to_(to), on_bytes_(std::move(on_bytes)) {
  loop_.watch(from_.get(), POLLIN, [this](short) {
    fill();
    flush();
  });
}

Passage::~Passage() {
  wait_for_reader(false);
  if (from_) loop_.forget(from_.get());
}

bool Passage::fill() {
  if (ended_ || !waiting_.empty()) return false;
  std::array<char, block_bytes> buffer;  // Not cleared: most lines are short.
  const ssize_t got = ::read(from_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {  // EIO: the last process on this terminal has gone.
    ended_ = true;
    loop_.forget(from_.get());
    return false;
  }
  std::string block(buffer.data(), static_cast<std::size_t>(got));
  tail_.add(block);
  if (on_bytes_) on_bytes_(block);
  newest_ = block.back();
  if (to_ >= 0 && !dropped_) waiting_ += block;  // The reader may have said something.
  return true;
}

void Passage::flush() {
  while (!waiting_.empty()) {
    pollfd ready{to_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) break;
    const ssize_t put = ::write(to_, waiting_.data(), std::min(waiting_.size(), written_at_once));
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (put < 0) {
      const int why = errno;
      if (is_of_disk(to_, why)) lost_by_ = why;
      dropped_ = true;
      waiting_.clear();
    } else {
      waiting_.erase(0, static_cast<std::size_t>(put));
    }
  }
  wait_for_reader(!waiting_.empty());
}

void Passage::wait_for_reader(bool waits) {
  if (!ended_) loop_.set_events(from_.get(), waits ? 0 : POLLIN);
  if (!waits) {
    if (to_ >= 0) loop_.forget(to_);
  } else if (!loop_.watches(to_)) {
    loop_.watch(to_, POLLOUT, [this](short) { flush(); });
  }
}

bool Passage::finish() {
  for (flush(); waiting_.empty() && !ended_; flush()) {
    pollfd ready{from_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 0) > 0) {
      fill();
    } else {
      ended_ = true;
      loop_.forget(from_.get());
    }
  }
  return ended();
}

void Passage::say(std::string_view text) {
  if (to_ < 0 || dropped_ || waiting_.size() > most_waiting) return;
  if (is_in_line()) waiting_ += '\n';
  waiting_ += text;
  newest_ = text.empty() ? newest_ : text.back();
  flush();
}

void Passage::drop() {
  dropped_ = true;
  waiting_.clear();
  wait_for_reader(false);
}

}  // namespace triage::inline v0_1::supervise
