// SPDX-License-Identifier: MIT
// Compensations whose outcome is unknown.
#include "support/crashed.hpp"
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/operations.hpp"

#include <algorithm>
#include <atomic>

using namespace triage;
using namespace triage::test;
using Status = EffectState::Status;

TEST_CASE("a compensation that throws may have happened, so it is not called again on a guess",
          "[compensation]") {
  Kit kit;
  int calls = 0;
  int asked = 0;
  auto answer = Reconciled::unknown("the office does not say");
  auto semantics = EffectSemantics::at_most_once;
  const auto run = [&](bool with_reconcile) {
    Reconcile reconcile;
    if (with_reconcile) {
      reconcile = [&]() -> Reconciled {
        ++asked;
        return std::exchange(answer, Reconciled::done());
      };
    }
    const auto undo = [&] {
      if (++calls == 1) throw std::runtime_error("no answer");
    };
    const TriageAgent agent{
        [&](const std::string&, Attempt& attempt) {
          attempt.effect("hotel", [] { return 1; }, {.compensate = {undo, reconcile, semantics}});
          throw std::runtime_error("timeout");
        },
        answers({RecoveryAction::abort("enough")}), kit.options()};
    const auto result = agent.run("x", {.run_id = "r"});
    CHECK_ERRC(Errc::aborted, result);
    return result.error().detail;
  };
  const auto status = [&] { return stored_journal(*kit.store, "r").effect("hotel").status; };
  SECTION("without a way to find out it stays in doubt, and is reported") {
    CHECK_THAT(run(false), ContainsSubstring("no answer") && ContainsSubstring("nobody knows"));
    CHECK(calls == 1);
    CHECK(status() == Status::compensating);
    CHECK(kit.log->count(EventKind::effect_in_doubt) == 1);
    CHECK(kit.log->count(EventKind::compensation_failed) == 1);
  }
  SECTION("nor if the second function does not know") {
    CHECK_THAT(run(true), ContainsSubstring("the office does not say"));
    CHECK(calls == 1);
    CHECK(asked == 1);
  }
  SECTION("it happened") {
    answer = Reconciled::done();
    CHECK(run(true) == "enough");
    CHECK(calls == 1);
    CHECK(status() == Status::compensated);
  }
  SECTION("it did not, so it is called again") {
    answer = Reconciled::not_done();
    CHECK(run(true) == "enough");
    CHECK(calls == 2);
    CHECK(status() == Status::compensated);
  }
  SECTION("it may be called again: its other side knows the idempotency key") {
    semantics = EffectSemantics::idempotent;
    CHECK(run(false) == "enough");
    CHECK(calls == 2);
    CHECK(status() == Status::compensated);
  }
}

TEST_CASE("a compensation that was cut off is made again only if it may be", "[compensation]") {
  Kit kit;
  const auto semantics = GENERATE(EffectSemantics::at_most_once, EffectSemantics::at_least_once);
  int calls = 0;
  const auto make = [&] {
    AgentOptions options = kit.options();
    options.compensations = {{"cancel", {[&] { ++calls; }, {}, semantics}}};
    return TriageAgent{[](const std::string&, Attempt& attempt) -> int {
                         attempt.effect("hotel", [] { return 1; }, {.compensate = "cancel"});
                         if (attempt.number() == 1) throw std::runtime_error("timeout");
                         return 1;
                       },
                       answers({RecoveryAction::abort("enough")}), options};
  };
  CHECK_ERRC(Errc::aborted, make().run("x", {.run_id = "r"}));
  kit.store = crashed_after(*kit.store, "r",
                            sequence_of(*kit.store, "r", RecordKind::compensation_intended));
  const auto resumed = make().resume_run("r");
  if (semantics == EffectSemantics::at_most_once) {
    CHECK_ERRC(Errc::in_doubt, resumed);
    CHECK(calls == 1);
  } else {
    CHECK_ERRC(Errc::aborted, resumed);  // The decided action is completed.
    CHECK(calls == 2);
  }
}

