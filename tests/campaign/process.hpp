// SPDX-License-Identifier: MIT
#pragma once
// Processes that die, simulated in one: each has its own store object on shared data.

#include "triage/forwarding_store.hpp"
#include "triage/testing/flaky_store.hpp"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace triage::campaign {

// A store used by one process until that dies. Then it refuses everything and its leases are free,
// as those of a dead process. Claims durability, so that runs can be suspended.
class MortalStore final : public ForwardingStore {
 public:
  explicit MortalStore(std::shared_ptr<CheckpointStore> inner)
      : ForwardingStore(std::move(inner)) {}
  ~MortalStore() override { stop_queue(); }

  void die() {
    for (const Held& held : leases_) static_cast<void>(inner().release(held.lease()));
    leases_.clear();
    dead_ = true;
  }
  // The run belongs to another process from now on, and this one does not know.
  void lose(const RunId& run) {
    for (const Held& held : leases_) {
      if (held.run == run) static_cast<void>(inner().release(held.lease()));
    }
  }

  // The run acquired last. Runs that are resumed together are acquired one after another.
  [[nodiscard]] const RunId& newest() const noexcept { return newest_; }

  [[nodiscard]] StoreCapabilities capabilities() const noexcept override {
    return {.durability = Durability::process, .shared_by_processes = true};
  }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    if (dead_) return gone();
    return noted(ForwardingStore::start(run, records));
  }
  Result<Lease> acquire(const RunId& run) override {
    if (dead_) return gone();
    return noted(ForwardingStore::acquire(run));
  }
  Result<void> renew(const Lease& lease) override {
    if (dead_) return gone();
    return ForwardingStore::renew(lease);
  }
  Result<void> release(const Lease& lease) override {
    if (dead_) return gone();
    std::erase_if(leases_, [&](const Held& held) {
      return held.run == lease.run && held.epoch == lease.epoch && held.handle == lease.handle;
    });
    return ForwardingStore::release(lease);
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    if (dead_) return gone();
    return ForwardingStore::append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    if (!dead_) {
      ForwardingStore::append_group(batches);
      return;
    }
    for (AppendBatch& batch : batches) batch.outcome = gone();
  }
  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    if (dead_) return gone();
    return ForwardingStore::read(run, range);
  }
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    if (dead_) return gone();
    return ForwardingStore::put_if(space, key, expected, bytes);
  }
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override {
    if (dead_) return gone();
    return ForwardingStore::erase_if(space, key, expected);
  }

 private:
  // Not the lease itself, because one whose answer got lost has no holder.
  struct Held {
    RunId run{};
    std::uint64_t epoch = 0;
    std::int64_t handle = 0;
    std::weak_ptr<const void> holder{};
    [[nodiscard]] Lease lease() const {
      return {.run = run, .epoch = epoch, .handle = handle, .holder = holder.lock()};
    }
  };
  static Error gone() { return {Errc::io, "this process is dead"}; }
  Result<Lease> noted(Result<Lease> lease) {
    if (lease) {
      const Lease& given = lease.value();
      leases_.push_back({given.run, given.epoch, given.handle, given.holder});
      newest_ = given.run;
    }
    return lease;
  }

  std::vector<Held> leases_{};
  RunId newest_{};
  bool dead_ = false;
};

}  // namespace triage::campaign
