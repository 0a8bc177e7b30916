// SPDX-License-Identifier: MIT
#include "lab/simulation/world_stores.hpp"

#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

class InStore {
 public:
  explicit InStore(Scheduler& scheduler) : scheduler_(scheduler) { scheduler.enter_store(); }
  ~InStore() { scheduler_.leave_store(); }
  InStore(const InStore&) = delete;
  InStore& operator=(const InStore&) = delete;

 private:
  Scheduler& scheduler_;
};

// 0 for success.
template <class R>
std::uint64_t code_of(const R& result) {
  return result ? 0 : static_cast<std::uint64_t>(result.error().code);
}

}  // namespace

template <class Act>
auto AuditedStore::traced(std::string_view what, std::string_view text, Act act)
    -> decltype(act()) {
  const InStore guard(scheduler_);
  auto result = act();
  scheduler_.trace(who_, what, text, code_of(result));
  return result;
}

Result<Lease> AuditedStore::start(const RunInfo& run, std::span<const Record> records) {
  auto started = traced("start", run.id, [&] { return ForwardingStore::start(run, records); });
  if (started && ledger_ != nullptr) ledger_->acknowledge(name_, run.id, records);
  return started;
}
Result<Lease> AuditedStore::acquire(const RunId& run) {
  return traced("acquire", run, [&] { return ForwardingStore::acquire(run); });
}
Result<void> AuditedStore::renew(const Lease& lease) {
  return traced("renew", lease.run, [&] { return ForwardingStore::renew(lease); });
}
Result<void> AuditedStore::release(const Lease& lease) {
  return traced("release", lease.run, [&] { return ForwardingStore::release(lease); });
}
Result<void> AuditedStore::append(const Lease& lease, std::span<const Record> records,
                                  RunStatus status) {
  auto appended =
      traced("append", lease.run, [&] { return ForwardingStore::append(lease, records, status); });
  if (appended && ledger_ != nullptr) ledger_->acknowledge(name_, lease.run, records);
  return appended;
}
void AuditedStore::append_group(std::span<AppendBatch> batches) {
  const InStore guard(scheduler_);
  ForwardingStore::append_group(batches);
  for (const AppendBatch& batch : batches) {
    scheduler_.trace(who_, "append", batch.lease.run, code_of(batch.outcome));
    if (batch.outcome && ledger_ != nullptr) {
      ledger_->acknowledge(name_, batch.lease.run, batch.records);
    }
  }
}
Result<JournalReading> AuditedStore::read(const RunId& run, SequenceRange range) {
  return traced("read", run, [&] { return ForwardingStore::read(run, range); });
}
Result<JournalReading> AuditedStore::read_newest(const RunId& run) {
  return traced("read", run, [&] { return ForwardingStore::read_newest(run); });
}
Result<std::vector<RunInfo>> AuditedStore::runs(const RunQuery& query) {
  return traced("runs", query.agent, [&] { return ForwardingStore::runs(query); });
}
Result<RunInfo> AuditedStore::run(const RunId& id) {
  return traced("run", id, [&] { return ForwardingStore::run(id); });
}
Result<Checkpoint> AuditedStore::load(const CheckpointId& id) {
  return traced("load", id.run, [&] { return ForwardingStore::load(id); });
}
Result<State> AuditedStore::load_state(const CheckpointId& id) {
  return traced("load_state", id.run, [&] { return ForwardingStore::load_state(id); });
}
Result<std::vector<CheckpointInfo>> AuditedStore::checkpoints(const RunId& run) {
  return traced("checkpoints", run, [&] { return ForwardingStore::checkpoints(run); });
}
Result<Checkpoint> AuditedStore::latest(const RunId& run) {
  return traced("latest", run, [&] { return ForwardingStore::latest(run); });
}
Result<void> AuditedStore::erase(const RunId& run) {
  auto erased = traced("erase", run, [&] { return ForwardingStore::erase(run); });
  // After an io error nobody knows whether it is gone.
  const bool gone = erased || erased.error().code == Errc::io;
  if (gone && ledger_ != nullptr) ledger_->forget(name_, run);
  return erased;
}
Result<std::size_t> AuditedStore::prune(const Retention& retention) {
  return traced("prune", {}, [&] {
    auto pruned = ForwardingStore::prune(retention);
    if (ledger_ == nullptr) return pruned;
    for (const RunId& run : ledger_->runs_in(name_)) {
      const auto left = ForwardingStore::run(run);
      if (!left && left.error().code == Errc::not_found) ledger_->forget(name_, run);
    }
    return pruned;
  });
}
Result<std::optional<VersionedValue>> AuditedStore::get(std::string_view space,
                                                        std::string_view key) {
  return traced("get", space, [&] { return ForwardingStore::get(space, key); });
}
Result<std::uint64_t> AuditedStore::put_if(std::string_view space, std::string_view key,
                                           std::uint64_t expected, std::string_view bytes) {
  return traced("put_if", space,
                [&] { return ForwardingStore::put_if(space, key, expected, bytes); });
}
Result<void> AuditedStore::erase_if(std::string_view space, std::string_view key,
                                    std::uint64_t expected) {
  return traced("erase_if", space, [&] { return ForwardingStore::erase_if(space, key, expected); });
}
Result<std::vector<std::string>> AuditedStore::list(std::string_view space,
                                                    std::string_view prefix) {
  return traced("list", space, [&] { return ForwardingStore::list(space, prefix); });
}

}  // namespace triage::inline v0_1::lab::detail
