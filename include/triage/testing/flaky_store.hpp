// SPDX-License-Identifier: MIT
#pragma once
// A store that fails on purpose; wraps a working one.

#include "triage/forwarding_store.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace triage::inline v0_1::testing {

// The operations of CheckpointStore that can fail. append_group counts as append.
enum class StoreOperation : std::uint8_t {
  start,
  acquire,
  renew,
  release,
  append,
  read,
  runs,
  run,
  load,
  load_state,
  checkpoints,
  latest,
  erase,
  prune,
  get,
  put_if,
  list,
  erase_if,
};
[[nodiscard]] std::string_view to_string(StoreOperation operation) noexcept;

// When an operation fails.
enum class FaultPoint : std::uint8_t {
  before,  // Nothing happened.
  after,   // It happened, but the answer was lost: the caller cannot know.
};

// Forwards everything to another store, except calls told to fail. Fails nothing until a fault is
// set; each new fault replaces the previous one; heal() removes it.
// Thread-safety: all members may be called from several threads at once.
class FlakyStore final : public ForwardingStore {
 public:
  // inner: not null.
  [[nodiscard]] static std::shared_ptr<FlakyStore> around(std::shared_ptr<CheckpointStore> inner);
  explicit FlakyStore(std::shared_ptr<CheckpointStore> inner);
  ~FlakyStore() override;

  // Only the n-th operation from now on fails. n: 1 or more.
  void fail_nth(std::uint64_t n, FaultPoint point = FaultPoint::before);
  // Each operation fails with this probability, 0 to 1. Deterministic for a seed and operations.
  void fail_with_probability(double probability, std::uint64_t seed,
                             FaultPoint point = FaultPoint::before);
  // Every operation fails until heal().
  void fail_until_healed(FaultPoint point = FaultPoint::before);
  // Called for every counted operation, on the thread that uses the store, without a lock; its
  // result is that operation's fault. A null function fails nothing.
  void fail_when(std::function<std::optional<FaultPoint>(StoreOperation)> ask);
  void heal();

  // Counts and fails only these operations; all of them initially and after an empty list.
  void only(std::initializer_list<StoreOperation> operations);
  // The error of a failing operation. Initially Errc::io.
  void fail_with(Error error);

  [[nodiscard]] std::uint64_t operations() const;  // Counted ones, failed or not.
  [[nodiscard]] std::uint64_t failures() const;
  // All operations in order, counted or not.
  [[nodiscard]] std::vector<StoreOperation> log() const;

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override;
  Result<Lease> acquire(const RunId& run) override;
  Result<void> renew(const Lease& lease) override;
  Result<void> release(const Lease& lease) override;
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override;
  void append_group(std::span<AppendBatch> batches) override;
  Result<JournalReading> read(const RunId& run, SequenceRange range) override;
  Result<JournalReading> read_newest(const RunId& run) override;
  Result<std::vector<RunInfo>> runs(const RunQuery& query) override;
  Result<RunInfo> run(const RunId& id) override;
  Result<Checkpoint> load(const CheckpointId& id) override;
  Result<State> load_state(const CheckpointId& id) override;
  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run) override;
  Result<Checkpoint> latest(const RunId& run) override;
  Result<void> erase(const RunId& run) override;
  Result<std::size_t> prune(const Retention& retention) override;
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override;
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override;
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override;
  Result<std::vector<std::string>> list(std::string_view space, std::string_view prefix) override;

 private:
  enum class Mode : std::uint8_t { sound, nth, random, broken, asked };

  // Counts the operation and decides whether and when it fails.
  std::optional<FaultPoint> fault(StoreOperation operation);
  [[nodiscard]] Error failure_of(StoreOperation operation) const;
  void set(Mode mode, FaultPoint point);
  // Runs `act` unless the operation fails before it; drops its answer if it fails after it.
  template <class Act>
  auto pass(StoreOperation operation, Act act) -> decltype(act());

  mutable std::mutex mutex_;
  Mode mode_ = Mode::sound;
  FaultPoint point_ = FaultPoint::before;
  std::uint64_t until_fault_ = 0;  // Mode::nth: operations left.
  double probability_ = 0.0;
  std::shared_ptr<Random> random_;
  std::function<std::optional<FaultPoint>(StoreOperation)> ask_;
  std::set<StoreOperation> only_;
  Error error_{Errc::io, "injected by FlakyStore"};
  std::uint64_t operations_ = 0;
  std::uint64_t failures_ = 0;
  std::vector<StoreOperation> log_;
};

}  // namespace triage::inline v0_1::testing
