// SPDX-License-Identifier: MIT
#pragma once
// Counts heap allocations of this program. Linked into those benchmarks only that report them.

#include <cstddef>

namespace triage::bench {

struct Heap {
  std::size_t allocations = 0;  // Since the program began.
  std::size_t live_bytes = 0;   // In use now, as the allocator rounds them.
};
[[nodiscard]] Heap heap() noexcept;

}  // namespace triage::bench