TEST_CASE("an effect is not repeated when it cannot be stored that its undoing failed",
          "[compensation]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  int booked = 0;
  int asked = 0;
  const auto undo = [] { throw std::runtime_error("no answer"); };
  const auto settle = [&] {  // It did not happen, but the first time that cannot be stored.
    if (++asked == 1) store->fail_between(store->operations() + 1, store->operations() + 1);
    return Reconciled::not_done();
  };
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        const int room = attempt.effect(
            "hotel", [&] { return ++booked; },
            {.semantics = EffectSemantics::at_least_once, .compensate = {undo, Reconcile(settle)}});
        if (attempt.number() == 1) throw std::runtime_error("timeout");
        return room;
      },
      answers({RecoveryAction::rollback({.or_start = true})}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(booked == 1);
  CHECK(asked == 2);
  CHECK(stored_journal(*kit.store, "r").effect("hotel").status == Status::completed);
}

TEST_CASE("a compensation that is tried a hundred times never waits for less than no time",
          "[compensation]") {
  Kit kit;
  int calls = 0;
  std::size_t waits = 0;
  kit.clock->on_sleep = [&](TimePoint until) {
    CHECK(until >= kit.clock->now());
    ++waits;
  };
  AgentOptions options = kit.bare();
  options.compensation = {
      .timeout = Duration::max(), .max_attempts = 100, .delay = std::chrono::hours(1)};
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            attempt.effect("book", [] { return 1; },
                                           {.compensate = [&](const EffectCall& call) {
                                             ++calls;
                                             CHECK(call.deadline == TimePoint::max());
                                             throw EffectNotDone("the office is closed");
                                           }});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::abort()}), options};
  CHECK_ERRC(Errc::aborted, agent.run("x"));
  CHECK(calls == 100);
  CHECK(waits == 99);
}

TEST_CASE("undoing that a stop or the store prevents is finished when the run goes on",
          "[compensation]") {
  Kit kit;
  int refunds = 0;
  int tries = 0;
  std::stop_source stop;
  const bool stopped = GENERATE(true, false);
  const bool aborts = GENERATE(true, false);
  // Refuses once to store that something is about to be undone.
  struct Refusing final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Refusing() override { stop_queue(); }
    std::atomic<bool> armed{false};
    void append_group(std::span<AppendBatch> batches) override {
      CheckpointStore::append_group(batches);
    }
    Result<void> append(const Lease& lease, std::span<const Record> records,
                        RunStatus status) override {
      const auto is_intent = [](const Record& record) {
        return record.kind() == RecordKind::compensation_intended;
      };
      if (armed && std::any_of(records.begin(), records.end(), is_intent)) {
        armed = false;
        return Error{Errc::io, "the disk is full"};
      }
      return ForwardingStore::append(lease, records, status);
    }
  };
  const auto store = std::make_shared<Refusing>(kit.store);
  store->armed = !stopped;
  AgentOptions options = kit.with(store);
  options.compensation.max_attempts = stopped ? 3 : 1;
  options.compensations = {{"refund", [&](const EffectCall&) {
                              if (stopped && ++tries == 1) throw EffectNotDone("busy");
                              ++refunds;
                            }}};
  kit.clock->on_sleep = [&](TimePoint) { stop.request_stop(); };
  int calls = 0;
  const auto make = [&] {
    return TriageAgent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                         if (++calls > 1) return 7;
                         attempt.effect("pay", [] { return 1; }, {.compensate = "refund"});
                         return attempt.fail({.text = "bad"});
                       },
                       answers({aborts ? RecoveryAction::abort() : RecoveryAction::rollback()}),
                       options};
  };
  INFO("stopped " << stopped << ", aborts " << aborts);
  const auto first = make().run("x", {.run_id = "r", .stop_token = stop.get_token()});
  REQUIRE_FALSE(first.has_value());
  CHECK(first.error().code == (stopped ? Errc::cancelled : Errc::io));
  CHECK(refunds == 0);
  kit.clock->on_sleep = nullptr;
  const auto later = make().run_or_resume("r", "x");
  CHECK(refunds == 1);
  if (aborts) {
    CHECK_ERRC(Errc::aborted, later);
  } else {
    CHECK(later.value() == 7);
  }
}

