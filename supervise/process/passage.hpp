// SPDX-License-Identifier: MIT
#pragma once
// One stream of the child: passed through, with its tail kept and its bytes shown to a reader.

#include "supervise/process/file_descriptor.hpp"
#include "supervise/process/loop.hpp"
#include "supervise/process/tail.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// Reading stops while bytes cannot be written, so the child waits and nothing accumulates here. If
// the other side stops reading, or its disk is full, bytes are dropped so that the child can
// continue.
class Passage {
 public:
  using Reader = std::function<void(std::string_view bytes)>;

  // from: owned by the passage. to: a file that stays open; -1: none. on_bytes receives what was
  // read before it is written.
  Passage(Loop& loop, FileDescriptor from, int to, Reader on_bytes);
  ~Passage();
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  // The stream has ended and everything is written.
  [[nodiscard]] bool ended() const noexcept { return ended_ && waiting_.empty(); }
  // After the child's end: reads what is available, writes it, and ends. False: the other side has
  // to read first.
  [[nodiscard]] bool finish();
  // The other side need not get the rest.
  void drop();
  // A line of our own, written behind what waits, on a line of its own.
  void say(std::string_view text);
  // Something is not written yet: the other side has to read first.
  [[nodiscard]] bool is_unread() const noexcept { return !waiting_.empty(); }
  // What was passed on so far does not end with a line.
  [[nodiscard]] bool is_in_line() const noexcept { return newest_ != '\n'; }
  // Why bytes were dropped although somebody wants them, such as a full disk, as an errno; 0: none
  // were.
  [[nodiscard]] int lost_by() const noexcept { return lost_by_; }
  [[nodiscard]] const Tail& tail() const noexcept { return tail_; }

 private:
  bool fill();  // Reads once, after poll(2) reported that this will not block.
  void flush();
  void wait_for_reader(bool waits);

  Loop& loop_;
  FileDescriptor from_;
  int to_;
  Reader on_bytes_;
  Tail tail_{};
  std::string waiting_{};  // Read and not yet written.
  char newest_ = '\n';     // Of what was passed on.
  bool ended_ = false;
  bool dropped_ = false;
  int lost_by_ = 0;
};

}  // namespace triage::inline v0_1::supervise
