// SPDX-License-Identifier: MIT
#include "triage/forwarding_store.hpp"

#include <utility>

namespace triage::inline v0_1 {

ForwardingStore::ForwardingStore(std::shared_ptr<CheckpointStore> inner)
    : inner_(std::move(inner)) {}
ForwardingStore::~ForwardingStore() { stop_queue(); }

StoreCapabilities ForwardingStore::capabilities() const noexcept { return inner_->capabilities(); }
Result<Lease> ForwardingStore::start(const RunInfo& run, std::span<const Record> records) {
  return inner_->start(run, records);
}
Result<Lease> ForwardingStore::acquire(const RunId& run) { return inner_->acquire(run); }
Result<void> ForwardingStore::renew(const Lease& lease) { return inner_->renew(lease); }
Result<void> ForwardingStore::release(const Lease& lease) { return inner_->release(lease); }
Result<void> ForwardingStore::append(const Lease& lease, std::span<const Record> records,
                                     RunStatus status) {
  return inner_->append(lease, records, status);
}
void ForwardingStore::append_group(std::span<AppendBatch> batches) {
  inner_->append_group(batches);
}
Result<JournalReading> ForwardingStore::read(const RunId& run, SequenceRange range) {
  return inner_->read(run, range);
}
Result<JournalReading> ForwardingStore::read_newest(const RunId& run) {
  return inner_->read_newest(run);
}
Result<std::vector<RunInfo>> ForwardingStore::runs(const RunQuery& query) {
  return inner_->runs(query);
}
Result<RunInfo> ForwardingStore::run(const RunId& id) { return inner_->run(id); }
Result<Checkpoint> ForwardingStore::load(const CheckpointId& id) { return inner_->load(id); }
Result<State> ForwardingStore::load_state(const CheckpointId& id) { return inner_->load_state(id); }
Result<std::vector<CheckpointInfo>> ForwardingStore::checkpoints(const RunId& run) {
  return inner_->checkpoints(run);
}
Result<Checkpoint> ForwardingStore::latest(const RunId& run) { return inner_->latest(run); }
Result<void> ForwardingStore::erase(const RunId& run) { return inner_->erase(run); }
Result<std::size_t> ForwardingStore::prune(const Retention& retention) {
  return inner_->prune(retention);
}
Result<std::size_t> ForwardingStore::erase_all(std::span<const RunId> runs) {
  return inner_->erase_all(runs);
}
Result<std::vector<std::string>> ForwardingStore::check() { return inner_->check(); }

Result<std::optional<VersionedValue>> ForwardingStore::get(std::string_view space,
                                                           std::string_view key) {
  return inner_->get(space, key);
}
Result<std::uint64_t> ForwardingStore::put_if(std::string_view space, std::string_view key,
                                              std::uint64_t expected, std::string_view bytes) {
  if (auto allowed = check_space(space); !allowed) return std::move(allowed).error();
  return inner_->put_if(space, key, expected, bytes);
}
Result<void> ForwardingStore::erase_if(std::string_view space, std::string_view key,
                                       std::uint64_t expected) {
  if (auto allowed = check_space(space); !allowed) return std::move(allowed).error();
  return inner_->erase_if(space, key, expected);
}

Result<std::vector<std::string>> ForwardingStore::list(std::string_view space,
                                                       std::string_view prefix) {
  return inner_->list(space, prefix);
}
void ForwardingStore::idle() { inner_->idle(); }
std::string ForwardingStore::take_warning() { return inner_->take_warning(); }

}  // namespace triage::inline v0_1
