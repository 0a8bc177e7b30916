// SPDX-License-Identifier: MIT
#pragma once
// The invariants of a store with a server, whatever gets lost on the way.

#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/result.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"
#include "triage/orphans.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

inline Record lost_answer_record(Sequence seq) {
  return {seq, RecordKind::state_changed, WallTime(std::chrono::milliseconds(1'000 + seq)),
          std::make_shared<const Json>(Json{{"page", seq}})};
}

// A complete run and a key. Every call must succeed, because what got lost is requested again; then
// nothing is missing or duplicated.
inline void tell_and_check(CheckpointStore& store, const RunId& run) {
  const std::vector<Record> first{lost_answer_record(1)};
  const auto lease = store.start({.id = run, .agent = "worker"}, first);
  REQUIRE_OK(lease);
  for (Sequence seq = 2; seq <= 4; ++seq) {
    const std::vector<Record> next{lost_answer_record(seq)};
    REQUIRE_OK(store.append(lease.value(), next, RunStatus::running));
  }
  REQUIRE_OK(store.renew(lease.value()));
  REQUIRE_OK(store.release(lease.value()));
  const auto again = store.acquire(run);
  REQUIRE_OK(again);
  CHECK(again.value().epoch == 2);
  const std::vector<Record> last{lost_answer_record(5)};
  REQUIRE_OK(store.append(again.value(), last, RunStatus::finished));
  const std::vector<Record> stale{lost_answer_record(6)};
  CHECK_ERRC(Errc::fenced, store.append(lease.value(), stale, RunStatus::running));
  CHECK(store.put_if("s", run, 0, "one").value() == 1);
  CHECK(store.put_if("s", run, 1, "two").value() == 2);
  CHECK(store.get("s", run).value()->bytes == "two");
  REQUIRE_OK(store.erase_if("s", run, 2));
  CHECK_FALSE(store.get("s", run).value());
  REQUIRE_OK(store.release(again.value()));
  const auto reading = store.read(run, {});
  REQUIRE_OK(reading);
  CHECK(reading.value().damaged.empty());
  CHECK(reading.value().info.status == RunStatus::finished);
  REQUIRE(reading.value().records.size() == 5);
  for (Sequence seq = 1; seq <= 5; ++seq) CHECK(reading.value().records[seq - 1].seq() == seq);
}

// Cuts the 1st, 2nd, 3rd … question, and answer, until there is none left to cut.
inline void lose_every_one(FaultProxy& proxy, CheckpointStore& store) {
  for (const auto which : {FaultProxy::Cut::question, FaultProxy::Cut::answer}) {
    int n = 0;
    do {
      ++n;
      const std::string run = (which == FaultProxy::Cut::answer ? "a" : "q") + std::to_string(n);
      INFO(run);
      proxy.cut_nth(n, which);
      tell_and_check(store, run);
    } while (proxy.fired());
    proxy.heal();
    CHECK(n > 15);
  }
}

// Cuts the 1st, 2nd, 3rd … question or answer and all that follow, until a call needs fewer: once
// the server is back, whatever a call that failed has done, the run is free for others, and then
// for its store. open: a store behind the proxy.
inline void strand_nothing(FaultProxy& proxy,
                           const std::function<std::shared_ptr<CheckpointStore>()>& open,
                           CheckpointStore& other) {
  const std::vector<Record> first{lost_answer_record(1)};
  using Call = std::function<bool(CheckpointStore&, const RunId&)>;
  const std::vector<std::pair<std::string, Call>> calls{
      {"start",
       [&](auto& store, const auto& run) {
         return store.start({.id = run, .agent = "start"}, first).has_value();
       }},
      {"acquire", [](auto& store, const auto& run) { return store.acquire(run).has_value(); }},
      {"claim",
       [](auto& store, const auto&) {
         const auto claimed = claim_orphans(store, "claim", 9);
         return claimed.has_value();
       }},
      {"erase", [](auto& store, const auto& run) { return store.erase(run).has_value(); }}};
  for (const auto& [name, call] : calls) {
    for (const auto which : {FaultProxy::Cut::question, FaultProxy::Cut::answer}) {
      bool done = false;
      for (int n = 1; !done; ++n) {
        REQUIRE(n < 20);
        const RunId run =
            name + (which == FaultProxy::Cut::answer ? "-a" : "-q") + std::to_string(n);
        INFO(run);
        if (name != "start") {
          const auto lease = other.start({.id = run, .agent = name}, first);
          REQUIRE_OK(lease);
          REQUIRE_OK(other.release(lease.value()));
        }
        const auto store = open();
        proxy.cut_nth(n, which, false);
        done = call(*store, run);
        proxy.heal();
        if (done) break;
        const auto taken = other.acquire(run);
        if (!taken) {  // It was not started, or is erased.
          CHECK_ERRC(Errc::not_found, taken);
          continue;
        }
        CHECK_ERRC(Errc::busy, store->acquire(run));
        REQUIRE_OK(other.append(taken.value(), std::vector<Record>{lost_answer_record(2)},
                                RunStatus::running));
        REQUIRE_OK(other.release(taken.value()));
        const auto back = store->acquire(run);
        REQUIRE_OK(back);
        CHECK_ERRC(Errc::busy, other.acquire(run));
        REQUIRE_OK(store->release(back.value()));
      }
    }
  }
}

// Cuts all answers from the n-th on while a run is started, for each n: the same start succeeds
// once the server is back, and the run is then its starter's.
inline void start_again(FaultProxy& proxy, CheckpointStore& store, CheckpointStore& other) {
  const std::vector<Record> first{lost_answer_record(1)};
  for (int n = 1;; ++n) {
    REQUIRE(n < 20);
    const RunId run = "again-" + std::to_string(n);
    INFO(run);
    proxy.cut_nth(n, FaultProxy::Cut::answer, false);
    const bool done = store.start({.id = run}, first).has_value();
    proxy.heal();
    if (done) return;
    const auto lease = store.start({.id = run}, first);
    REQUIRE_OK(lease);
    CHECK_ERRC(Errc::busy, other.acquire(run));
    REQUIRE_OK(store.append(lease.value(), std::vector<Record>{lost_answer_record(2)},
                            RunStatus::finished));
  }
}

}  // namespace triage::test
