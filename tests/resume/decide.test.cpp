// SPDX-License-Identifier: MIT
// Decisions about suspended runs in a store: by any process, once, with nothing lost.
#include "resume/durable.hpp"
#include "triage/stores/simple.hpp"
#include "triage/testing/flaky_store.hpp"

#include <functional>
#include <future>
#include <thread>
#include <utility>

using namespace triage;
using namespace triage::test;

TEST_CASE("another agent object decides, and finds the run as it was", "[suspension]") {
  Kit kit;
  const auto policy = [] { return answers({asking()}); };
  std::string token;
  {
    const TriageAgent first{&fails_once, policy(), kit.options()};
    token = token_of(first.run("x", {.run_id = "r"}));
  }
  const TriageAgent second{&fails_once, policy(), kit.options()};
  SECTION("retry starts from nothing") {
    CHECK(second.decide(token, RecoveryAction::retry("go"), {.who = "ops"}).value() == 2);
  }
  SECTION("resume goes on from the newest checkpoint") {
    CHECK(second.decide(token, RecoveryAction::resume(), {.who = "ops"}).value() == 12);
  }
  SECTION("rollback goes to a checkpoint") {
    CHECK(second.decide(token, RecoveryAction::rollback(), {.who = "ops"}).value() == 12);
  }
  SECTION("abort hands over the failure as it was") {
    const auto aborted = second.decide(token, RecoveryAction::abort("no"), {.who = "ops"});
    CHECK_ERRC(Errc::aborted, aborted);
    CHECK(aborted.error().failure()->text == "access_denied");
    CHECK(aborted.error().failure()->type() == FailureType::access_denied);
    CHECK(aborted.error().failure()->classification.confidence == 0.9);
    CHECK(aborted.error().failure()->task == "x");
  }
  SECTION("fallback") {
    CHECK(is_degraded(second.decide(token, RecoveryAction::fallback(7), {.who = "ops"})));
  }
  CHECK(stored_journal(*kit.store, "r").history().at(0).decided_by == "ops");
  CHECK(stored_journal(*kit.store, "r").history().size() == 1);
  CHECK_ERRC(Errc::not_found, second.decide(token, RecoveryAction::retry()));
}

TEST_CASE("usage, limits and the deadline are as they were before the suspension", "[suspension]") {
  Kit kit;
  FailurePolicy policy;
  policy.otherwise(always(asking()));
  const auto make = [&] {
    return TriageAgent{[](const std::string&, Attempt& attempt) -> int {
                         attempt.record_usage({.input_tokens = 600});
                         throw std::runtime_error("access_denied");
                       },
                       policy, kit.options()};
  };
  const TimePoint deadline = kit.clock->now() + std::chrono::hours(1);
  const std::string token = token_of(
      make().run("x", {.run_id = "r", .deadline = deadline, .limits = Limits{.max_tokens = 1000}}));
  SECTION("the limit counts what was used before") {
    const auto result = make().decide(token, RecoveryAction::retry());
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("max_tokens (1000) reached: used 1200"));
  }
  SECTION("nothing begins after the deadline") {
    kit.clock->advance(std::chrono::hours(2));
    const auto result = make().decide(token, RecoveryAction::retry());
    CHECK_ERRC(Errc::escalated, result);
    CHECK(stored_journal(*kit.store, "r").usage().input_tokens == 600);
  }
}

TEST_CASE("an effect that was done before the suspension is not done again", "[suspension]") {
  Kit kit;
  int charged = 0;
  const auto make = [&] {
    return TriageAgent{[&](const std::string&, Attempt& attempt) {
                         const int receipt = attempt.effect("charge", [&] { return ++charged; });
                         if (attempt.number() == 1) throw std::runtime_error("access_denied");
                         return receipt;
                       },
                       answers({asking()}), kit.options()};
  };
  const std::string token = token_of(make().run("x"));
  CHECK(make().decide(token, RecoveryAction::retry()).value() == 1);
  CHECK(charged == 1);
}

