// SPDX-License-Identifier: MIT
#pragma once
// A store in this process's memory: for tests, and for runs shared by several agents.

#include "triage/checkpoint_store.hpp"
#include "triage/compaction.hpp"

#include <memory>

namespace triage::inline v0_1 {

// Durability: none. Steps are shared with the run that recorded them, not copied. A lease is free
// once no copy of it is left.
class MemoryStore final : public CheckpointStore, public CompactsRuns {
 public:
  [[nodiscard]] static std::shared_ptr<MemoryStore> create();
  MemoryStore();
  ~MemoryStore() override;

  [[nodiscard]] StoreCapabilities capabilities() const noexcept override;
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<void> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override;
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override;
  Result<JournalReading> read(const RunId& run, SequenceRange range) override;
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override;
  Result<RunInfo> run(const RunId& id) override;
  Result<void> erase(const RunId& run) override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace triage::inline v0_1
