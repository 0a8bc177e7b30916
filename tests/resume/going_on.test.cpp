// SPDX-License-Identifier: MIT
// What a run has when it continues, by any path, and which runs do not continue by themselves.
#include "resume/durable.hpp"
#include "run/terms.hpp"
#include "triage/operations.hpp"

#include <limits>
#include <utility>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

// Sleeps for two hours in its first attempt, then always fails.
struct Sleeper {
  WallTime when;
  int calls = 0;

  int operator()(const std::string&, Attempt& attempt) {
    ++calls;
    attempt.sleep_until(when);
    throw std::runtime_error("timeout");
  }
};

// A store whose process dies: nothing reaches it afterwards.
struct Mortal {
  std::shared_ptr<MemoryStore> grave = MemoryStore::create();

  // Keeps the run's records so far, as if its process had died now.
  void bury(CheckpointStore& store, const RunId& run) const {
    const JournalReading reading = store.read(run, {}).value();
    RunInfo info = reading.info;
    info.status = RunStatus::running;
    const Lease lease = grave->start(info, reading.records).value();
    REQUIRE_OK(grave->release(lease));
  }
};

}  // namespace

TEST_CASE("limits of a run hold after a long sleep", "[going on]") {
  DurableKit kit;
  Sleeper sleeper{kit.clock->wall_now() + 2h};
  const TriageAgent agent{
      [&](const std::string& task, Attempt& attempt) { return sleeper(task, attempt); }, retrying(),
      kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r", .limits = Limits{.max_attempts = 2}}));
  kit.clock->advance(2h);
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK_ERRC(Errc::escalated, resumed[0].result);
  CHECK_THAT(resumed[0].result.error().detail, ContainsSubstring("max_attempts (2)"));
  CHECK(sleeper.calls == 3);  // One sleep and two failures.
}

TEST_CASE("the deadline of a run holds after a long sleep and a long wait", "[going on]") {
  DurableKit kit;
  const WallTime when = kit.clock->wall_now() + 2h;
  const bool sleeps = GENERATE(true, false);
  int late = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (sleeps) {
                              attempt.sleep_until(when);
                            } else {
                              static_cast<void>(attempt.wait("go", when));
                            }
                            ++late;
                            return 1;
                          },
                          retrying(), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r", .deadline = kit.clock->now() + 3h}));
  kit.clock->advance(4h);
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK_ERRC(Errc::escalated, resumed[0].result);
  CHECK(late == 0);
}

TEST_CASE("time at work adds up over a long sleep, and the sleep does not count", "[going on]") {
  DurableKit kit;
  std::vector<Duration> elapsed;
  const WallTime when = kit.clock->wall_now() + 2h;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            kit.clock->advance(10min);
                            attempt.sleep_until(when);
                            throw std::runtime_error("timeout");
                          },
                          FailurePolicy().otherwise([&](const FailureContext& context) {
                            elapsed.push_back(context.elapsed);
                            return RecoveryAction::escalate();
                          }),
                          kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x"));
  kit.clock->advance(2h);
  CHECK(agent.resume_due().value().size() == 1);
  CHECK(elapsed == std::vector<Duration>{20min});
}

TEST_CASE("deadline, limits and elapsed time of a run outlive its process", "[going on]") {
  Kit kit;
  const Mortal mortal;
  const bool with_deadline = GENERATE(true, false);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            ++calls;
                            kit.clock->advance(10min);
                            attempt.record_step({.action = "one"});
                            REQUIRE_OK(attempt.checkpoint("here"));
                            if (calls == 1) mortal.bury(*kit.store, "r");
                            throw std::runtime_error("timeout");
                          },
                          retrying(), kit.options()};
  RunOptions options{.run_id = "r"};
  if (with_deadline) {
    options.deadline = kit.clock->now() + 30min;
  } else {
    options.limits = Limits{.max_elapsed = 30min};
  }
  CHECK_ERRC(Errc::escalated, agent.run("x", options));
  REQUIRE(calls == 3);
  kit.clock->advance(with_deadline ? -20min : 10h);  // The next process.
  calls = 1;
  const auto resumed = agent.resume_run("r", {.run = {.store = mortal.grave}});
  CHECK_ERRC(Errc::escalated, resumed);
  CHECK(calls == 3);
  CHECK(resumed.error().failure()->elapsed == 30min);
}

