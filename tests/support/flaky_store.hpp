// SPDX-License-Identifier: MIT
#pragma once
// A store whose n-th operation fails: before anything is done, after it is done, or by throwing.

#include "triage/forwarding_store.hpp"
#include "triage/stores/memory.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

class FlakyStore final : public ForwardingStore {
 public:
  enum class Fault { refuses, forgets_to_answer, throws };

  explicit FlakyStore(std::shared_ptr<CheckpointStore> inner, Durability level = Durability::none)
      : ForwardingStore(std::move(inner)), level_(level) {}
  ~FlakyStore() override { stop_queue(); }

  // Operations are counted from 1; those from first to last fail.
  void fail_between(int first, int last, Fault fault = Fault::refuses) {
    first_ = first;
    last_ = last;
    fault_ = fault;
  }
  // Every operation fails from now on.
  void break_down(Fault fault = Fault::refuses) { fail_between(0, 1'000'000'000, fault); }
  void repair() { fail_between(0, 0); }

  StoreCapabilities capabilities() const noexcept override { return {.durability = level_}; }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    return guard<Lease>([&] { return ForwardingStore::start(run, records); });
  }
  Result<Lease> acquire(const RunId& run) override {
    return guard<Lease>([&] { return ForwardingStore::acquire(run); });
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    return guard<void>([&] { return ForwardingStore::append(lease, records, status); });
  }
  // One by one, so that each batch is a separate operation.
  void append_group(std::span<AppendBatch> batches) override {
    CheckpointStore::append_group(batches);
  }
  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    return guard<JournalReading>([&] { return ForwardingStore::read(run, range); });
  }
  Result<JournalReading> read_newest(const RunId& run) override {
    return guard<JournalReading>([&] { return ForwardingStore::read_newest(run); });
  }
  Result<RunInfo> run(const RunId& id) override {
    return guard<RunInfo>([&] { return ForwardingStore::run(id); });
  }

  [[nodiscard]] int operations() const { return operations_; }
  [[nodiscard]] int faults() const { return faults_; }

 private:
  template <class T, class Operation>
  Result<T> guard(Operation operation) {
    const int n = ++operations_;
    if (n < first_ || n > last_) return operation();
    ++faults_;
    if (fault_ == Fault::throws) throw std::runtime_error("the disk is on fire");
    if (fault_ == Fault::forgets_to_answer) static_cast<void>(operation());
    return Error{Errc::io, "the disk is full (operation " + std::to_string(n) + ")"};
  }

  Durability level_;
  std::atomic<int> operations_{0};
  std::atomic<int> faults_{0};
  std::atomic<int> first_{0};
  std::atomic<int> last_{0};
  std::atomic<Fault> fault_{Fault::refuses};
};

}  // namespace triage::test
