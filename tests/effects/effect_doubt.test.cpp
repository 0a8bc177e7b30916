// SPDX-License-Identifier: MIT
// Arguments, semantics, and how a doubt about an effect is settled.
#include "support/crashed.hpp"
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/testing/flaky_store.hpp"

#include <atomic>
#include <cmath>
#include <set>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// An agent whose only act is the effect "pay"; the outside world is `paid`.
struct Payer {
  Kit kit{};
  int paid = 0;
  bool fails_after = false;   // The payment is made and its answer lost.
  bool fails_before = false;  // Nothing is sent.
  EffectOptions how{};
  std::vector<std::string> keys{};

  int operator()(const std::string&, Attempt& attempt) {
    return attempt.effect(
        "pay", {{"order", 42}},
        [&](const std::string& idempotency_key) {
          keys.push_back(idempotency_key);
          if (std::exchange(fails_before, false)) throw std::runtime_error("timeout");
          ++paid;
          if (std::exchange(fails_after, false)) throw std::runtime_error("timeout");
          return 100 + paid;
        },
        how);
  }
  Result<int> run(std::shared_ptr<CheckpointStore> store = nullptr) {
    AgentOptions options = kit.options();
    if (store) options.store = std::move(store);
    const TriageAgent agent{
        [this](const std::string& task, Attempt& attempt) { return (*this)(task, attempt); },
        answers({RecoveryAction::retry()}), options};
    return agent.run_or_resume("r", "x");
  }
  // The result of querying the outside world.
  Reconcile look() {
    return [this] { return paid > 0 ? Reconciled::done(100 + paid) : Reconciled::not_done(); };
  }
};

}  // namespace

TEST_CASE("an effect in doubt that happened is settled by reconcile, and not run again",
          "[effects]") {
  Payer payer;
  payer.fails_after = true;
  payer.how.reconcile = payer.look();
  CHECK(payer.run().value() == 101);
  CHECK(payer.paid == 1);
  CHECK(payer.kit.log->last(EventKind::effect_reconciled).number == 1);
  const Journal journal = stored_journal(*payer.kit.store, "r");
  CHECK(journal.effects().at("pay").status == EffectState::Status::completed);
  CHECK(*journal.effects().at("pay").result == 101);
}

TEST_CASE("an effect in doubt that did not happen is settled by reconcile, and run once more",
          "[effects]") {
  Payer payer;
  payer.fails_before = true;
  payer.how.reconcile = payer.look();
  CHECK(payer.run().value() == 101);
  CHECK(payer.paid == 1);
  CHECK(payer.kit.log->last(EventKind::effect_reconciled).number == 0);
  // The same generation has the same idempotency key, so that a late duplicate is recognised.
  REQUIRE(payer.keys.size() == 2);
  CHECK(payer.keys[0] == payer.keys[1]);
  CHECK(payer.keys[0].size() == 64);
}

TEST_CASE("what reconcile cannot settle escalates, and says why", "[effects]") {
  Payer payer;
  payer.fails_after = true;
  SECTION("it does not know") {
    payer.how.reconcile = [] { return Reconciled::unknown("the bank is closed"); };
  }
  SECTION("it throws") {
    payer.how.reconcile = []() -> Reconciled { throw std::runtime_error("the bank is closed"); };
  }
  SECTION("its result cannot be stored") {
    payer.how.reconcile = [] {
      return Reconciled::done(Json{{"the bank is closed", std::nan("")}});
    };
  }
  const auto result = payer.run();
  CHECK_ERRC(Errc::in_doubt, result);
  if (payer.how.reconcile) CHECK_THAT(result.error().detail, ContainsSubstring("reconcile"));
  CHECK(payer.paid == 1);
  CHECK(payer.kit.store->run("r").value().status == RunStatus::escalated);
  CHECK(payer.kit.log->count(EventKind::run_escalated) == 1);
}

TEST_CASE("reconcile by name is found", "[effects]") {
  Kit kit;
  int paid = 0;
  AgentOptions options = kit.options();
  options.reconciliations["look"] = [&](const EffectCall& call) {
    CHECK(call.key == "pay");
    CHECK(call.generation == 1);
    return Reconciled::done(7);
  };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("pay",
                                                  [&]() -> int {
                                                    ++paid;
                                                    throw std::runtime_error("timeout");
                                                  },
                                                  {.reconcile = "look"});
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK(agent.run("x").value() == 7);
  CHECK(paid == 1);
}

TEST_CASE("a name that is not registered is refused before anything is done", "[effects]") {
  Kit kit;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        const auto refused = attempt.try_effect("pay", [] { return 1; }, {.reconcile = "look"});
        CHECK_ERRC(Errc::invalid_argument, refused);
        CHECK_THAT(refused.error().detail, ContainsSubstring("reconciliations"));
        CHECK_ERRC(Errc::invalid_argument,
                   attempt.try_effect("pay", [] { return 1; }, {.compensate = "refund"}));
      },
      answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(stored_journal(*kit.store, "r").effects().empty());
}

