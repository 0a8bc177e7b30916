// SPDX-License-Identifier: MIT
#pragma once
// Counts heap allocations of this program. Linked only into benchmarks that report them.

#include <cstddef>

namespace triage::bench {

struct Heap {
  std::size_t allocations = 0;  // Since the program started.
  std::size_t live_bytes = 0;   // Currently in use, as rounded by the allocator.
};
[[nodiscard]] Heap heap() noexcept;

}  // namespace triage::bench
