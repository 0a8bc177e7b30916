// SPDX-License-Identifier: MIT
#pragma once
// A store that kills its process, as kill -9 would, when the n-th record reaches it.

#include "triage/checkpoint_store.hpp"

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

class KillingStore final : public CheckpointStore {
 public:
  // record: counted from 1 over all records that come; 0 kills nobody. after_commit: the record is
  // in the store when the process dies; otherwise it is not.
  KillingStore(std::shared_ptr<CheckpointStore> inner, std::uint64_t record, bool after_commit)
      : inner_(std::move(inner)), record_(record), after_commit_(after_commit) {}
  ~KillingStore() override { stop_queue(); }

  StoreCapabilities capabilities() const noexcept override { return inner_->capabilities(); }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    const bool now = reaches(records.size());
    if (now && !after_commit_) die();
    auto started = inner_->start(run, records);
    if (now) die();
    return started;
  }
  Result<Lease> acquire(const RunId& run) override { return inner_->acquire(run); }
  Result<void> renew(const Lease& lease) override { return inner_->renew(lease); }
  Result<void> release(const Lease& lease) override { return inner_->release(lease); }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    const bool now = reaches(records.size());
    if (now && !after_commit_) die();
    auto appended = inner_->append(lease, records, status);
    if (now) die();
    return appended;
  }
  void append_group(std::span<AppendBatch> batches) override {
    std::size_t count = 0;
    for (const AppendBatch& batch : batches) count += batch.records.size();
    const bool now = reaches(count);
    if (now && !after_commit_) die();
    inner_->append_group(batches);
    if (now) die();
  }
  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    return inner_->read(run, range);
  }
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override { return inner_->runs(query); }
  Result<RunInfo> run(const RunId& id) override { return inner_->run(id); }
  Result<void> erase(const RunId& run) override { return inner_->erase(run); }
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override {
    return inner_->get(space, key);
  }
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    return inner_->put_if(space, key, expected, bytes);
  }
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override {
    return inner_->list(space, prefix);
  }
  void idle() override { inner_->idle(); }

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

  std::shared_ptr<CheckpointStore> inner_;
  const std::uint64_t record_;
  const bool after_commit_;
  std::uint64_t seen_ = 0;
};

}  // namespace triage::test
