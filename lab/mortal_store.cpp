// SPDX-License-Identifier: MIT
#include "world_stores.hpp"

#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

Error gone() { return {Errc::io, "this process is dead"}; }

}  // namespace

void MortalStore::die() {
  for (const Held& held : leases_) {
    static_cast<void>(inner().release({.run = held.run,
                                       .epoch = held.epoch,
                                       .handle = held.handle,
                                       .holder = held.holder.lock()}));
  }
  leases_.clear();
  dead_ = true;
}

Result<Lease> MortalStore::noted(Result<Lease> lease) {
  if (lease) {
    const Lease& given = lease.value();
    leases_.push_back({given.run, given.epoch, given.handle, given.holder});
  }
  return lease;
}

Result<Lease> MortalStore::start(const RunInfo& run, std::span<const Record> records) {
  if (dead_) return gone();
  return noted(ForwardingStore::start(run, records));
}
Result<Lease> MortalStore::acquire(const RunId& run) {
  if (dead_) return gone();
  return noted(ForwardingStore::acquire(run));
}
Result<void> MortalStore::renew(const Lease& lease) {
  if (dead_) return gone();
  return ForwardingStore::renew(lease);
}
Result<void> MortalStore::release(const Lease& lease) {
  if (dead_) return gone();
  std::erase_if(leases_, [&](const Held& held) {
    return held.run == lease.run && held.epoch == lease.epoch;
  });
  return ForwardingStore::release(lease);
}
Result<void> MortalStore::append(const Lease& lease, std::span<const Record> records,
                                 RunStatus status) {
  if (dead_) return gone();
  return ForwardingStore::append(lease, records, status);
}
void MortalStore::append_group(std::span<AppendBatch> batches) {
  if (!dead_) return ForwardingStore::append_group(batches);
  for (AppendBatch& batch : batches) batch.outcome = gone();
}
Result<JournalReading> MortalStore::read(const RunId& run, SequenceRange range) {
  if (dead_) return gone();
  return ForwardingStore::read(run, range);
}
Result<JournalReading> MortalStore::read_newest(const RunId& run) {
  if (dead_) return gone();
  return ForwardingStore::read_newest(run);
}
Result<std::vector<RunInfo>> MortalStore::runs(const RunQuery& query) {
  if (dead_) return gone();
  return ForwardingStore::runs(query);
}
Result<RunInfo> MortalStore::run(const RunId& id) {
  if (dead_) return gone();
  return ForwardingStore::run(id);
}
Result<void> MortalStore::erase(const RunId& run) {
  if (dead_) return gone();
  return ForwardingStore::erase(run);
}
Result<std::optional<VersionedValue>> MortalStore::get(std::string_view space,
                                                       std::string_view key) {
  if (dead_) return gone();
  return ForwardingStore::get(space, key);
}
Result<std::uint64_t> MortalStore::put_if(std::string_view space, std::string_view key,
                                          std::uint64_t expected, std::string_view bytes) {
  if (dead_) return gone();
  return ForwardingStore::put_if(space, key, expected, bytes);
}
Result<void> MortalStore::erase_if(std::string_view space, std::string_view key,
                                   std::uint64_t expected) {
  if (dead_) return gone();
  return ForwardingStore::erase_if(space, key, expected);
}
Result<std::vector<std::string>> MortalStore::list(std::string_view space,
                                                   std::string_view prefix) {
  if (dead_) return gone();
  return ForwardingStore::list(space, prefix);
}

}  // namespace triage::inline v0_1::lab::detail