TEST_CASE("a token is refused with a typed error, and nothing is lost", "[suspension]") {
  Kit kit;
  RecoveryAction waiting = asking({"retry", "abort"});
  waiting.expires_after = std::chrono::minutes(1);
  const bool stored = GENERATE(true, false);
  const AgentOptions options = stored ? kit.options() : kit.bare();
  const TriageAgent agent{&fails_once, answers({waiting}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  const std::string token = token_of(result);
  CHECK(result.error().suspension()->expires == kit.clock->wall_now() + std::chrono::minutes(1));
  CHECK_ERRC(Errc::not_found, agent.decide(std::string(64, 'f'), RecoveryAction::retry()));
  const auto refused = agent.decide(token, RecoveryAction::rollback());
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("retry, abort"));
  CHECK_ERRC(Errc::invalid_argument,
             agent.decide(token, RecoveryAction::retry(), {.who = std::string(257, 'x')}));
  SECTION("it still works") {
    CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
    CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::retry()));
  }
  SECTION("until it expires") {
    kit.clock->advance(std::chrono::minutes(1));
    CHECK_ERRC(Errc::conflict, agent.decide(token, RecoveryAction::retry()));
    if (stored) CHECK(kit.store->run("r").value().status == RunStatus::suspended);
    if (stored) CHECK(agent.resume_run("r").value() == 12);
  }
}

TEST_CASE("a decision that cannot be carried out does not use up its token", "[suspension]") {
  Kit kit;
  const AgentOptions options = GENERATE(true, false) ? kit.options() : kit.bare();
  const TriageAgent agent{&fails_once, answers({asking()}), options};
  RunOptions limited{.run_id = "r"};
  limited.deadline = kit.clock->now() + std::chrono::seconds(5);
  const std::string token = token_of(agent.run("x", limited));
  const auto refused = agent.decide(
      token, RecoveryAction::rollback({.kind = RollbackTarget::Kind::back, .back = 50}));
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("this run has only 1 checkpoint"));
  const auto late = agent.decide(token, RecoveryAction::retry("", std::chrono::hours(1)));
  CHECK_ERRC(Errc::invalid_argument, late);
  CHECK_THAT(late.error().detail, ContainsSubstring("after the deadline in 5 s"));
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("a token is bound to its agent", "[suspension]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  AgentOptions options = kit.options();
  options.name = "other";
  const TriageAgent other{&fails_once, answers({asking()}), options};
  const auto refused = other.decide(token, RecoveryAction::retry(), {.accept_changed = true});
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("of another agent"));
  options = kit.options();
  options.version = "2";
  const TriageAgent newer{&fails_once, answers({asking()}), options};
  CHECK_ERRC(Errc::conflict, newer.decide(token, RecoveryAction::retry()));
  CHECK(newer.decide(token, RecoveryAction::retry(), {.accept_changed = true}).value() == 2);
}

TEST_CASE("a claim whose process died before its decision was durable costs no token",
          "[suspension]") {
  DurableKit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  const int fault = GENERATE(1, 2, 3);  // The lease, the journal, the decision.
  kit.break_operation(fault);
  CHECK_ERRC(Errc::io, agent.decide(token, RecoveryAction::retry()));
  kit.durable->repair();
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("run_or_resume does not go past a suspension that it cannot look at", "[suspension]") {
  DurableKit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  kit.break_operation(1);
  CHECK_ERRC(Errc::io, agent.run_or_resume("r", "x"));
  kit.durable->repair();
  CHECK_ERRC(Errc::suspended, agent.run_or_resume("r", "x"));
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("a decision whose acknowledgement got lost is carried out once", "[suspension]") {
  DurableKit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  kit.break_operation(3, FlakyStore::Fault::forgets_to_answer);
  CHECK_ERRC(Errc::io, agent.decide(token, RecoveryAction::resume(), {.who = "ops"}));
  kit.durable->repair();
  CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::retry()));
  CHECK(agent.resume_run("r").value() == 12);
  CHECK(stored_journal(*kit.durable, "r").history().at(0).decided_by == "ops");
}