TEST_CASE("a call that is refused does not change how an effect is undone", "[compensation]") {
  Kit kit;
  std::vector<std::string> undone;
  const auto refund = [&undone](const std::string& order) {
    return EffectOptions{.compensate = [&undone, order] { undone.push_back(order); }};
  };
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> int {
        attempt.effect(
            "pay", {{"order", 1}}, [] { return 1; }, refund("order 1"));
        CHECK_ERRC(Errc::conflict, attempt.try_effect(
                                       "pay", {{"order", 2}}, [] { return 2; }, refund("order 2")));
        throw std::runtime_error("timeout");
      },
      escalating(), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("x"));
  CHECK(undone == std::vector<std::string>{"order 1"});
}

TEST_CASE("an effect that was not undone after all, and whose result was lost, is in doubt",
          "[effects]") {
  Kit kit;
  int paid = 0;
  EffectOptions how;
  const auto run_on = [&](std::shared_ptr<CheckpointStore> store) {
    AgentOptions options = kit.with(std::move(store));
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                              return attempt.effect(
                                  "pay", [&] { return ++paid; }, how);
                            },
                            escalating(), options};
    return agent.run_or_resume("r", "x");
  };
  REQUIRE_OK(run_on(kit.store));
  const Sequence done = sequence_of(*kit.store, "r", RecordKind::effect_completed);
  JournalReading reading = kit.store->read("r", {1, done - 1}).value();
  const auto add = [&](Sequence seq, RecordKind kind, Json body) {
    reading.records.emplace_back(seq, kind, WallTime(),
                                 std::make_shared<const Json>(std::move(body)));
  };
  add(done, RecordKind::gap, Json{{"first", done}, {"last", done - 1}});
  add(done + 1, RecordKind::compensation_intended, Json{{"key", "pay"}, {"generation", 1}});
  const bool settled = GENERATE(true, false);
  if (settled) {
    add(done + 2, RecordKind::compensation_withdrawn, Json{{"key", "pay"}, {"generation", 1}});
  } else {
    how.compensate = Compensation([] {}, Reconcile([] { return Reconciled::not_done(); }));
  }
  reading.info.status = RunStatus::running;
  const auto crashed = MemoryStore::create();
  REQUIRE_OK(crashed->release(crashed->start(reading.info, reading.records).value()));
  SECTION("nobody knows the result") { CHECK_ERRC(Errc::in_doubt, run_on(crashed)); }
  SECTION("reconcile does") {
    how.reconcile = [] { return Reconciled::done(7); };
    CHECK(run_on(crashed).value() == 7);
  }
  CHECK(paid == 1);
}

TEST_CASE("a rollback that a doubt has stopped is completed when the doubt is settled",
          "[compensation]") {
  Kit kit;
  const bool happened = GENERATE(true, false);
  INFO((happened ? "the cut-off compensation happened" : "it did not happen"));
  std::vector<std::string> undone;
  const auto make = [&] {
    AgentOptions options = kit.options();
    for (const char* name : {"undo a", "undo b"}) {
      options.compensations[name] = {[&undone, name] { undone.emplace_back(name); }};
    }
    return TriageAgent{
        [](const std::string&, Attempt& attempt) {
          const auto steps = static_cast<int>(attempt.trajectory().size());
          if (attempt.number() > 1) return steps;
          static_cast<void>(attempt.checkpoint("start"));
          attempt.effect("a", [] { return 1; }, {.compensate = "undo a"});
          attempt.record_step({.action = "one"});
          attempt.effect("b", [] { return 1; }, {.compensate = "undo b"});
          attempt.record_step({.action = "two"});
          throw std::runtime_error("timeout");
        },
        answers({RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "start"})}),
        options};
  };
  CHECK(make().run("x", {.run_id = "r"}).value() == 0);
  undone.clear();
  kit.store = crashed_after(*kit.store, "r",
                            sequence_of(*kit.store, "r", RecordKind::compensation_intended));
  CHECK_ERRC(Errc::in_doubt, make().run_or_resume("r", "x"));
  CHECK_ERRC(Errc::in_doubt, make().run_or_resume("r", "x"));
  CHECK(undone.empty());
  REQUIRE_OK(settle_effect(*kit.store, "r", "b", {.happened = happened}));
  CHECK(make().run_or_resume("r", "x").value() == 0);  // From the checkpoint.
  const std::vector<std::string> rest{"undo a"}, both{"undo b", "undo a"};
  CHECK(undone == (happened ? rest : both));
}
