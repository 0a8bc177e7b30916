// SPDX-License-Identifier: MIT
#pragma once
// Waits for other threads in real time.

#include <atomic>
#include <chrono>
#include <thread>

namespace triage::test {

// Until `holds()`; false if it does not come true in time. Nothing should depend on how long it
// takes: the time only keeps a failing test from hanging.
template <class Condition>
bool wait_until(const Condition& holds,
                std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}
inline bool wait_until(const std::atomic<bool>& flag,
                       std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  return wait_until([&] { return flag.load(); }, patience);
}

}  // namespace triage::test
