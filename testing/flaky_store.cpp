// SPDX-License-Identifier: MIT
#include "triage/testing/flaky_store.hpp"

#include <optional>
#include <utility>

namespace triage::inline v0_1::testing {

std::string_view to_string(StoreOperation operation) noexcept {
  switch (operation) {
    case StoreOperation::start: return "start";
    case StoreOperation::acquire: return "acquire";
    case StoreOperation::renew: return "renew";
    case StoreOperation::release: return "release";
    case StoreOperation::append: return "append";
    case StoreOperation::read: return "read";
    case StoreOperation::runs: return "runs";
    case StoreOperation::run: return "run";
    case StoreOperation::load: return "load";
    case StoreOperation::load_state: return "load_state";
    case StoreOperation::checkpoints: return "checkpoints";
    case StoreOperation::latest: return "latest";
    case StoreOperation::erase: return "erase";
    case StoreOperation::prune: return "prune";
    case StoreOperation::get: return "get";
    case StoreOperation::put_if: return "put_if";
    case StoreOperation::list: return "list";
    case StoreOperation::erase_if: return "erase_if";
  }
  return "unknown";
}

std::shared_ptr<FlakyStore> FlakyStore::around(std::shared_ptr<CheckpointStore> inner) {
  return std::make_shared<FlakyStore>(std::move(inner));
}

FlakyStore::FlakyStore(std::shared_ptr<CheckpointStore> inner)
    : ForwardingStore(std::move(inner)) {}

FlakyStore::~FlakyStore() { stop_queue(); }

void FlakyStore::set(Mode mode, FaultPoint point) {
  mode_ = mode;
  point_ = point;
}

void FlakyStore::fail_nth(std::uint64_t n, FaultPoint point) {
  const std::scoped_lock lock(mutex_);
  set(Mode::nth, point);
  until_fault_ = n;
}

void FlakyStore::fail_with_probability(double probability, std::uint64_t seed, FaultPoint point) {
  const std::scoped_lock lock(mutex_);
  set(Mode::random, point);
  probability_ = probability;
  random_ = seeded_random(seed);
}

void FlakyStore::fail_until_healed(FaultPoint point) {
  const std::scoped_lock lock(mutex_);
  set(Mode::broken, point);
}

void FlakyStore::fail_when(std::function<std::optional<FaultPoint>(StoreOperation)> ask) {
  const std::scoped_lock lock(mutex_);
  set(ask ? Mode::asked : Mode::sound, FaultPoint::before);
  ask_ = std::move(ask);
}

void FlakyStore::heal() {
  const std::scoped_lock lock(mutex_);
  set(Mode::sound, FaultPoint::before);
}

void FlakyStore::only(std::initializer_list<StoreOperation> operations) {
  const std::scoped_lock lock(mutex_);
  only_ = operations;
}

void FlakyStore::fail_with(Error error) {
  const std::scoped_lock lock(mutex_);
  error_ = std::move(error);
}

std::uint64_t FlakyStore::operations() const {
  const std::scoped_lock lock(mutex_);
  return operations_;
}

std::uint64_t FlakyStore::failures() const {
  const std::scoped_lock lock(mutex_);
  return failures_;
}

std::vector<StoreOperation> FlakyStore::log() const {
  const std::scoped_lock lock(mutex_);
  return log_;
}

std::optional<FaultPoint> FlakyStore::fault(StoreOperation operation) {
  std::unique_lock lock(mutex_);
  log_.push_back(operation);
  if (!only_.empty() && only_.count(operation) == 0) return std::nullopt;
  ++operations_;
  bool fails = mode_ == Mode::broken;
  if (mode_ == Mode::random) fails = unit_interval(random_->next()) < probability_;
  if (mode_ == Mode::nth) {
    fails = until_fault_ == 1;
    if (until_fault_ > 0) --until_fault_;
  }
  if (mode_ == Mode::asked) {
    const auto ask = ask_;
    lock.unlock();
    const auto answer = ask(operation);
    lock.lock();
    if (answer) ++failures_;
    return answer;
  }
  if (!fails) return std::nullopt;
  ++failures_;
  return point_;
}

Error FlakyStore::failure_of(StoreOperation operation) const {
  const std::scoped_lock lock(mutex_);
  return {error_.code, error_.detail + " in " + std::string(to_string(operation))};
}

template <class Act>
auto FlakyStore::pass(StoreOperation operation, Act act) -> decltype(act()) {
  const auto fails = fault(operation);
  if (!fails) return act();
  // The result is dropped: after a lost reply the caller knows neither success nor error.
  if (*fails == FaultPoint::after) [[maybe_unused]]
    const auto lost = act();
  return outcome::failure(failure_of(operation));
}

Result<Lease> FlakyStore::start(const RunInfo& run, std::span<const Record> records) {
  return pass(StoreOperation::start, [&] { return ForwardingStore::start(run, records); });
}

Result<Lease> FlakyStore::acquire(const RunId& run) {
  return pass(StoreOperation::acquire, [&] { return ForwardingStore::acquire(run); });
}

Result<void> FlakyStore::renew(const Lease& lease) {
  return pass(StoreOperation::renew, [&] { return ForwardingStore::renew(lease); });
}

Result<void> FlakyStore::release(const Lease& lease) {
  return pass(StoreOperation::release, [&] { return ForwardingStore::release(lease); });
}

Result<void> FlakyStore::append(const Lease& lease, std::span<const Record> records,
                                RunStatus status) {
  return pass(StoreOperation::append,
              [&] { return ForwardingStore::append(lease, records, status); });
}

void FlakyStore::append_group(std::span<AppendBatch> batches) {
  const auto fails = fault(StoreOperation::append);
  if (!fails || *fails == FaultPoint::after) ForwardingStore::append_group(batches);
  if (!fails) return;
  for (AppendBatch& batch : batches) {
    batch.outcome = outcome::failure(failure_of(StoreOperation::append));
  }
}

Result<JournalReading> FlakyStore::read(const RunId& run, SequenceRange range) {
  return pass(StoreOperation::read, [&] { return ForwardingStore::read(run, range); });
}

Result<JournalReading> FlakyStore::read_newest(const RunId& run) {
  return pass(StoreOperation::read, [&] { return ForwardingStore::read_newest(run); });
}

Result<std::vector<RunInfo>> FlakyStore::runs(const RunQuery& query) {
  return pass(StoreOperation::runs, [&] { return ForwardingStore::runs(query); });
}

Result<RunInfo> FlakyStore::run(const RunId& id) {
  return pass(StoreOperation::run, [&] { return ForwardingStore::run(id); });
}

Result<Checkpoint> FlakyStore::load(const CheckpointId& id) {
  return pass(StoreOperation::load, [&] { return ForwardingStore::load(id); });
}

Result<State> FlakyStore::load_state(const CheckpointId& id) {
  return pass(StoreOperation::load_state, [&] { return ForwardingStore::load_state(id); });
}

Result<std::vector<CheckpointInfo>> FlakyStore::checkpoints(const RunId& run) {
  return pass(StoreOperation::checkpoints, [&] { return ForwardingStore::checkpoints(run); });
}

Result<Checkpoint> FlakyStore::latest(const RunId& run) {
  return pass(StoreOperation::latest, [&] { return ForwardingStore::latest(run); });
}

Result<void> FlakyStore::erase(const RunId& run) {
  return pass(StoreOperation::erase, [&] { return ForwardingStore::erase(run); });
}

Result<std::size_t> FlakyStore::prune(const Retention& retention) {
  return pass(StoreOperation::prune, [&] { return ForwardingStore::prune(retention); });
}

Result<std::optional<VersionedValue>> FlakyStore::get(std::string_view space,
                                                      std::string_view key) {
  return pass(StoreOperation::get, [&] { return ForwardingStore::get(space, key); });
}

Result<std::uint64_t> FlakyStore::put_if(std::string_view space, std::string_view key,
                                         std::uint64_t expected, std::string_view bytes) {
  return pass(StoreOperation::put_if,
              [&] { return ForwardingStore::put_if(space, key, expected, bytes); });
}

Result<void> FlakyStore::erase_if(std::string_view space, std::string_view key,
                                  std::uint64_t expected) {
  return pass(StoreOperation::erase_if,
              [&] { return ForwardingStore::erase_if(space, key, expected); });
}

Result<std::vector<std::string>> FlakyStore::list(std::string_view space, std::string_view prefix) {
  return pass(StoreOperation::list, [&] { return ForwardingStore::list(space, prefix); });
}

}  // namespace triage::inline v0_1::testing