TEST_CASE("a decision that was durable before its process died is carried out later",
          "[suspension]") {
  Kit kit;
  const auto make = [&] { return TriageAgent{&fails_once, answers({asking()}), kit.options()}; };
  const std::string token = token_of(make().run("x", {.run_id = "r"}));
  // The state in which decide() leaves it when killed after its record.
  const Lease lease = kit.store->acquire("r").value();
  Journal journal = stored_journal(*kit.store, "r");
  const Record record = journal.add(RecordKind::resumed, kit.clock->wall_now(),
                                    Json{{"to", 0},
                                         {"reason", "decided"},
                                         {"action", "abort"},
                                         {"decision", {{"kind", "abort"}, {"message", "no"}}},
                                         {"by", "ops"}});
  REQUIRE_OK(kit.store->append(lease, {&record, 1}, RunStatus::running));
  REQUIRE_OK(kit.store->release(lease));
  CHECK_ERRC(Errc::conflict, make().decide(token, RecoveryAction::retry()));
  const auto aborted = make().resume_run("r");
  CHECK_ERRC(Errc::aborted, aborted);
  CHECK(aborted.error().failure()->text == "access_denied");
  CHECK(stored_journal(*kit.store, "r").history().at(0).decided_by == "ops");
}

TEST_CASE("of many threads that use one token exactly one wins", "[suspension]") {
  for (int round = 0; round < 100; ++round) {
    Kit kit;
    std::atomic<int> calls{0};
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                              if (attempt.number() == 1) throw std::runtime_error("unknown");
                              return ++calls;
                            },
                            answers({asking()}), kit.options()};
    const std::string token = token_of(agent.run("x"));
    std::atomic<int> won{0};
    std::atomic<int> others{0};
    const auto decide = [&] {
      const auto result = agent.decide(token, RecoveryAction::retry());
      if (result) ++won;
      const bool lost =
          !result && (result.error().code == Errc::not_found || result.error().code == Errc::busy);
      if (lost) ++others;
    };
    std::thread a(decide);
    std::thread b(decide);
    a.join();
    b.join();
    CHECK(won == 1);
    CHECK(others == 1);
    CHECK(calls == 1);
  }
}

TEST_CASE("a run with a store of its own is decided upon there", "[suspension]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.bare()};
  const std::string token = token_of(agent.run("x", {.run_id = "r", .store = kit.store}));
  CHECK(agent.decide(token, RecoveryAction::resume()).value() == 12);
}

TEST_CASE("a used token of a run with a store of its own is forgotten", "[suspension]") {
  Kit kit;
  const auto store = testing::FlakyStore::around(kit.store);
  const TriageAgent agent{&fails_once, answers({asking()}), kit.bare()};
  const std::string token = token_of(agent.run("x", {.run_id = "r", .store = store}));
  CHECK(agent.decide(token, RecoveryAction::resume()).value() == 12);
  const auto before = store->operations();
  CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::resume()));
  CHECK(store->operations() == before);
}

TEST_CASE("a run without a store is let go when its token has expired", "[suspension]") {
  Kit kit;
  RecoveryAction waiting = asking();
  waiting.expires_after = std::chrono::minutes(1);
  const bool goes_on = GENERATE(true, false);
  if (goes_on) waiting.until = kit.clock->wall_now() + std::chrono::minutes(5);
  const TriageAgent agent{&fails_once, answers({waiting}), kit.bare()};
  const std::string token = token_of(agent.run("x"));
  kit.clock->advance(std::chrono::minutes(2));
  const auto refused = agent.decide(token, RecoveryAction::retry());
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, !ContainsSubstring("resume_run"));
  const std::string second = token_of(agent.run("y"));
  CHECK_ERRC(goes_on ? Errc::conflict : Errc::not_found,
             agent.decide(token, RecoveryAction::retry()));
  CHECK(agent.decide(second, RecoveryAction::retry()).value() == 2);
  kit.clock->advance(std::chrono::minutes(5));
  CHECK(agent.due().value().size() == (goes_on ? 1 : 0));
}

