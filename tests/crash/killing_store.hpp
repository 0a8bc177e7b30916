// SPDX-License-Identifier: MIT
#pragma once
// A store that kills its process like kill -9 when a chosen record reaches it.

#include "triage/forwarding_store.hpp"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

class KillingStore final : public ForwardingStore {
 public:
  // chosen: called with every record in order. after_commit: whether the record is in the store
  // when the process dies.
  KillingStore(std::shared_ptr<CheckpointStore> inner, std::function<bool(const Record&)> chosen,
               bool after_commit)
      : ForwardingStore(std::move(inner)),
        chosen_(std::move(chosen)),
        after_commit_(after_commit) {}
  ~KillingStore() override { stop_queue(); }

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    const bool now = reaches(records);
    if (now && !after_commit_) die();
    auto started = ForwardingStore::start(run, records);
    if (now) die();
    return started;
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    const bool now = reaches(records);
    if (now && !after_commit_) die();
    auto appended = ForwardingStore::append(lease, records, status);
    if (now) die();
    return appended;
  }
  void append_group(std::span<AppendBatch> batches) override {
    bool now = false;
    for (const AppendBatch& batch : batches) now = reaches(batch.records) || now;
    if (now && !after_commit_) die();
    ForwardingStore::append_group(batches);
    if (now) die();
  }

 private:
  // Appending is serial: one commit at a time.
  bool reaches(std::span<const Record> records) {
    bool now = false;
    for (const Record& record : records) now = chosen_(record) || now;
    return now;
  }
  [[noreturn]] static void die() {
    std::raise(SIGKILL);
    std::abort();
  }

  std::function<bool(const Record&)> chosen_;
  const bool after_commit_;
};

}  // namespace triage::test
