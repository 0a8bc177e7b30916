// SPDX-License-Identifier: MIT
#pragma once
// A store that measures what is written to it.

#include "triage/forwarding_store.hpp"

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

namespace triage::test {

class WeighingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  ~WeighingStore() override { stop_queue(); }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    weigh(records);
    return inner().start(run, records);
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    weigh(records);
    return inner().append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    for (const AppendBatch& batch : batches) weigh(batch.records);
    inner().append_group(batches);
  }

  // Of the bodies of all records together, and of the largest start or append.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t most_at_once() const { return most_; }

 private:
  void weigh(std::span<const Record> records) {
    std::string all;
    for (const Record& record : records) record.encode_body(all);
    bytes_ += all.size();
    for (std::size_t most = most_;
         all.size() > most && !most_.compare_exchange_weak(most, all.size());) {}
  }

  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> most_{0};
};

}  // namespace triage::test
