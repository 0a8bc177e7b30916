// SPDX-License-Identifier: MIT
#pragma once
// Runs that nobody works on any more: claimed by workers that share a store.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// What a store implements that can claim many runs in one step.
class ClaimsOrphans {
 public:
  virtual ~ClaimsOrphans() = default;
  // See the function of this name. Thread-safety: that of the store.
  [[nodiscard]] virtual Result<std::vector<Lease>> claim_orphans(std::string_view agent,
                                                                 std::size_t most) = 0;
};

// Takes over at most `most` runs that are running although no living owner holds them: of one
// agent, or of any (empty); those that were started first come first. The owner is the store
// object, as with acquire(). Of several that ask at once, on whatever hosts, each gets others. What
// was claimed and never heard of, because the answer got lost, is free for this store's next claim.
// A store that is no ClaimsOrphans is asked for its runs and acquires them one by one.
// Errors: those of the store, if nothing was claimed before.
[[nodiscard]] Result<std::vector<Lease>> claim_orphans(CheckpointStore& store,
                                                       std::string_view agent, std::size_t most);

}  // namespace triage::inline v0_1
