// SPDX-License-Identifier: MIT
#pragma once
// One stream of the child: passed through, its tail kept, its lines shown to whoever reads them.

#include "supervise/file_descriptor.hpp"
#include "supervise/loop.hpp"
#include "supervise/tail.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// Bytes that cannot be written yet stop the reading: the child waits, and nothing piles up here.
// Where nobody reads them any more, they are dropped, so that the child goes on.
class Passage {
 public:
  using Reader = std::function<void(std::string_view bytes)>;

  // from: belongs to the passage. to: a file that stays open; -1: nowhere. on_bytes is called with
  // what has been read, before it is written.
  Passage(Loop& loop, FileDescriptor from, int to, Reader on_bytes);
  ~Passage();
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  // The end of the stream has come, and everything is written.
  [[nodiscard]] bool ended() const noexcept { return ended_ && waiting_.empty(); }
  // Reads what is there without waiting for more, writes it, and ends: the child is gone.
  void finish();
  [[nodiscard]] const Tail& tail() const noexcept { return tail_; }

 private:
  bool fill();  // Reads once, where poll(2) says that it will not block.
  void flush();
  void wait_for_reader(bool waits);

  Loop& loop_;
  FileDescriptor from_;
  int to_;
  Reader on_bytes_;
  Tail tail_{};
  std::string waiting_{};  // Read and not yet written.
  bool ended_ = false;
  bool dropped_ = false;
};

}  // namespace triage::inline v0_1::supervise
