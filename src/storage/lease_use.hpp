// SPDX-License-Identifier: MIT
#pragma once
// A lease that is held for one action on a run.

#include "base/run_catching.hpp"
#include "triage/checkpoint_store.hpp"

namespace triage::inline v0_1::detail {

// Gives a lease back at the end of a scope, also when the store throws. Both outlive it.
class LeaseUse {
 public:
  LeaseUse(CheckpointStore& store, const Lease& lease) noexcept : store_(store), lease_(lease) {}
  ~LeaseUse() {
    static_cast<void>(run_catching([&] { return store_.release(lease_); }));
  }
  LeaseUse(const LeaseUse&) = delete;
  LeaseUse& operator=(const LeaseUse&) = delete;

 private:
  CheckpointStore& store_;
  const Lease& lease_;
};

}  // namespace triage::inline v0_1::detail
