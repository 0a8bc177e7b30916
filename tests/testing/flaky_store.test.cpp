// SPDX-License-Identifier: MIT
#include "triage/testing/flaky_store.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"
#include "triage/policies/retry.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/failures.hpp"
#include "triage/testing/scripted_agent.hpp"

using namespace triage;
using namespace triage::testing;

namespace {

// Which of ten writes fail.
std::vector<bool> ten_writes(FlakyStore& store, const std::string& space) {
  std::vector<bool> failed;
  for (int i = 0; i < 10; ++i) {
    failed.push_back(store.put_if(space, std::to_string(i), 0, "x").has_error());
  }
  return failed;
}

}  // namespace

TEST_CASE("a flaky store without a fault is the store behind it", "[testing][flaky_store]") {
  const auto inner = MemoryStore::create();
  const auto store = FlakyStore::around(inner);
  REQUIRE_OK(store->put_if("notes", "a", 0, "1"));
  REQUIRE_OK(inner->get("notes", "a"));
  CHECK(inner->get("notes", "a").value()->bytes == "1");
  REQUIRE_OK(store->list("notes", ""));
  CHECK_ERRC(Errc::not_found, store->run("none"));
  CHECK(store->capabilities().durability == inner->capabilities().durability);
  CHECK(store->operations() == 3);
  CHECK(store->failures() == 0);
  CHECK(store->log() == std::vector<StoreOperation>{StoreOperation::put_if, StoreOperation::list,
                                                    StoreOperation::run});
}

TEST_CASE("only the n-th operation fails, and nothing of it happened", "[testing][flaky_store]") {
  const auto inner = MemoryStore::create();
  const auto store = FlakyStore::around(inner);
  store->fail_nth(3);
  const auto failed = ten_writes(*store, "s");
  for (std::size_t i = 0; i < failed.size(); ++i) CHECK(failed[i] == (i == 2));
  CHECK(inner->list("s", "").value().size() == 9);
  CHECK(store->failures() == 1);
}

TEST_CASE("an answer can get lost after the work was done", "[testing][flaky_store]") {
  const auto inner = MemoryStore::create();
  const auto store = FlakyStore::around(inner);
  store->fail_nth(1, FaultPoint::after);
  CHECK_ERRC(Errc::io, store->put_if("s", "k", 0, "1"));
  CHECK(inner->get("s", "k").value()->bytes == "1");
}

TEST_CASE("the same seed gives the same faults", "[testing][flaky_store]") {
  const auto run = [](std::uint64_t seed, double probability) {
    const auto store = FlakyStore::around(MemoryStore::create());
    store->fail_with_probability(probability, seed);
    return ten_writes(*store, "s");
  };
  CHECK(run(5, 0.5) == run(5, 0.5));
  CHECK(run(5, 0.5) != run(6, 0.5));
  CHECK(run(5, 0.0) == std::vector<bool>(10, false));
  CHECK(run(5, 1.0) == std::vector<bool>(10, true));
}

TEST_CASE("a broken store fails everything until it is healed", "[testing][flaky_store]") {
  const auto store = FlakyStore::around(MemoryStore::create());
  store->fail_until_healed();
  CHECK(ten_writes(*store, "s") == std::vector<bool>(10, true));
  CHECK_ERRC(Errc::io, store->runs({}));
  store->heal();
  CHECK(ten_writes(*store, "s") == std::vector<bool>(10, false));
}

TEST_CASE("faults can be limited to some operations and carry any error",
          "[testing][flaky_store]") {
  const auto store = FlakyStore::around(MemoryStore::create());
  store->only({StoreOperation::get});
  store->fail_with({Errc::busy, "someone else"});
  store->fail_until_healed();
  REQUIRE_OK(store->put_if("s", "k", 0, "1"));
  const auto read = store->get("s", "k");
  CHECK_ERRC(Errc::busy, read);
  CHECK_THAT(read.error().detail, ContainsSubstring("someone else") && ContainsSubstring("get"));
  CHECK(store->operations() == 1);
  store->only({});
  CHECK_ERRC(Errc::busy, store->put_if("s", "k", 1, "2"));
}

TEST_CASE("a run survives every single failing operation of its store", "[testing][flaky_store]") {
  bool failed = true;
  for (std::uint64_t n = 1; failed; ++n) {
    REQUIRE(n < 100);
    INFO("operation " << n);
    ScriptedAgent script;
    script.attempt().step({.action = "one"}).state({{"a", 1}}).fail(failures::http(503));
    script.attempt().step({.action = "two"}).succeed("done");
    const auto store = FlakyStore::around(MemoryStore::create());
    store->fail_nth(n);
    FailurePolicy policy;
    policy.otherwise(retry());
    const TriageAgent agent{script, policy, {.store = store, .write_mode = WriteMode::deferred}};
    const auto result = agent.run("task");
    // Only the first operation creates the run: without it there is nothing to protect.
    if (n > 1) REQUIRE_OK(result);
    failed = store->failures() > 0;
  }
}
