// SPDX-License-Identifier: MIT
#pragma once
// A store that kills its process, as kill -9 would, when a certain record reaches it.

#include "triage/checkpoint_store.hpp"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

class KillingStore final : public CheckpointStore {
 public:
  // chosen: asked about every record that comes, in order. after_commit: the record is in the store
  // when the process dies; otherwise it is not.
  KillingStore(std::shared_ptr<CheckpointStore> inner, std::function<bool(const Record&)> chosen,
               bool after_commit)
      : inner_(std::move(inner)), chosen_(std::move(chosen)), after_commit_(after_commit) {}
  ~KillingStore() override { stop_queue(); }

  StoreCapabilities capabilities() const noexcept override { return inner_->capabilities(); }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    const bool now = reaches(records);
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
    const bool now = reaches(records);
    if (now && !after_commit_) die();
    auto appended = inner_->append(lease, records, status);
    if (now) die();
    return appended;
  }
  void append_group(std::span<AppendBatch> batches) override {
    bool now = false;
    for (const AppendBatch& batch : batches) now = reaches(batch.records) || now;
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
  bool reaches(std::span<const Record> records) {
    bool now = false;
    for (const Record& record : records) now = chosen_(record) || now;
    return now;
  }
  [[noreturn]] static void die() {
    std::raise(SIGKILL);
    std::abort();
  }

  std::shared_ptr<CheckpointStore> inner_;
  std::function<bool(const Record&)> chosen_;
  const bool after_commit_;
};

}  // namespace triage::test
