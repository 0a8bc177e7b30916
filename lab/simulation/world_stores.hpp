// SPDX-License-Identifier: MIT
#pragma once
// Wrappers around a world's store for one life of a process.

#include "lab/simulation/ledger.hpp"
#include "lab/simulation/scheduler.hpp"

#include "triage/forwarding_store.hpp"
#include "triage/testing/flaky_store.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// Dies with its process: its leases become free, and every call fails.
class MortalStore final : public ForwardingStore {
 public:
  explicit MortalStore(std::shared_ptr<CheckpointStore> inner)
      : MortalStore(inner, testing::FlakyStore::around(inner)) {}
  ~MortalStore() override { stop_queue(); }
  void die();

  // The world's stores outlive its processes.
  [[nodiscard]] StoreCapabilities capabilities() const noexcept override {
    return {.durability = Durability::process, .shared_by_processes = true};
  }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<void> release(const Lease& lease) override;

 private:
  // Not the lease itself: one whose reply got lost must not count as held.
  struct Held {
    RunId run{};
    std::uint64_t epoch = 0;
    std::int64_t handle = 0;
    std::weak_ptr<const void> holder{};
  };
  MortalStore(std::shared_ptr<CheckpointStore> immortal,
              const std::shared_ptr<testing::FlakyStore>& life)
      : ForwardingStore(life), immortal_(std::move(immortal)), life_(life) {}
  Result<Lease> noted(Result<Lease> lease);

  std::shared_ptr<CheckpointStore> immortal_;
  std::shared_ptr<testing::FlakyStore> life_;  // Fails every call after death.
  std::vector<Held> leases_{};
};

// The outermost wrapper: traces every operation, prevents task switches inside one, and records
// what was acknowledged.
class AuditedStore final : public ForwardingStore {
 public:
  AuditedStore(std::shared_ptr<CheckpointStore> inner, Scheduler& scheduler, Ledger* ledger,
               std::string who, std::string name)
      : ForwardingStore(std::move(inner)),
        scheduler_(scheduler),
        ledger_(ledger),
        who_(std::move(who)),
        name_(std::move(name)) {}
  ~AuditedStore() override { stop_queue(); }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<void> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override;
  void append_group(std::span<AppendBatch> batches) override;
  Result<JournalReading> read(const RunId& run, SequenceRange range) override;
  Result<JournalReading> read_newest(const RunId& run) override;
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override;
  Result<RunInfo> run(const RunId& id) override;
  Result<Checkpoint> load(const CheckpointId& id) override;
  Result<State> load_state(const CheckpointId& id) override;
  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run) override;
  Result<Checkpoint> latest(const RunId& run) override;
  Result<void> erase(const RunId& run) override;
  Result<std::size_t> prune(const Retention& retention) override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;

 private:
  template <class Act>
  auto traced(std::string_view what, std::string_view text, Act act) -> decltype(act());

  Scheduler& scheduler_;
  Ledger* ledger_;  // Null: nothing is recorded.
  const std::string who_;
  const std::string name_;
};

}  // namespace triage::inline v0_1::lab::detail
