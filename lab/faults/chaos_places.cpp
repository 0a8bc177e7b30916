// SPDX-License-Identifier: MIT
// Stores and clocks with injected faults.
#include "lab/faults/chaos_branch.hpp"

#include "triage/forwarding_store.hpp"
#include "triage/testing/flaky_store.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using detail::ChaosBranch;
using detail::Place;

// Makes one record of each reading unreadable.
class CorruptingStore final : public ForwardingStore {
 public:
  CorruptingStore(std::shared_ptr<CheckpointStore> inner, std::shared_ptr<ChaosBranch> branch,
                  std::string site)
      : ForwardingStore(std::move(inner)), branch_(std::move(branch)), site_(std::move(site)) {}
  ~CorruptingStore() override { stop_queue(); }

  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    return spoilt(ForwardingStore::read(run, range));
  }
  Result<JournalReading> read_newest(const RunId& run) override {
    return spoilt(ForwardingStore::read_newest(run));
  }

 private:
  Result<JournalReading> spoilt(Result<JournalReading> reading) {
    if (!reading || reading.value().records.empty() || !*branch_->root().armed) return reading;
    const auto visit = branch_->visit({.name = site_, .step = "record"}, Place::record);
    if (!visit.fault) return reading;
    branch_->root().note(*visit.fault);
    auto& records = reading.value().records;
    const auto place = static_cast<std::ptrdiff_t>(visit.fault->draw % records.size());
    auto& damaged = reading.value().damaged;
    const Record& record = records[static_cast<std::size_t>(place)];
    const auto behind =
        std::find_if(damaged.begin(), damaged.end(),
                     [&](const DamagedRecord& other) { return other.seq > record.seq(); });
    DamagedRecord unreadable;
    unreadable.seq = record.seq();
    unreadable.error = {Errc::corrupt, "injected: the checksum is wrong"};
    unreadable.kind = record.kind();
    damaged.insert(behind, std::move(unreadable));
    records.erase(records.begin() + place);
    return reading;
  }

  const std::shared_ptr<ChaosBranch> branch_;
  const std::string site_;
};

class JumpingClock final : public Clock {
 public:
  JumpingClock(std::shared_ptr<Clock> inner, std::shared_ptr<ChaosBranch> branch, std::string site)
      : inner_(std::move(inner)), branch_(std::move(branch)), site_(std::move(site)) {}

  TimePoint now() override { return inner_->now(); }
  WallTime wall_now() override {
    if (*branch_->root().armed) {
      const auto visit = branch_->visit({.name = site_}, Place::clock);
      if (visit.delay) {
        branch_->root().note(*visit.delay);
        jumped_ += std::chrono::floor<std::chrono::milliseconds>(visit.delay->length).count();
      }
    }
    return inner_->wall_now() + std::chrono::milliseconds(jumped_.load());
  }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    return inner_->sleep_until(when, std::move(stop));
  }
  std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override {
    return inner_->alarm(when, std::move(ring));
  }

 private:
  const std::shared_ptr<Clock> inner_;
  const std::shared_ptr<ChaosBranch> branch_;
  const std::string site_;
  std::atomic<std::int64_t> jumped_{0};  // Milliseconds.
};

}  // namespace

std::shared_ptr<CheckpointStore> Chaos::store(std::shared_ptr<CheckpointStore> inner,
                                              std::string site) const {
  auto flaky = testing::FlakyStore::around(
      std::make_shared<CorruptingStore>(std::move(inner), branch_, site));
  flaky->fail_with({Errc::io, "injected: the store does not answer"});
  flaky->fail_when([branch = branch_, site = std::move(site)](
                       testing::StoreOperation operation) -> std::optional<testing::FaultPoint> {
    if (!*branch->root().armed) return std::nullopt;
    const auto visit = branch->visit({.name = site, .step = to_string(operation)}, Place::store);
    if (visit.delay) {
      branch->root().note(*visit.delay);
      branch->sleep(visit.delay->length, {});
    }
    if (!visit.fault) return std::nullopt;
    branch->root().note(*visit.fault);
    if (visit.fault->fault == Fault::kill) branch->kill();
    return visit.fault->fault == Fault::lost_answer ? testing::FaultPoint::after
                                                    : testing::FaultPoint::before;
  });
  return flaky;
}

std::shared_ptr<Clock> Chaos::clock(std::shared_ptr<Clock> inner, std::string site) const {
  return std::make_shared<JumpingClock>(std::move(inner), branch_, std::move(site));
}

}  // namespace triage::inline v0_1::lab
