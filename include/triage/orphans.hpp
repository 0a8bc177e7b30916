// SPDX-License-Identifier: MIT
#pragma once
// Orphaned runs: running, but without a living owner. Claimed by workers that share a store.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// Implemented by stores that can claim many runs in one step.
class ClaimsOrphans {
 public:
  virtual ~ClaimsOrphans() = default;
  // See the free function. Thread-safety: that of the store.
  [[nodiscard]] virtual Result<std::vector<Lease>> claim_orphans(std::string_view agent,
                                                                 std::size_t most) = 0;
};

// Takes over at most `most` running runs without a living owner: of one agent, or of any (empty);
// oldest first. The new owner is the store object, as with acquire(). Concurrent callers, on any
// hosts, get different runs. Runs claimed in a call whose reply was lost are free for this store's
// next claim. For a store that is not a ClaimsOrphans, lists the runs and acquires them one by one.
// Errors: those of the store, if nothing was claimed before.
[[nodiscard]] Result<std::vector<Lease>> claim_orphans(CheckpointStore& store,
                                                       std::string_view agent, std::size_t most);

}  // namespace triage::inline v0_1
