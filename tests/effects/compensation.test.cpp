// SPDX-License-Identifier: MIT
// Undoing effects on ROLLBACK, ABORT and ESCALATE: in reverse order, each once.
#include "support/crashed.hpp"
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

#include <set>

using namespace triage;
using namespace triage::test;

namespace {

// Books a flight, a hotel and a car, then fails in its first attempts.
struct Traveller {
  Kit kit{};
  std::vector<std::string> world{};  // What happened outside, in order.
  std::string broken{};              // The compensation that does not succeed …
  int times_broken = 1'000;          // … this many times.
  std::string doubtful{};            // The effect whose answer gets lost in the first attempt.
  int failing_attempts = 1;
  bool named = false;
  Reconcile reconcile{};
  std::vector<std::pair<std::string, std::uint64_t>> generations{};
  std::set<std::string> keys{};

  void undo(const EffectCall& call) {
    if (call.key == broken && times_broken-- > 0) {
      world.push_back("failed to undo " + call.key);
      throw EffectNotDone("the office is closed");
    }
    CHECK(call.result == "booked " + call.key);
    CHECK(call.deadline == kit.clock->now() + std::chrono::seconds(30));
    keys.insert(call.idempotency_key);
    world.push_back("undo " + call.key);
  }
  void book(Attempt& attempt, const std::string& what) {
    attempt.record_step({.action = "book " + what});
    EffectOptions how{.reconcile = reconcile,
                      .compensate = [this](const EffectCall& call) { undo(call); }};
    if (named) how.compensate = "cancel";
    const bool loses_answer = what == doubtful && attempt.number() == 1;
    const auto booked = attempt.effect(
        what, {{"what", what}},
        [&](const EffectCall& call) {
          world.push_back("book " + what);
          generations.emplace_back(what, call.generation);
          keys.insert(call.idempotency_key);
          if (loses_answer) throw std::runtime_error("timeout");
          return "booked " + what;
        },
        how);
    CHECK(booked == "booked " + what);
    attempt.update_state({{what, true}});
  }
  int operator()(const std::string&, Attempt& attempt) {
    for (const char* what : {"flight", "hotel", "car"}) {
      if (!attempt.state().contains(what)) book(attempt, what);
      if (std::string(what) == "flight") attempt.checkpoint("flown").value();
    }
    if (attempt.number() <= failing_attempts) throw std::runtime_error("timeout");
    return static_cast<int>(attempt.state().size());
  }
  AgentOptions options(std::shared_ptr<CheckpointStore> store = nullptr) {
    AgentOptions all = kit.options();
    if (store) all.store = std::move(store);
    all.compensations["cancel"] = [this](const EffectCall& call) { undo(call); };
    return all;
  }
  Result<int> run(RecoveryAction action, AgentOptions options) {
    const TriageAgent agent{
        [this](const std::string& task, Attempt& attempt) { return (*this)(task, attempt); },
        answers({std::move(action)}), std::move(options)};
    return agent.run_or_resume("r", "x", {.revive = true});
  }
  Result<int> run(RecoveryAction action) { return run(std::move(action), options()); }
  [[nodiscard]] EffectState::Status status(const std::string& key) const {
    return stored_journal(*kit.store, "r").effects().at(key).status;
  }
};

RecoveryAction to_flown() {
  return RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "flown"});
}

using Names = std::vector<std::string>;
using Status = EffectState::Status;

}  // namespace

TEST_CASE("a rollback undoes what happened after its target, newest first, and it runs again",
          "[compensation]") {
  Traveller traveller;
  traveller.named = GENERATE(true, false);
  AgentOptions options = traveller.options();
  SECTION("with a store") {}
  SECTION("without one") { options.store = nullptr; }
  const auto done = traveller.run(to_flown(), options);
  CHECK(done.value() == 3);
  CHECK(traveller.world == Names{"book flight", "book hotel", "book car", "undo car", "undo hotel",
                                 "book hotel", "book car"});
  using Generations = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(traveller.generations ==
        Generations{{"flight", 1}, {"hotel", 1}, {"car", 1}, {"hotel", 2}, {"car", 2}});
  CHECK(traveller.keys.size() == 7);  // Each call has its own idempotency key.
  CHECK(traveller.kit.log->count(EventKind::compensation_started) == 2);
  CHECK(traveller.kit.log->count(EventKind::compensation_completed) == 2);
}