TEST_CASE("at_least_once and idempotent effects in doubt are run again with the same key",
          "[effects]") {
  Payer payer;
  payer.fails_after = true;
  payer.how.semantics = GENERATE(EffectSemantics::at_least_once, EffectSemantics::idempotent);
  CHECK(payer.run().value() == 102);
  CHECK(payer.paid == 2);
  REQUIRE(payer.keys.size() == 2);
  CHECK(payer.keys[0] == payer.keys[1]);
}

TEST_CASE("an intent that was at most once stays so, whatever is asked for later", "[effects]") {
  Payer payer;
  payer.fails_after = true;
  const TriageAgent agent{[&](const std::string& task, Attempt& attempt) {
                            payer.how.semantics = attempt.number() == 1
                                                      ? EffectSemantics::at_most_once
                                                      : EffectSemantics::at_least_once;
                            return payer(task, attempt);
                          },
                          answers({RecoveryAction::retry()}), payer.kit.options()};
  CHECK_ERRC(Errc::in_doubt, agent.run("x"));
  CHECK(payer.paid == 1);
}

TEST_CASE("idempotency keys differ by run and key", "[effects]") {
  Kit kit;
  std::set<std::string> keys;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (const char* key : {"a", "b"}) {
                              attempt.effect(key, [&](const EffectCall& call) {
                                CHECK(call.attempt == 1);
                                keys.insert(call.idempotency_key);
                              });
                            }
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "1"}));
  REQUIRE_OK(agent.run("x", {.run_id = "2"}));
  CHECK(keys.size() == 4);
}

TEST_CASE("one key stands for one set of arguments", "[effects]") {
  Kit kit;
  int paid = 0;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        const auto pay = [&](Json arguments) {
          return attempt.try_effect("pay", arguments, [&] { return ++paid; });
        };
        CHECK(pay({{"order", 1}, {"amount", 5}}).value() == 1);
        CHECK(pay({{"amount", 5.0}, {"order", 1U}}).value() == 1);  // The same in other types.
        CHECK_ERRC(Errc::conflict, pay({{"order", 2}, {"amount", 5}}));
        CHECK_ERRC(Errc::conflict, attempt.try_effect("pay", [&] { return ++paid; }));
        CHECK_ERRC(Errc::invalid_argument, pay({{"order", std::nan("")}}));
        // A type other than the recorded one.
        CHECK_ERRC(Errc::conflict, attempt.try_effect("pay", {{"order", 1}, {"amount", 5}},
                                                      [&] { return std::string("x"); }));
      },
      answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(paid == 1);
  // The arguments themselves are not in any record.
  const Journal journal = stored_journal(*kit.store, "r");
  CHECK(journal.effects().at("pay").arguments.size() == 64);
}

TEST_CASE("a key that EffectNotDone has freed may be used with other arguments", "[effects]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("pay", {{"card", attempt.number()}}, [&] {
                              if (attempt.number() == 1) throw EffectNotDone("refused: timeout");
                              return 5;
                            });
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  CHECK(agent.run("x").value() == 5);
}

TEST_CASE("reconcile names the result that could not be stored", "[effects]") {
  Kit kit;
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect(
                                "pay",
                                [&] {
                                  ++paid;
                                  return std::nan("");
                                },
                                {.reconcile = [] { return Reconciled::done(2.5); }});
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  CHECK(agent.run("x").value() == 2.5);
  CHECK(paid == 1);
}

TEST_CASE("an answer of reconcile that cannot be stored is none", "[effects]") {
  Payer payer;
  payer.fails_after = true;
  const auto store = std::make_shared<FlakyStore>(payer.kit.store);
  payer.how.reconcile = [&] {
    store->break_down();
    return Reconciled::done(101);
  };
  CHECK_ERRC(Errc::in_doubt, payer.run(store));
  CHECK(payer.paid == 1);
}

TEST_CASE("a doubt outlives a second intent that cannot be stored", "[effects]") {
  Payer payer;
  payer.fails_after = true;
  payer.how.semantics = EffectSemantics::idempotent;
  const auto store = testing::FlakyStore::around(payer.kit.store);
  payer.how.reconcile = [&] {
    const auto point = GENERATE(testing::FaultPoint::before, testing::FaultPoint::after);
    store->fail_nth(1, point);
    return Reconciled::unknown("the bank does not answer");
  };
  CHECK_ERRC(Errc::io, payer.run(store));
  CHECK(payer.paid == 1);
  const Journal journal = stored_journal(*payer.kit.store, "r");
  CHECK(journal.effects().at("pay").status == EffectState::Status::intended);
}

