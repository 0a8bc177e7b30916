// SPDX-License-Identifier: MIT
#pragma once
// A store that refuses the results of effects, and takes everything else.

#include "triage/forwarding_store.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace triage::test {

class UnstoredResults final : public ForwardingStore {
 public:
  // error: what it refuses the first so many with.
  UnstoredResults(std::shared_ptr<CheckpointStore> inner, Error error,
                  int times = std::numeric_limits<int>::max())
      : ForwardingStore(std::move(inner)), error_(std::move(error)), times_(times) {}
  ~UnstoredResults() override { stop_queue(); }

  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    const bool has_result = std::any_of(records.begin(), records.end(), [](const Record& record) {
      return record.kind() == RecordKind::effect_completed;
    });
    if (has_result && times_-- > 0) return error_;
    return ForwardingStore::append(lease, records, status);
  }
  // One by one, so that no other run's records are refused with a result.
  void append_group(std::span<AppendBatch> batches) override {
    CheckpointStore::append_group(batches);
  }

 private:
  Error error_;
  std::atomic<int> times_;
};

}  // namespace triage::test
