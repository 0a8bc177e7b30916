// SPDX-License-Identifier: MIT
// Power cuts at any write, on a disk that keeps only synced data.
#include "support/power_loss_vfs.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/stores/sqlite.hpp"

using namespace triage;
using namespace triage::test;

namespace {

struct Survived {
  std::size_t acknowledged = 0;  // Records whose append returned success.
  std::size_t found = 0;         // Records read back.
  bool cut = false;              // During the run, not only at its end.
};

// Appends a run until the power fails, then reads it back from the disk.
Survived run_and_cut(PowerLossVfs& vfs, Durability durability, std::uint64_t seed) {
  const TempFolder folder;
  const auto random = seeded_random(seed);
  SqliteOptions options;
  options.durability = durability;
  options.vfs = "power-loss";
  options.wal_checkpoint_bytes = 30'000;
  Survived result;
  Journal journal("run-1");
  const auto records = random_run(journal, seed, 40);
  vfs.cut_after(random->next() % 260);
  {
    const auto store = SqliteStore::open(folder.file("a.db"), options);
    std::optional<Lease> lease;
    if (store) {
      auto begun = store.value()->start(run_info("run-1"), std::span(records).first(1));
      if (begun) lease = std::move(begun).value();
      result.acknowledged = lease ? 1 : 0;
    }
    for (std::size_t at = 1; lease && at < records.size();) {
      const std::size_t count = std::min(1 + random->next() % 4, records.size() - at);
      if (!store.value()->append(*lease, std::span(records).subspan(at, count),
                                 RunStatus::running)) {
        break;
      }
      at += count;
      result.acknowledged = at;
      if (random->next() % 10 == 0) store.value()->idle();
    }
    result.cut = vfs.is_cut();
    vfs.cut_after(0);
  }
  vfs.cut_power(seed);
  const auto again = SqliteStore::open(folder.file("a.db"));
  REQUIRE_OK(again);
  const auto reading = again.value()->read("run-1", {});
  if (!reading) {
    REQUIRE(reading.error().code == Errc::not_found);
    return result;
  }
  REQUIRE(reading.value().damaged.empty());
  result.found = reading.value().records.size();
  for (std::size_t i = 0; i < result.found; ++i) {  // A prefix, in order.
    REQUIRE(same(reading.value().records[i], records[i]));
  }
  return result;
}

}  // namespace

TEST_CASE("at level power, a power cut loses nothing that was acknowledged",
          "[stores][sqlite][power]") {
  PowerLossVfs vfs("power-loss");
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    const Survived survived = run_and_cut(vfs, Durability::power, seed);
    REQUIRE(survived.found >= survived.acknowledged);
    cut += survived.cut ? 1 : 0;
  }
  CHECK(cut > 100);  // Otherwise the cuts come too late to prove anything.
}

TEST_CASE("at level process, a power cut leaves a readable store with a prefix of the run",
          "[stores][sqlite][power]") {
  PowerLossVfs vfs("power-loss");
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    const Survived survived = run_and_cut(vfs, Durability::process, seed);
    lost += survived.found < survived.acknowledged ? 1 : 0;
  }
  CHECK(lost > 0);  // The shim does drop unsynced data, so the test above is meaningful.
}
