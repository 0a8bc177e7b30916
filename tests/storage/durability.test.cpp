// SPDX-License-Identifier: MIT
// What a caller may rely on when a store fails: named runs, steps, records that are never accepted.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/testing/flaky_store.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Always rejects records above a size, as every real store does at some size.
struct SmallStore final : ForwardingStore {
  SmallStore(std::shared_ptr<CheckpointStore> inner, std::size_t bytes)
      : ForwardingStore(std::move(inner)), most(bytes) {}
  ~SmallStore() override { stop_queue(); }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    for (const Record& record : records) {
      std::string body;
      record.encode_body(body);
      if (body.size() > most) return Error{Errc::invalid_argument, "a record is too large"};
    }
    return ForwardingStore::append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    CheckpointStore::append_group(batches);
  }
  std::size_t most;
};

}  // namespace

TEST_CASE("a run with an id whose end cannot be stored is the store's error, and has its value",
          "[durability]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  options.on_store_error = GENERATE(OnStoreError::by_default, OnStoreError::degrade);
  const auto break_down = [&](const std::string&, Attempt& attempt) {
    attempt.record_step({.action = "work"});
    store->break_down();
    return std::make_unique<int>(7);  // Move-only, so its value is not copied.
  };
  const TriageAgent agent{break_down, answers({RecoveryAction::retry()}), options};
  const auto named = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::io, named);
  REQUIRE(named.error().unstored_value<std::unique_ptr<int>>());
  CHECK(**named.error().unstored_value<std::unique_ptr<int>>() == 7);
  CHECK_FALSE(named.error().unstored_value<int>());
  CHECK_FALSE(named.error().failure());
  CHECK_THAT(named.error().message(), ContainsSubstring("; Error::unstored_value has"));
  CHECK_THAT(named.error().detail, !ContainsSubstring("unstored_value"));
  CHECK(kit.log->count(EventKind::run_failed) == 1);
  CHECK(kit.store->run("r").value().status == RunStatus::running);
  store->repair();
  CHECK(*agent.run("x").value() == 7);  // A run without an id may degrade, and reports it.
  CHECK(kit.log->count(EventKind::store_detached) == 2);
}

TEST_CASE("a run has finished although the store fails twice at its end", "[durability]") {
  Kit kit;
  const auto store = testing::FlakyStore::around(kit.store);
  const auto point = GENERATE(testing::FaultPoint::before, testing::FaultPoint::after);
  AgentOptions options = kit.with(store);
  int failures = 0;
  const TriageAgent agent{[&](const std::string&, Attempt&) {
                            failures = 2;
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  store->only({testing::StoreOperation::append});
  store->fail_when([&](testing::StoreOperation) {
    return failures > 0 && failures-- > 0 ? std::optional(point) : std::nullopt;
  });
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(store->failures() == 2);
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
}

TEST_CASE("run_or_resume never returns plain success for what is not stored", "[durability]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) {
                            if (++calls < 3) store->break_down();
                            return calls;
                          },
                          answers({RecoveryAction::retry()}), options};
  for (int i = 1; i <= 2; ++i) {
    const auto lost = agent.run_or_resume("r", "x");
    CHECK_ERRC(Errc::io, lost);
    REQUIRE(lost.error().unstored_value<int>());
    CHECK(*lost.error().unstored_value<int>() == i);
    store->repair();
  }
  CHECK(agent.run_or_resume("r", "x").value() == 3);
  CHECK(agent.run_or_resume("r", "x").value() == 3);
  CHECK(calls == 3);
}

TEST_CASE("a decision to end a named run that cannot be stored is the store's error",
          "[durability]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  const TriageAgent agent{[&](const std::string&) -> int {
                            store->break_down();
                            throw std::runtime_error("the agent's own failure");
                          },
                          answers({RecoveryAction::abort("enough")}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::io, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("aborted"));
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->text == "the agent's own failure");
  CHECK_FALSE(result.error().unstored_value<int>());
}

TEST_CASE("a store that heals before or just after the end of a run has all of it",
          "[durability]") {
  const auto on_error = GENERATE(OnStoreError::by_default, OnStoreError::fail);
  const auto fault = GENERATE(FlakyStore::Fault::refuses, FlakyStore::Fault::forgets_to_answer);
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  options.on_store_error = on_error;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "work"});
                            store->fail_between(2, 2, fault);  // The final drain fails once.
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(store->faults() == 1);
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
  CHECK_FALSE(kit.store->run("r").value().owned);
  CHECK(kit.store->latest("r").value().trajectory.size() == 1);
}

TEST_CASE("a step that the store can never take makes the run fail, and loses nothing before it",
          "[durability]") {
  Kit kit;
  const auto store = std::make_shared<SmallStore>(kit.store, 1'000);
  AgentOptions options = kit.with(store);
  options.write_mode = GENERATE(WriteMode::deferred, WriteMode::immediate);
  const bool swallows = GENERATE(true, false);
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "kept"});
                            attempt.record_step({.action = std::string(2'000, 'x')});
                            if (swallows)
                              CHECK_FALSE(attempt.try_effect("pay", [&] { return ++paid; }));
                            attempt.record_step({.action = "behind it"});
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("x");  // Not even without an id.
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK(paid == 0);
  const auto runs = kit.store->runs({}).value();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].status == RunStatus::failed);
  CHECK_FALSE(runs[0].owned);
  const Journal journal = stored_journal(*kit.store, runs[0].id);
  CHECK_FALSE(journal.broken_at());
  REQUIRE(journal.trajectory().size() == 1);
  CHECK(journal.finished().is_null());
}

TEST_CASE("immediate: a step that is not durable ends the attempt, unless degrading was asked for",
          "[durability]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  options.write_mode = WriteMode::immediate;
  const bool asked_for = GENERATE(true, false);
  if (asked_for) options.on_store_error = OnStoreError::degrade;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "durable"});
                            store->break_down();
                            attempt.record_step({.action = "lost"});
                            store->repair();
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  if (asked_for) {
    CHECK(result.value() == 1);
  } else {
    CHECK_ERRC(Errc::io, result);
    CHECK(kit.store->run("r").value().status == RunStatus::failed);
  }
  CHECK(kit.store->latest("r").value().trajectory.size() == 2);  // Stored once the store was back.
}

TEST_CASE("a store that stays away costs each step the same, however many wait", "[durability]") {
  struct Counting final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Counting() override { stop_queue(); }
    void append_group(std::span<AppendBatch> batches) override {
      for (AppendBatch& batch : batches) {
        offered += batch.records.size();
        batch.outcome = Error{Errc::io, "the disk is full"};
      }
    }
    std::size_t offered = 0;
  };
  Kit kit;
  const auto store = std::make_shared<Counting>(kit.store);
  AgentOptions options = kit.with(store);
  options.write_mode = WriteMode::immediate;
  options.on_store_error = OnStoreError::degrade;
  constexpr std::size_t steps = 8'000;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (std::size_t i = 0; i < steps; ++i) {
                              attempt.record_step({.action = "s"});
                              if (i % 100 == 0) CHECK_FALSE(attempt.checkpoint("strict"));
                            }
                          },
                          answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.run("x"));
  CHECK(store->offered < 3 * steps);
}
