// SPDX-License-Identifier: MIT
#pragma once
// Retention while runs write: a decorator that keeps their journals short.

#include "triage/compaction.hpp"
#include "triage/forwarding_store.hpp"

#include <memory>

namespace triage::inline v0_1 {

struct CompactingOptions {
  CompactionRule rule{};
  // A run is compacted when it has recorded so many state changes since the last time, and as many
  // as it has records left from then: so what it costs grows with what is recorded, not with how
  // often. 16 or more.
  std::size_t every = 1'024;
};

// Compacts a run in between its appends (see compact_held_run), on the thread that appends, under
// the run's lease. One append of `every` waits for it, all others cost what they cost without. What
// prevents it is a warning (take_warning()), never an error of the append.
//
// Thread-safety: that of the inner store.
class CompactingStore : public ForwardingStore {
 public:
  // Errors: Errc::invalid_argument (no store, options out of range); Errc::unsupported (the store
  // is no CompactsRuns).
  [[nodiscard]] static Result<std::shared_ptr<CompactingStore>> around(
      std::shared_ptr<CheckpointStore> inner, const CompactingOptions& options = {});

 protected:
  using ForwardingStore::ForwardingStore;
};

}  // namespace triage::inline v0_1
