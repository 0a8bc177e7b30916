// SPDX-License-Identifier: MIT
#include "lab/simulation/world_stores.hpp"

#include <vector>

namespace triage::inline v0_1::lab::detail {

void MortalStore::die() {
  for (const Held& held : leases_) {
    static_cast<void>(immortal_->release({.run = held.run,
                                          .epoch = held.epoch,
                                          .handle = held.handle,
                                          .holder = held.holder.lock()}));
  }
  leases_.clear();
  life_->fail_with({Errc::io, "this process is dead"});
  life_->fail_until_healed();
}

Result<Lease> MortalStore::noted(Result<Lease> lease) {
  if (lease) {
    const Lease& given = lease.value();
    leases_.push_back({given.run, given.epoch, given.handle, given.holder});
  }
  return lease;
}

Result<Lease> MortalStore::start(const RunInfo& run, std::span<const Record> records) {
  return noted(ForwardingStore::start(run, records));
}
Result<Lease> MortalStore::acquire(const RunId& run) {
  return noted(ForwardingStore::acquire(run));
}
Result<void> MortalStore::release(const Lease& lease) {
  std::erase_if(leases_, [&](const Held& held) {
    return held.run == lease.run && held.epoch == lease.epoch;
  });
  return ForwardingStore::release(lease);
}

}  // namespace triage::inline v0_1::lab::detail