TEST_CASE("run_or_resume does not go past a decision", "[suspension]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  const auto waiting = agent.run_or_resume("r", "x");
  CHECK_ERRC(Errc::suspended, waiting);
  CHECK(waiting.error().suspension()->token.empty());
  CHECK(waiting.error().suspension()->message == "may I?");
  CHECK(agent.decide(token, RecoveryAction::resume()).value() == 12);
  CHECK(agent.run_or_resume("r", "x").value() == 12);
}

TEST_CASE("a decision that strict idempotency forbids is refused and costs no token",
          "[suspension]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.options() : kit.bare();
  options.strict_idempotency = true;
  const TriageAgent agent{&fails_once, answers({asking()}), options};
  const std::string token = token_of(agent.run("x"));
  for (const auto& action : {RecoveryAction::retry(), RecoveryAction::replan(),
                             RecoveryAction::rollback(), RecoveryAction::resume()}) {
    const auto refused = agent.decide(token, action);
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring("not marked idempotent are step 0"));
  }
  CHECK_ERRC(Errc::aborted, agent.decide(token, RecoveryAction::abort("no")));
}

namespace {

struct Changed {
  int n = 0;
};
void to_json(Json& json, const Changed& task) { json = task.n; }
void from_json(const Json& json, Changed&) {
  if (json == "odd") throw 42;  // As a program's own conversion may.
  throw std::runtime_error("it has no field n");
}

// A task whose conversion does something else first.
struct Reporting {
  static inline std::function<void()> on_read{};
};
void to_json(Json& json, const Reporting&) { json = 0; }
void from_json(const Json&, Reporting&) {
  if (Reporting::on_read) std::exchange(Reporting::on_read, nullptr)();
}

}  // namespace

TEST_CASE("a task's conversion keeps no other run waiting", "[suspension]") {
  Kit kit;
  const TriageAgent agent{
      [](const Reporting&, Attempt& attempt) { return fails_once("", attempt); },
      answers({asking()}), kit.bare()};
  const std::string token = token_of(agent.run(Reporting{}));
  std::future<Result<std::vector<DueRun>>> other;
  Reporting::on_read = [&] {
    other = std::async(std::launch::async, [&] { return agent.due(); });
    CHECK(other.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
  };
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
  Reporting::on_read = nullptr;
}

TEST_CASE("a task that does not convert costs no token, and counts as no death", "[suspension]") {
  Kit kit;
  const std::string stored = GENERATE("x", "odd");
  const auto policy = [] { return answers({asking()}); };
  const TriageAgent before{&fails_once, policy(), kit.options()};
  const TriageAgent after{[](const Changed&) { return 1; }, policy(), kit.options()};
  const auto last = [&] { return kit.store->run("r").value().last; };
  SECTION("of a run that waits for a decision") {
    const std::string token = token_of(before.run(stored, {.run_id = "r"}));
    const Sequence suspended = last();
    for (int i = 0; i < 5; ++i) {
      CHECK_ERRC(Errc::conflict, after.decide(token, RecoveryAction::retry()));
      CHECK_ERRC(Errc::conflict, after.resume_run("r"));
    }
    CHECK(last() == suspended);
    CHECK(before.decide(token, RecoveryAction::retry()).value() == 2);
  }
  SECTION("of a run that waits in memory") {
    AgentOptions options = kit.bare();
    const TriageAgent here{[&](const Changed& task, Attempt& attempt) {
                             return fails_once(std::to_string(task.n), attempt);
                           },
                           policy(), options};
    const std::string token = token_of(here.run(Changed{}, {.run_id = "r"}));
    CHECK_ERRC(Errc::conflict, here.decide(token, RecoveryAction::retry()));
    CHECK_ERRC(Errc::conflict, here.decide(token, RecoveryAction::retry()));
  }
  SECTION("that is forked") {
    REQUIRE(token_of(before.run(stored, {.run_id = "r"})) != "");
    const std::string parent = to_string(kit.store->checkpoints("r").value().back().id);
    CHECK_ERRC(Errc::conflict, after.fork(parent, {.label = "b"}));
    CHECK_ERRC(Errc::conflict, before.fork(parent, {.label = "b", .task = Json(7)}));
    CHECK(kit.store->runs({}).value().size() == 1);
  }
}
