// SPDX-License-Identifier: MIT
#pragma once
// What happens before the reads of a program. For a program of its own: watched_reads.cpp replaces
// pread().

#include <functional>

namespace triage::test {

// While it lives, `before` is called before each read of a file by pread(), in whatever thread.
// What it reads itself is not watched. One at a time.
class WatchedReads {
 public:
  explicit WatchedReads(std::function<void()> before);
  ~WatchedReads();
  WatchedReads(const WatchedReads&) = delete;
  WatchedReads& operator=(const WatchedReads&) = delete;
};

}  // namespace triage::test
