// SPDX-License-Identifier: MIT
#pragma once
// The base of store decorators, which override what they change.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// Forwards every member to another store. A decorator that overrides idle() or append_group() must
// call stop_queue() first in its destructor: the queue's thread is the decorator's own.
// Thread-safety: that of the inner store.
class ForwardingStore : public CheckpointStore {
 public:
  // inner: not null.
  explicit ForwardingStore(std::shared_ptr<CheckpointStore> inner);
  ~ForwardingStore() override;

  [[nodiscard]] StoreCapabilities capabilities() const noexcept override;
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
  Result<std::size_t> erase_all(std::span<const RunId> runs) override;
  Result<std::vector<std::string>> check() override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;
  void idle() override;
  std::string take_warning() override;

  [[nodiscard]] CheckpointStore& inner() const noexcept { return *inner_; }

 private:
  const std::shared_ptr<CheckpointStore> inner_;
};

}  // namespace triage::inline v0_1