TEST_CASE("a crash at every record of a run: no effect runs twice, no result is lost",
          "[effects]") {
  Payer whole;
  REQUIRE_OK(whole.run());
  const Sequence last = whole.kit.store->run("r").value().last;
  const Sequence intent = sequence_of(*whole.kit.store, "r", RecordKind::effect_intended);
  const Sequence result = sequence_of(*whole.kit.store, "r", RecordKind::effect_completed);
  for (Sequence cut = 2; cut < last; ++cut) {
    const bool in_window = cut >= intent && cut < result;
    for (const bool sent : {false, true}) {
      if (!in_window && sent != (cut >= result)) continue;
      for (const bool reconciled : {false, true}) {
        INFO("cut after " << cut << ", sent " << sent << ", reconciled " << reconciled);
        Payer payer;
        payer.paid = sent ? 1 : 0;
        if (reconciled) payer.how.reconcile = payer.look();
        const auto resumed = payer.run(crashed_after(*whole.kit.store, "r", cut));
        if (in_window && !reconciled) {
          CHECK_ERRC(Errc::in_doubt, resumed);
          CHECK(payer.paid == (sent ? 1 : 0));
        } else {
          CHECK(resumed.value() == 101);
          CHECK(payer.paid == 1);
        }
      }
    }
  }
}

TEST_CASE("a damaged intent is not forgotten", "[effects]") {
  Payer whole;
  REQUIRE_OK(whole.run());
  JournalReading reading = whole.kit.store->read("r", {}).value();
  const Sequence intent = sequence_of(*whole.kit.store, "r", RecordKind::effect_intended);
  const auto kind =
      GENERATE(std::optional<RecordKind>(), std::optional(RecordKind::effect_intended),
               std::optional(RecordKind::effect_withdrawn), std::optional(RecordKind::step));
  const bool may_be_lost = kind != RecordKind::step;
  reading.records.resize(intent);  // The process died before the result.
  reading.records.pop_back();
  reading.info.last = intent;
  SECTION("its record cannot be read") {
    reading.damaged.push_back({intent, Error{Errc::corrupt, "x"}, kind});
    const Journal journal = Journal::fold(reading).value();
    CHECK(journal.effect("pay").lost == may_be_lost);
    CHECK((journal.effect("pay").status == EffectState::Status::intended) == may_be_lost);
    CHECK((journal.lost_intent() == intent) == may_be_lost);
  }
  SECTION("its record is not there at all") {
    const Journal journal = Journal::fold(reading).value();
    CHECK(journal.effect("pay").status == EffectState::Status::intended);
  }
}

TEST_CASE("a damaged record behind an effect leaves its result alone", "[effects]") {
  Payer whole;
  REQUIRE_OK(whole.run());
  JournalReading reading = whole.kit.store->read("r", {}).value();
  reading.records.pop_back();
  reading.damaged.push_back({reading.info.last, Error{Errc::corrupt, "x"}, {}});
  const Journal journal = Journal::fold(reading).value();
  CHECK(journal.effect("pay").status == EffectState::Status::completed);
  CHECK(*journal.effect("pay").result == 101);
  CHECK(journal.effect("another").status == EffectState::Status::intended);
}

TEST_CASE("a gap that the library wrote itself hides no intent", "[effects]") {
  Payer whole;
  REQUIRE_OK(whole.run());
  JournalReading reading = whole.kit.store->read("r", {}).value();
  const Sequence last = reading.info.last;
  reading.records.emplace_back(
      last + 3, RecordKind::gap, WallTime(),
      std::make_shared<const Json>(Json{{"first", last + 1}, {"last", last + 2}}));
  reading.info.last = last + 3;
  CHECK(Journal::fold(reading).value().effect("another").status == EffectState::Status::absent);
}

TEST_CASE("effects of several threads, each with functions of its own, are all undone once",
          "[effects]") {
  Kit kit;
  std::atomic<int> done{0};
  std::atomic<int> undone{0};
  std::atomic<int> found{0};
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread) {
          threads.emplace_back([&, thread] {
            for (int i = 0; i < 25; ++i) {
              const std::string key = std::to_string(thread) + "/" + std::to_string(i);
              const auto lost = attempt.try_effect(
                  key,
                  [&] {
                    ++done;
                    return std::nan("");  // Cannot be stored; reconcile provides the value.
                  },
                  {.reconcile =
                       [&] {
                         ++found;
                         return Reconciled::done(i);
                       },
                   .compensate = [&] { ++undone; }});
              CHECK(lost.has_value());
            }
          });
        }
        for (std::thread& thread : threads) thread.join();
        throw std::runtime_error("timeout");
      },
      answers({RecoveryAction::abort()}), kit.options()};
  CHECK_ERRC(Errc::aborted, agent.run("x"));
  CHECK(done == 100);
  CHECK(found == 100);
  CHECK(undone == 100);
}
