// SPDX-License-Identifier: MIT
#pragma once
// A store that kills its process, as kill -9 would, when the n-th record reaches it.

#include "triage/forwarding_store.hpp"

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

class KillingStore final : public ForwardingStore {
 public:
  // record: counted from 1 over all records that come; 0 kills nobody. after_commit: the record is
  // in the store when the process dies; otherwise it is not.
  KillingStore(std::shared_ptr<CheckpointStore> inner, std::uint64_t record, bool after_commit)
      : ForwardingStore(std::move(inner)), record_(record), after_commit_(after_commit) {}
  ~KillingStore() override { stop_queue(); }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    const bool now = reaches(records.size());
    if (now && !after_commit_) die();
    auto started = ForwardingStore::start(run, records);
    if (now) die();
    return started;
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    const bool now = reaches(records.size());
    if (now && !after_commit_) die();
    auto appended = ForwardingStore::append(lease, records, status);
    if (now) die();
    return appended;
  }
  void append_group(std::span<AppendBatch> batches) override {
    std::size_t count = 0;
    for (const AppendBatch& batch : batches) count += batch.records.size();
    const bool now = reaches(count);
    if (now && !after_commit_) die();
    ForwardingStore::append_group(batches);
    if (now) die();
  }

 private:
  // Appending is serial: one commit at a time.
  bool reaches(std::size_t count) {
    const std::uint64_t before = std::exchange(seen_, seen_ + count);
    return record_ > before && record_ <= seen_;
  }
  [[noreturn]] static void die() {
    std::raise(SIGKILL);
    std::abort();
  }

  const std::uint64_t record_;
  const bool after_commit_;
  std::uint64_t seen_ = 0;
};

}  // namespace triage::test
