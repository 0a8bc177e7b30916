// SPDX-License-Identifier: MIT
#pragma once
// A reading of a run with a compaction in the middle.

#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/result.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/compaction.hpp"
#include "triage/journal.hpp"
#include "triage/json.hpp"
#include "triage/repair.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

// Does something before the n-th call of it, which may come from another thread.
class BeforeNth {
 public:
  void arm(int n, std::function<void()> act) {
    act_ = std::move(act);
    left_ = n;
  }
  void disarm() { left_ = 0; }
  void operator()() {
    if (left_ > 0 && --left_ == 0) act_();
  }
  [[nodiscard]] bool armed() const { return left_ > 0; }

 private:
  std::function<void()> act_{};
  std::atomic<int> left_{0};
};

inline std::vector<Record> page_of(Sequence seq, std::size_t bytes) {
  return {{seq, RecordKind::state_changed, WallTime{},
           std::make_shared<const Json>(Json{{"page", seq}, {"text", std::string(bytes, 'x')}})}};
}

// Each question that passes is a step.
inline void tell_questions(FaultProxy& proxy, BeforeNth& steps) {
  proxy.answer_with([&steps](std::string_view) {
    steps();
    return std::string();
  });
}

// A run of 600 changes of one key, of so many bytes each, one at a time.
inline Lease long_run(CheckpointStore& store, const RunId& run, std::size_t bytes) {
  const std::vector<Record> first{
      {1, RecordKind::run_started, WallTime{}, std::make_shared<const Json>(Json{{"agent", "a"}})}};
  const auto lease = store.start({.id = run, .agent = "a"}, first);
  REQUIRE_OK(lease);
  for (Sequence seq = 2; seq <= 601; ++seq) {
    REQUIRE_OK(store.append(lease.value(), page_of(seq, bytes), RunStatus::running));
  }
  return lease.value();
}

// Reads such a run while its owner compacts it and goes on with it, before the 1st, 2nd, 3rd … step
// of the reading, of which the reader, or what stands in its way, tells `steps`. Each reading is
// the run as it was before or afterwards, and never a mixture.
inline void read_while_compacted(BeforeNth& steps, const std::string& name, CheckpointStore& owner,
                                 CheckpointStore& reader, std::size_t bytes, int most = 1'000) {
  bool fired = true;
  int n = 0;
  while (fired && n < most) {
    const RunId run = name + std::to_string(++n);
    INFO(run);
    const Lease lease = long_run(owner, run, bytes);
    bool compacted = false;
    steps.arm(n, [&] {
      constexpr std::size_t a_file = 150'000;
      compacted = compact_held_run(owner, lease, {.max_checkpoints = 1}) &&
                  owner.append(lease, page_of(602, a_file), RunStatus::running) &&
                  owner.append(lease, page_of(603, 1), RunStatus::running);
    });
    const auto reading = reader.read(run, {});
    fired = !steps.armed();
    steps.disarm();
    CHECK(compacted == fired);
    REQUIRE_OK(reading);
    CHECK(reading.value().damaged.empty());
    CHECK(missing_records(reading.value()).empty());
    const std::size_t records = reading.value().records.size();
    const bool before = records == 601;
    CHECK((before || records < 7));
    CHECK(Journal::fold(reading.value()).value().state().json().at("page") == (before ? 601 : 603));
    REQUIRE_OK(owner.release(lease));
  }
  CHECK(n > 2);
}

}  // namespace triage::test
