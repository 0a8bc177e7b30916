// SPDX-License-Identifier: MIT
#pragma once
// Retention during writing: a decorator that keeps journals short.

#include "triage/compaction.hpp"
#include "triage/forwarding_store.hpp"

#include <memory>

namespace triage::inline v0_1 {

struct CompactingOptions {
  CompactionRule rule{};
  // Compacts a run after this many state changes since the last time, and at least as many as the
  // records that were left then: so the cost grows with what is recorded, not with how often it is
  // compacted. 16 or more.
  std::size_t every = 1'024;
};

// Compacts a run between its appends (see compact_held_run), on the appending thread, under the
// run's lease. One append in `every` waits for it; the others cost nothing extra. A failure is a
// warning (take_warning()), never an error of the append.
//
// Thread-safety: that of the inner store.
class CompactingStore : public ForwardingStore, public detail::CompactsInPassing {
 public:
  // Errors: Errc::invalid_argument (no store, options out of range); Errc::unsupported (the store
  // is not a CompactsRuns).
  [[nodiscard]] static Result<std::shared_ptr<CompactingStore>> around(
      std::shared_ptr<CheckpointStore> inner, const CompactingOptions& options = {});

 protected:
  using ForwardingStore::ForwardingStore;
};

}  // namespace triage::inline v0_1