TEST_CASE("an abort and an escalation undo everything", "[compensation]") {
  Traveller traveller;
  traveller.named = GENERATE(true, false);
  const bool aborts = GENERATE(true, false);
  const auto result =
      traveller.run(aborts ? RecoveryAction::abort("enough") : RecoveryAction::escalate());
  CHECK_ERRC(aborts ? Errc::aborted : Errc::escalated, result);
  CHECK(traveller.world ==
        Names{"book flight", "book hotel", "book car", "undo car", "undo hotel", "undo flight"});
  for (const char* key : {"flight", "hotel", "car"}) {
    CHECK(traveller.status(key) == Status::compensated);
  }
}

TEST_CASE("each of the three can be switched off", "[compensation]") {
  Traveller traveller;
  AgentOptions options = traveller.options();
  options.compensation = {.on_rollback = false, .on_abort = false, .on_escalate = false};
  const auto action =
      GENERATE(RecoveryAction::abort("enough"), RecoveryAction::escalate(), to_flown());
  const auto result = traveller.run(action, options);
  CHECK(result.has_value() == (action.kind == RecoveryAction::Kind::rollback));
  CHECK(traveller.world == Names{"book flight", "book hotel", "book car"});
}

TEST_CASE("a retry undoes nothing and books nothing twice", "[compensation]") {
  Traveller traveller;
  CHECK(traveller.run(RecoveryAction::retry()).value() == 3);
  CHECK(traveller.world == Names{"book flight", "book hotel", "book car"});
}

TEST_CASE("a compensation that did not happen is tried again, with growing waits",
          "[compensation]") {
  Traveller traveller;
  traveller.broken = "hotel";
  traveller.times_broken = 2;
  CHECK_ERRC(Errc::aborted, traveller.run(RecoveryAction::abort("enough")));
  CHECK(traveller.world == Names{"book flight", "book hotel", "book car", "undo car",
                                 "failed to undo hotel", "failed to undo hotel", "undo hotel",
                                 "undo flight"});
  using std::chrono::seconds;
  CHECK(traveller.kit.clock->waits == std::vector<Duration>{seconds(1), seconds(2)});
  CHECK(traveller.status("hotel") == Status::compensated);
}

TEST_CASE("a compensation that fails for good is reported beside the failure, not instead of it",
          "[compensation]") {
  Traveller traveller;
  traveller.broken = "hotel";
  const auto result = traveller.run(RecoveryAction::abort("enough"));
  CHECK_ERRC(Errc::aborted, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("enough") && ContainsSubstring("hotel") &&
                                        ContainsSubstring("the office is closed"));
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->text == "timeout");
  REQUIRE(result.error().failure()->notes.size() == 1);
  CHECK_THAT(result.error().failure()->notes[0], ContainsSubstring("hotel"));
  CHECK(traveller.kit.log->count(EventKind::compensation_failed) == 1);
  // The others are undone nevertheless, and this one is still in place.
  CHECK(traveller.world.back() == "undo flight");
  CHECK(traveller.status("hotel") == Status::completed);
  CHECK(traveller.status("flight") == Status::compensated);
}

TEST_CASE("a rollback goes on when a compensation fails: the effect keeps its result",
          "[compensation]") {
  Traveller traveller;
  traveller.broken = "car";
  CHECK(traveller.run(to_flown()).value() == 3);
  const auto& world = traveller.world;
  CHECK(std::count(world.begin(), world.end(), "book car") == 1);
  CHECK(std::count(world.begin(), world.end(), "book hotel") == 2);
}

TEST_CASE("waits between the calls of a compensation end with the run's deadline",
          "[compensation]") {
  Traveller traveller;
  traveller.broken = "hotel";
  const TriageAgent agent{
      [&](const std::string& task, Attempt& attempt) { return traveller(task, attempt); },
      answers({RecoveryAction::abort()}), traveller.options()};
  const TimePoint deadline = traveller.kit.clock->now() + std::chrono::milliseconds(1500);
  CHECK_ERRC(Errc::aborted, agent.run("x", {.deadline = deadline}));
  CHECK(traveller.kit.clock->now() == deadline);
}

