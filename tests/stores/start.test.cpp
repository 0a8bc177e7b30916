// SPDX-License-Identifier: MIT
// A run is started in a store once, and acquired, even if the store's answer gets lost.
#include "stores/contract.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("a run id is used once", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = in.store->start(run_info("run-1"), {&first, 1});
  REQUIRE_OK(lease);
  Journal another("run-1");
  const Record other = started(another, 1'234);
  CHECK_ERRC(Errc::conflict, in.store->start(run_info("run-1"), {&other, 1}));
  CHECK_ERRC(Errc::conflict, in.store->start(run_info("run-1"), {}));
  const std::vector<Record> more{first, step(journal, "a")};
  CHECK_ERRC(Errc::conflict, in.store->start(run_info("run-1"), more));
  CHECK(in.store->run("run-1").value().last == 1);
  CHECK(same(in.store->read("run-1", {}).value().records.at(0), first));
}

TEST_CASE("a start whose answer got lost may come again, until the run goes on", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const std::vector<Record> first{started(journal), step(journal, "a")};
  const auto lost = in.store->start(run_info("run-1"), first);
  REQUIRE_OK(lost);
  const auto again = in.store->start(run_info("run-1"), first);
  REQUIRE_OK(again);
  CHECK(again.value().epoch == lost.value().epoch);
  CHECK(in.store->read("run-1", {}).value().records.size() == 2);
  const bool released = GENERATE(true, false);
  const Record next = step(journal, "b");
  if (released) {
    REQUIRE_OK(in.store->release(again.value()));
  } else {
    REQUIRE_OK(in.store->append(again.value(), {&next, 1}, RunStatus::running));
  }
  CHECK_ERRC(Errc::conflict, in.store->start(run_info("run-1"), first));
}

TEST_CASE("a lease whose answer got lost does not lock the run for its own process", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const Record first = started(journal);
  std::optional<Lease> lease = in.store->start(run_info("run-1"), {&first, 1}).value();
  CHECK_ERRC(Errc::busy, in.store->acquire("run-1"));
  const Record second = step(journal, "a");
  REQUIRE_OK(in.store->append(*lease, {&second, 1}, RunStatus::running));
  CHECK_ERRC(Errc::busy, in.store->acquire("run-1"));
  lease.reset();  // It has no owner any more.
  CHECK(in.store->acquire("run-1"));
  const auto newest = in.store->acquire("run-1");
  REQUIRE(newest);
  CHECK_ERRC(Errc::busy, in.store->acquire("run-1"));
  CHECK(newest.value().epoch >= 3);
}