TEST_CASE("a run in memory goes on with the limits and the deadline that decide is given",
          "[going on]") {
  Kit kit;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            kit.clock->advance(1min);
                            throw std::runtime_error("timeout");
                          },
                          answers({asking(), RecoveryAction::retry()}), kit.bare()};
  const std::string token = token_of(agent.run("x"));
  SECTION("limits") {
    CHECK_ERRC(Errc::escalated, agent.decide(token, RecoveryAction::retry(),
                                             {.run = {.limits = Limits{.max_attempts = 3}}}));
    CHECK(calls == 3);
  }
  SECTION("deadline") {
    CHECK_ERRC(Errc::escalated, agent.decide(token, RecoveryAction::retry(),
                                             {.run = {.deadline = kit.clock->now() + 150s}}));
    CHECK(calls == 4);
  }
  SECTION("limits that are not allowed are refused and cost no token") {
    CHECK_ERRC(Errc::invalid_argument,
               agent.decide(token, RecoveryAction::retry(),
                            {.run = {.limits = Limits{.max_attempts = 0}}}));
    CHECK_ERRC(Errc::aborted, agent.decide(token, RecoveryAction::abort()));
  }
}

TEST_CASE("time that a run in memory was suspended does not count as elapsed", "[going on]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.bare()};
  const auto result = agent.run("x", {.limits = Limits{.max_elapsed = 1h}});
  kit.clock->advance(10h);
  const auto aborted = agent.decide(token_of(result), RecoveryAction::abort());
  CHECK_ERRC(Errc::aborted, aborted);
  CHECK(aborted.error().failure()->elapsed == Duration(0));
}

TEST_CASE("time in which a person settles or cancels does not count as elapsed", "[going on]") {
  Kit kit;
  const bool settles = GENERATE(true, false);
  Mortal mortal;
  AgentOptions options = kit.options();
  options.limits = Limits{.max_elapsed = 1h};
  int calls = 0;
  const char* busy = nullptr;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const auto pay = [&] {
                              if (++calls == 1) mortal.bury(*kit.store, "r");
                              return 7;
                            };
                            const auto paid = attempt.try_effect("pay", pay);
                            if (busy) throw std::runtime_error(std::exchange(busy, nullptr));
                            return paid;
                          },
                          retrying(), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  busy = "timeout";
  kit.clock->advance(72h);
  const OperatorOptions now{.who = "ops", .clock = kit.clock};
  if (settles) {
    REQUIRE_OK(settle_effect(*mortal.grave, "r", "pay", {.happened = true, .result = 8}, now));
  } else {
    REQUIRE_OK(settle_effect(*mortal.grave, "r", "pay", {.happened = false}, now));
    kit.clock->advance(72h);
    REQUIRE_OK(cancel_run(*mortal.grave, "r", now));
  }
  kit.clock->advance(72h);
  const auto store = mortal.grave;
  CHECK(agent.resume_run("r", {.run = {.store = store}}).value() == (settles ? 8 : 7));
}

TEST_CASE("a run without a store goes on by itself when its time has come", "[going on]") {
  Kit kit;
  SuspendOptions waiting{.message = "may I?", .until = kit.clock->wall_now() + 1h};
  AgentOptions options = kit.bare();
  SECTION("as it is allowed to") {}
  SECTION("or escalates, if strict idempotency forbids it") { options.strict_idempotency = true; }
  const TriageAgent agent{&fails_once, FailurePolicy().otherwise(suspend(waiting)), options};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  CHECK(agent.resume_due().value().empty());
  CHECK_ERRC(Errc::suspended, agent.run_or_resume("r", "x"));
  kit.clock->advance(1h);
  REQUIRE(agent.due().value().size() == 1);
  CHECK(agent.due().value()[0].run == "r");
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  if (options.strict_idempotency) {
    CHECK_ERRC(Errc::escalated, resumed[0].result);
  } else {
    CHECK(resumed[0].result.value() == 12);
  }
  CHECK(agent.due().value().empty());
  CHECK_ERRC(Errc::not_found, agent.decide(token_of(result), RecoveryAction::retry()));
}

TEST_CASE("resume_due tells of runs whose agent has changed, until the change is accepted",
          "[going on]") {
  DurableKit kit;
  const auto make = [&](const std::string& version) {
    AgentOptions options = kit.on_disk();
    options.version = version;
    return TriageAgent{&fails_once, answers({RecoveryAction::retry("later", 1h)}), options};
  };
  CHECK_ERRC(Errc::suspended, make("1").run("x", {.run_id = "r"}));
  kit.clock->advance(2h);
  const auto changed = make("2");
  for (int i = 0; i < 2; ++i) {
    const auto refused = changed.resume_due().value();
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].run == "r");
    CHECK_ERRC(Errc::conflict, refused[0].result);
    CHECK_THAT(refused[0].result.error().detail, ContainsSubstring("fingerprint"));
  }
  CHECK_ERRC(Errc::conflict, changed.run_or_resume("r", "x"));
  SECTION("for all that are due") {
    const auto taken = changed.resume_due({.accept_changed = true}).value();
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].result.value() == 2);
  }
  SECTION("for one of them") {
    CHECK(changed.run_or_resume("r", "x", {.accept_changed = true}).value() == 2);
  }
}