TEST_CASE("an effect in doubt is reconciled before anything is undone", "[compensation]") {
  Traveller traveller;
  traveller.doubtful = "car";
  SECTION("it happened: it is undone like the others") {
    traveller.reconcile = [](const EffectCall& call) {
      return Reconciled::done("booked " + call.key);
    };
    CHECK_ERRC(Errc::aborted, traveller.run(RecoveryAction::abort("enough")));
    CHECK(traveller.world ==
          Names{"book flight", "book hotel", "book car", "undo car", "undo hotel", "undo flight"});
  }
  SECTION("it did not: there is nothing to undo") {
    traveller.reconcile = [] { return Reconciled::not_done(); };
    CHECK_ERRC(Errc::aborted, traveller.run(RecoveryAction::abort("enough")));
    CHECK(traveller.world ==
          Names{"book flight", "book hotel", "book car", "undo hotel", "undo flight"});
  }
  SECTION("nobody knows: nothing is undone and the run escalates") {
    if (GENERATE(true, false)) traveller.reconcile = [] { return Reconciled::unknown(); };
    const auto action =
        GENERATE(RecoveryAction::abort("enough"), RecoveryAction::escalate(), to_flown());
    const auto result = traveller.run(action);
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("car") && ContainsSubstring("timeout") &&
                                          ContainsSubstring("nothing was undone"));
    CHECK(traveller.world == Names{"book flight", "book hotel", "book car"});
    CHECK(traveller.kit.store->run("r").value().status == RunStatus::escalated);
  }
}

TEST_CASE("an effect in doubt that has no compensation does not keep others from being undone",
          "[compensation]") {
  Kit kit;
  Names world;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.effect("flight", [] {},
                                           {.compensate = [&] { world.push_back("undo flight"); }});
                            attempt.effect("mail", []() { throw std::runtime_error("timeout"); });
                          },
                          answers({RecoveryAction::abort()}), kit.options()};
  CHECK_ERRC(Errc::aborted, agent.run("x"));
  CHECK(world == Names{"undo flight"});
}

TEST_CASE("a compensation gets the result as its own type", "[compensation]") {
  Kit kit;
  int refunded = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.effect(
                                "pay", [] { return 42; },
                                {.compensate = [&](int receipt) { refunded = receipt; }});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::abort()}), kit.options()};
  CHECK_ERRC(Errc::aborted, agent.run("x"));
  CHECK(refunded == 42);
}

TEST_CASE("a store that fails at the intent keeps a compensation from running", "[compensation]") {
  Traveller traveller;
  const auto store = std::make_shared<FlakyStore>(traveller.kit.store);
  AgentOptions options = traveller.options(store);
  options.hooks.on_recovery = [&](const FailureContext&, const RecoveryAction&) {
    store->break_down();
  };
  const auto result = traveller.run(RecoveryAction::abort("enough"), options);
  CHECK_ERRC(Errc::io, result);  // The run has a name, and its end is not stored.
  CHECK_THAT(result.error().detail, ContainsSubstring("enough"));
  CHECK_THAT(result.error().detail, ContainsSubstring("the store failed"));
  CHECK(traveller.world == Names{"book flight", "book hotel", "book car"});
}

TEST_CASE("options of compensations are checked", "[compensation]") {
  Kit kit;
  AgentOptions options = kit.options();
  SECTION("timeout") { options.compensation.timeout = Duration(0); }
  SECTION("max_attempts") { options.compensation.max_attempts = GENERATE(0, 101); }
  SECTION("delay") { options.compensation.delay = Duration(-1); }
  SECTION("a name without a function") { options.compensations["refund"] = Compensation(); }
  SECTION("an empty name") {
    options.reconciliations[""] = [] { return Reconciled::not_done(); };
  }
  const TriageAgent agent{[](const std::string&) {}, answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::invalid_argument, agent.run("x"));
}

// --- The process dies.

