// SPDX-License-Identifier: MIT
#include "support/watched_reads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace {

std::function<void()> watching{};
bool inside = false;

}  // namespace

namespace triage::test {

WatchedReads::WatchedReads(std::function<void()> before) { watching = std::move(before); }
WatchedReads::~WatchedReads() { watching = nullptr; }

}  // namespace triage::test

extern "C" ssize_t pread(int file, void* bytes, std::size_t size, off_t at) {
  if (watching && !inside) {
    inside = true;
    watching();
    inside = false;
  }
  return ::syscall(SYS_pread64, file, bytes, size, at);
}
