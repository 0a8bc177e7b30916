// SPDX-License-Identifier: MIT
#pragma once
// Memory that runs out. For a program of its own: scarce_memory.cpp replaces operator new.

namespace triage::test {

// While it lives, `allocations` succeed, and then the next one fails, or all do. For a process with
// a single thread.
class ScarceMemory {
 public:
  ScarceMemory(int allocations, bool only_one) noexcept;
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;

  // Whether an allocation has failed since the last of these was made.
  [[nodiscard]] static bool ran_out() noexcept;
};

}  // namespace triage::test