TEST_CASE("a crash at every record of a run with compensations: each effect is undone once",
          "[compensation]") {
  const auto action =
      GENERATE(RecoveryAction::abort("enough"), RecoveryAction::escalate(), to_flown());
  Traveller whole;
  whole.named = true;
  static_cast<void>(whole.run(action));
  const Sequence last = whole.kit.store->run("r").value().last;
  const JournalReading reading = whole.kit.store->read("r", {}).value();
  int in_doubt = 0;
  for (Sequence cut = 2; cut < last; ++cut) {
    const auto crashed = crashed_after(*whole.kit.store, "r", cut);
    const auto at = reading.records[cut - 1].kind();
    const bool inside =
        at == RecordKind::effect_intended || at == RecordKind::compensation_intended;
    INFO("cut after record " << cut << ", " << to_string(at));
    Traveller traveller;
    traveller.named = true;
    traveller.failing_attempts = 0;
    const auto resumed = traveller.run(action, traveller.options(crashed));
    if (inside) {
      // The outcome is unknown, so nothing is done on a guess.
      CHECK_ERRC(Errc::in_doubt, resumed);
      ++in_doubt;
      continue;
    }
    REQUIRE_OK(resumed);
    CHECK(resumed.value() == 3);
    // Over both processes: nothing is booked twice at the same time, nothing undone twice.
    std::map<std::string, int> standing;
    for (Sequence seq = 1; seq <= cut; ++seq) {
      const Record& record = reading.records[seq - 1];
      if (record.kind() == RecordKind::step) continue;
      const std::string key = record.body().value().value("key", "");
      if (record.kind() == RecordKind::effect_completed) ++standing[key];
      if (record.kind() == RecordKind::compensation_completed) --standing[key];
    }
    for (const std::string& line : traveller.world) {
      if (line.starts_with("book ")) ++standing[line.substr(5)];
      if (line.starts_with("undo ")) --standing[line.substr(5)];
      for (const auto& [key, count] : standing) CHECK((count == 0 || count == 1));
    }
    for (const char* key : {"flight", "hotel", "car"}) CHECK(standing[key] == 1);
  }
  CHECK(in_doubt >= 3);
}

TEST_CASE("what a process had begun to undo is finished by the next one, in order",
          "[compensation]") {
  Traveller whole;
  whole.named = true;
  CHECK_ERRC(Errc::aborted, whole.run(RecoveryAction::abort("enough")));
  const auto crashed =
      crashed_after(*whole.kit.store, "r",
                    sequence_of(*whole.kit.store, "r", RecordKind::compensation_completed, 1));
  Traveller next;
  next.named = true;
  next.failing_attempts = 0;
  CHECK(next.run(RecoveryAction::abort("enough"), next.options(crashed)).value() == 3);
  CHECK(next.world == Names{"undo hotel", "undo flight", "book flight", "book hotel", "book car"});
  CHECK(next.generations.back().second == 2);
}

TEST_CASE("a compensation that was cut off is settled by its own reconcile", "[compensation]") {
  Traveller whole;
  whole.named = true;
  CHECK_ERRC(Errc::aborted, whole.run(RecoveryAction::abort("enough")));
  const auto crashed =
      crashed_after(*whole.kit.store, "r",
                    sequence_of(*whole.kit.store, "r", RecordKind::compensation_intended, 2));
  Traveller next;
  next.named = true;
  next.failing_attempts = 0;
  AgentOptions options = next.options(crashed);
  const bool happened = GENERATE(true, false);
  options.compensations["cancel"] =
      Compensation([&](const EffectCall& call) { next.undo(call); },
                   [&](const EffectCall& call) {
                     CHECK(call.key == "hotel");
                     CHECK(call.result == "booked hotel");
                     return happened ? Reconciled::done() : Reconciled::not_done();
                   });
  CHECK(next.run(RecoveryAction::abort("enough"), options).value() == 3);
  Names expected{"undo flight", "book flight", "book hotel", "book car"};
  if (!happened) expected.insert(expected.begin(), "undo hotel");
  CHECK(next.world == expected);
}

TEST_CASE("resuming an escalated run does not go on from a state whose effects were undone",
          "[compensation]") {
  Traveller traveller;
  traveller.named = GENERATE(true, false);
  CHECK_ERRC(Errc::escalated, traveller.run(RecoveryAction::escalate()));
  traveller.world.clear();
  CHECK(traveller.run(RecoveryAction::escalate()).value() == 3);
  CHECK(traveller.world == Names{"book flight", "book hotel", "book car"});
  CHECK(traveller.kit.log->count(EventKind::rolled_back) == 1);
}

TEST_CASE("a function without a name is lost with its process, and that is said",
          "[compensation]") {
  Traveller whole;
  CHECK_ERRC(Errc::aborted, whole.run(RecoveryAction::abort("enough")));
  const auto crashed = crashed_after(*whole.kit.store, "r",
                                     sequence_of(*whole.kit.store, "r", RecordKind::action_taken));
  Traveller next;
  next.failing_attempts = 0;
  CHECK(next.run(RecoveryAction::abort("enough"), next.options(crashed)).value() == 3);
  CHECK(next.world.empty());  // Still in place, and their results are returned again.
  CHECK_THAT(next.kit.log->last(EventKind::compensation_failed).text,
             ContainsSubstring("register it by name"));
}
