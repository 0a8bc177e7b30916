// SPDX-License-Identifier: MIT
#pragma once
// Compaction and rotation over a store with a server, whatever gets lost on the way.

#include "stores/lost_answers.hpp"
#include "triage/compaction.hpp"
#include "triage/stores/encrypted.hpp"

namespace triage::test {

// Two thousand changes of one key under an old encryption key: rotated, then compacted.
inline void shrink_and_check(const std::shared_ptr<CheckpointStore>& store) {
  const auto key = [](const std::string& id) {
    return StoreKey{.id = id, .secret = std::string(32, id.back())};
  };
  const auto old = EncryptedStore::around(store, {.key = key("k1")}).value();
  std::vector<Record> all{
      {1, RecordKind::run_started, WallTime{}, std::make_shared<const Json>(Json{{"agent", "a"}})}};
  for (Sequence seq = 2; seq <= 2'000; ++seq) all.push_back(lost_answer_record(seq));
  const auto lease = old->start({.id = "long", .agent = "a"}, all);
  REQUIRE_OK(lease);
  REQUIRE_OK(store->release(lease.value()));
  const auto both = EncryptedStore::around(store, {.key = key("k2"), .older = {key("k1")}}).value();
  const auto rotated = both->rotate();
  REQUIRE_OK(rotated);
  CHECK(rotated.value().records == 2'000);
  CHECK(rotated.value().left.empty());
  const auto alone = EncryptedStore::around(store, {.key = key("k2")}).value();
  const auto done = compact_run(*alone, "long", {.max_checkpoints = 1});
  REQUIRE_OK(done);
  CHECK(done.value().records < 5);
  const auto reading = alone->read("long", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().damaged.empty());
  CHECK(reading.value().records.size() == done.value().records);
  CHECK(alone->latest("long").value().state.json() == Json{{"page", 2'000}});
}

// Cuts the 1st, 2nd, 3rd … question, and answer, of a compaction.
inline void lose_every_one_while_shrinking(FaultProxy& proxy, CheckpointStore& store) {
  for (const auto which : {FaultProxy::Cut::question, FaultProxy::Cut::answer}) {
    int n = 0;
    do {
      ++n;
      const std::string run = (which == FaultProxy::Cut::answer ? "ca" : "cq") + std::to_string(n);
      INFO(run);
      std::vector<Record> all{{1, RecordKind::run_started, WallTime{},
                               std::make_shared<const Json>(Json{{"agent", "a"}})}};
      for (Sequence seq = 2; seq <= 40; ++seq) all.push_back(lost_answer_record(seq));
      const auto lease = store.start({.id = run, .agent = "a"}, all);
      REQUIRE_OK(lease);
      proxy.cut_nth(n, which);
      REQUIRE_OK(compact_held_run(store, lease.value(), {.max_checkpoints = 1}));
      const auto reading = store.read(run, {});
      REQUIRE_OK(reading);
      CHECK(reading.value().damaged.empty());
      CHECK(reading.value().records.size() < 5);
      CHECK(reading.value().info.last == 40);
    } while (proxy.fired());
    proxy.heal();
    CHECK(n > 2);
  }
}

}  // namespace triage::test