TEST_CASE("a suspension that on_escalate asks for goes past no limit", "[going on]") {
  DurableKit kit;
  int calls = 0;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.on_disk() : kit.bare();
  options.limits.max_attempts = 2;
  options.hooks.on_escalate = [&](const FailureContext&) {
    RecoveryAction action = RecoveryAction::suspend("what now?");
    action.until = kit.clock->wall_now() + 1h;
    return std::optional(action);
  };
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            throw std::runtime_error("timeout");
                          },
                          retrying(), options};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  CHECK(calls == 2);
  SECTION("when its time has come, the run escalates") {
    kit.clock->advance(1h);
    const auto resumed = agent.resume_due().value();
    REQUIRE(resumed.size() == 1);
    CHECK_ERRC(Errc::escalated, resumed[0].result);
    CHECK_THAT(resumed[0].result.error().detail, ContainsSubstring("max_attempts (2)"));
    CHECK(calls == 2);
    CHECK(agent.due().value().empty());
  }
  SECTION("somebody may still decide before") {
    CHECK_ERRC(Errc::suspended, agent.decide(token_of(result), RecoveryAction::retry()));
    CHECK(calls == 3);
  }
}

TEST_CASE("an effect that is asked for after the deadline does not run", "[going on]") {
  Kit kit;
  int done = 0;
  bool tries = GENERATE(true, false);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            attempt.effect("early", [&] { ++done; });
                            kit.clock->advance(2h);
                            attempt.effect("early", [&] { ++done; });  // Its result is recorded.
                            if (!tries) {
                              attempt.effect("late", [&] { ++done; });
                              return 1;
                            }
                            const auto late = attempt.try_effect("late", [&] { ++done; });
                            if (!late) return late.error();
                            return 2;
                          },
                          retrying(), kit.options()};
  const auto result = agent.run("x", {.run_id = "r", .deadline = kit.clock->now() + 1h});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::timeout);
  CHECK(done == 1);
  CHECK_FALSE(stored_journal(*kit.store, "r").effects().contains("late"));
}

TEST_CASE("what strict idempotency forbids when a sleep is over is escalated", "[going on]") {
  DurableKit kit;
  int calls = 0;
  const auto make = [&](bool strict) {
    AgentOptions options = kit.on_disk();
    options.strict_idempotency = strict;
    return TriageAgent{[&](const std::string&, Attempt& attempt) {
                         ++calls;
                         attempt.record_step({.action = "pay"});
                         attempt.sleep_for("a", 1h);
                         return 1;
                       },
                       retrying(), options};
  };
  SECTION("if the run was suspended without it") {
    CHECK_ERRC(Errc::suspended, make(false).run("x"));
    kit.clock->advance(2h);
    const auto resumed = make(true).resume_due().value();
    REQUIRE(resumed.size() == 1);
    CHECK_ERRC(Errc::escalated, resumed[0].result);
    CHECK_THAT(resumed[0].result.error().detail, ContainsSubstring("strict_idempotency"));
  }
  SECTION("with it the attempt waits where it is") { CHECK(make(true).run("x").value() == 1); }
  CHECK(calls == 1);
}

TEST_CASE("a clock that was ages off, or a number that makes no sense, adds no more than a century",
          "[resume]") {
  const auto far = std::numeric_limits<std::int64_t>::max();
  const auto [elapsed, until] = GENERATE_COPY(
      table<std::int64_t, std::int64_t>({{far, 1'000}, {0, far}, {far, far}, {-far, -far}}));
  JournalReading reading{.info = {.id = "r", .last = 2}};
  reading.records.emplace_back(1, RecordKind::run_started, WallTime(std::chrono::milliseconds(-5)),
                               std::make_shared<const Json>(Json{{"elapsed_ns", elapsed}}));
  reading.records.emplace_back(2, RecordKind::usage, WallTime(std::chrono::milliseconds(until)),
                               std::make_shared<const Json>(Json::object()));
  const Duration worked = detail::terms_of(reading).elapsed;
  CHECK(worked >= Duration::zero());
  CHECK(worked <= std::chrono::hours(24 * 36'500));
}
