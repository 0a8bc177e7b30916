// SPDX-License-Identifier: MIT
// Waits that outlive the process: until a time.
#include "resume/durable.hpp"
#include "triage/testing/flaky_store.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("a wait longer than the limit suspends the run until then", "[suspension][due]") {
  DurableKit kit;
  const TriageAgent agent{&fails_once, answers({RecoveryAction::retry("later", 1h)}),
                          kit.on_disk()};
  const WallTime begin = kit.clock->wall_now();
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  REQUIRE(result.error().suspension()->until);
  CHECK(*result.error().suspension()->until >= begin + 1h);
  CHECK(kit.clock->waits.empty());
  CHECK(agent.due().value().empty());
  CHECK(agent.resume_due().value().empty());
  SECTION("it goes on when it is due, with the action that was chosen") {
    kit.clock->advance(1h + 2ms);
    REQUIRE(agent.due().value().size() == 1);
    CHECK(agent.due().value().at(0).run == "r");
    const auto resumed = agent.resume_due().value();
    REQUIRE(resumed.size() == 1);
    CHECK(resumed[0].result.value() == 2);  // Retry: from the start.
    CHECK(agent.due().value().empty());
  }
  SECTION("what is due within a second is waited for, and not begun early") {
    kit.clock->advance(1h - 500ms);
    const auto resumed = agent.resume_due().value();
    REQUIRE(resumed.size() == 1);
    CHECK(resumed[0].result.value() == 2);
    CHECK(kit.clock->wall_now() >= begin + 1h);
    CHECK(kit.clock->waits.size() == 1);
  }
  SECTION("one run is continued by itself, once, and is told of before it is due") {
    CHECK(agent.due(59min).value().empty());
    const DueRun run = agent.due(2h).value().at(0);
    kit.clock->advance(2h);
    const auto first = agent.resume_due_run(run);
    REQUIRE(first);
    CHECK(first->value() == 2);
    CHECK_FALSE(agent.resume_due_run(run));
  }
  SECTION("somebody may decide before") {
    CHECK(agent.decide(token_of(result), RecoveryAction::resume()).value() == 12);
    kit.clock->advance(2h);
    CHECK(agent.resume_due().value().empty());
  }
  SECTION("run_or_resume waits for it too") {
    CHECK_ERRC(Errc::suspended, agent.run_or_resume("r", "x"));
    kit.clock->advance(2h);
    CHECK(agent.run_or_resume("r", "x").value() == 2);
  }
  SECTION("a token is worth nothing when the run has gone on") {
    kit.clock->advance(2h);
    REQUIRE(agent.resume_due().value().size() == 1);
    CHECK_ERRC(Errc::not_found, agent.decide(token_of(result), RecoveryAction::retry()));
    CHECK(kit.store->list("triage/suspensions", "").value().empty());
  }
}

TEST_CASE("without a durable store, or within the limit, a wait is slept", "[suspension][due]") {
  DurableKit kit;
  const auto delay = GENERATE(Duration(10min), Duration(1h));
  AgentOptions options = delay == Duration(1h) ? kit.options() : kit.on_disk();
  const TriageAgent agent{&fails_once, answers({RecoveryAction::retry("later", delay)}), options};
  CHECK(agent.run("x").value() == 2);
  CHECK(kit.clock->waits == std::vector<Duration>{delay});
}

TEST_CASE("a wait beyond the deadline is escalated, not suspended", "[suspension][due]") {
  DurableKit kit;
  const TriageAgent agent{&fails_once, answers({RecoveryAction::retry("later", 2h)}),
                          kit.on_disk()};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.deadline = kit.clock->now() + 1h}));
}

TEST_CASE("a suspension with a time goes on by itself", "[suspension][due]") {
  Kit kit;
  SuspendOptions waiting{.message = "may I?", .until = kit.clock->wall_now() + 1h};
  int expected = 12;
  SECTION("with resume, if everything is allowed") {}
  SECTION("with the first action that is allowed") {
    waiting.allowed_actions = {"retry", "abort"};
    expected = 2;
  }
  FailurePolicy policy;
  policy.otherwise(suspend(waiting));
  const TriageAgent agent{&fails_once, policy, kit.options()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  kit.clock->advance(1h);
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].result.value() == expected);
}

TEST_CASE("what strict idempotency forbids when it is due is escalated", "[suspension][due]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.strict_idempotency = true;
  FailurePolicy policy;
  policy.otherwise(suspend({.until = kit.clock->wall_now() + 1h}));
  const TriageAgent agent{&fails_once, policy, options};
  CHECK_ERRC(Errc::suspended, agent.run("x"));
  kit.clock->advance(1h);
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK_ERRC(Errc::escalated, resumed[0].result);
  CHECK(agent.due().value().empty());
}

TEST_CASE("runs that are due go on in the order of their times", "[suspension][due]") {
  DurableKit kit;
  std::vector<std::string> order;
  const TriageAgent agent{[&](const std::string& task, Attempt& attempt) -> int {
                            if (attempt.number() == 1) throw std::runtime_error("unknown");
                            order.push_back(task);
                            return 1;
                          },
                          FailurePolicy().otherwise([](const FailureContext& context) {
                            return RecoveryAction::retry("", context.task == "a" ? 3h : 2h);
                          }),
                          kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("a"));
  CHECK_ERRC(Errc::suspended, agent.run("b"));
  kit.clock->advance(4h);
  CHECK(agent.resume_due().value().size() == 2);
  CHECK(order == std::vector<std::string>{"b", "a"});
}

TEST_CASE("an attempt sleeps until a time", "[suspension][due]") {
  DurableKit kit;
  const WallTime when = kit.clock->wall_now() + 2h;
  const bool durable = GENERATE(true, false);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            ++calls;
                            attempt.effect("before", [] {});
                            attempt.sleep_until(when);
                            return attempt.number();
                          },
                          answers({RecoveryAction::abort()}),
                          durable ? kit.on_disk() : kit.options()};
  auto result = agent.run("x", {.run_id = "r"});
  if (durable) {
    CHECK_ERRC(Errc::suspended, result);
    CHECK(result.error().suspension()->until == when);
    CHECK(agent.resume_due().value().empty());
    kit.clock->advance(2h);
    auto resumed = agent.resume_due().value();
    REQUIRE(resumed.size() == 1);
    CHECK(resumed[0].result.value() == 2);
    CHECK(calls == 2);
  } else {
    CHECK(result.value() == 1);
    CHECK(kit.clock->waits == std::vector<Duration>{2h});
  }
}

TEST_CASE("no attempt sleeps beyond its deadline", "[suspension][due]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.sleep_until(kit.clock->wall_now() + 2h);
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  const auto result = agent.run("x", {.deadline = kit.clock->now() + 1h});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::timeout);
  CHECK(kit.clock->waits.empty());
}

TEST_CASE("what is kept of a token or a signal is removed when nobody needs it any more",
          "[suspension][due]") {
  DurableKit kit;
  const auto kept = [&](std::string_view space) {
    return kit.store->list(space, "").value().size();
  };
  SECTION("a token, by a decision") {
    const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
    const std::string token = token_of(agent.run("x"));
    CHECK(kept("triage/suspensions") == 1);
    CHECK(agent.decide(token, RecoveryAction::resume()).value() == 12);
    CHECK(kept("triage/suspensions") == 0);
    CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::resume()));
  }
  SECTION("a token, by going on by hand") {
    const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
    const std::string token = token_of(agent.run("x", {.run_id = "r"}));
    CHECK(agent.resume_run("r").value() == 12);
    CHECK(kept("triage/suspensions") == 0);
    CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::resume()));
  }
  SECTION("a token that has expired, by its use") {
    const TriageAgent agent{&fails_once, FailurePolicy().otherwise(suspend({.expires_after = 1h})),
                            kit.on_disk()};
    const std::string token = token_of(agent.run("x"));
    kit.clock->advance(2h);
    CHECK_ERRC(Errc::conflict, agent.decide(token, RecoveryAction::resume()));
    CHECK(kept("triage/suspensions") == 0);
    CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::resume()));
  }
  SECTION("a signal, by the end of the run") {
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                              const auto value = attempt.wait("paid", kit.clock->wall_now() + 48h);
                              return value ? value->get<int>() : -1;
                            },
                            answers({asking()}), kit.on_disk()};
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
    REQUIRE_OK(agent.signal("r", "paid", 5));
    CHECK(kept("triage/signals") == 1);
    CHECK(agent.resume_due().value().at(0).result.value() == 5);
    CHECK(kept("triage/signals") == 0);
    CHECK(kept("triage/suspensions") == 0);
    CHECK_ERRC(Errc::conflict, agent.signal("r", "paid", 5));  // It is not awaited any more.
  }
  SECTION("a signal of a run that ended without finishing, too, and no second one is taken") {
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                              const auto value = attempt.wait("paid", kit.clock->wall_now() + 48h);
                              if (value) throw std::runtime_error("no");
                              return -1;
                            },
                            answers({RecoveryAction::abort()}), kit.on_disk()};
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
    REQUIRE_OK(agent.signal("r", "paid", 5));
    const auto resumed = agent.resume_due().value();
    CHECK_ERRC(Errc::aborted, resumed.at(0).result);
    CHECK(kept("triage/signals") == 0);
    CHECK_ERRC(Errc::conflict, agent.signal("r", "paid", 6));
  }
  SECTION("a store that refuses to remove changes nothing else") {
    const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
    const std::string token = token_of(agent.run("x"));
    for (int n = 1; n < 12; ++n) {
      INFO("operation " << n);
      kit.break_operation(n);
      const auto result = agent.decide(token, RecoveryAction::resume());
      kit.durable->repair();
      if (result) break;
    }
    CHECK_FALSE(agent.decide(token, RecoveryAction::resume()).has_value());
  }
}

TEST_CASE("a run that waits is left alone although the answer of a lease got lost", "[due]") {
  Kit kit;
  const auto store = testing::FlakyStore::around(kit.store);
  AgentOptions options = kit.with(store);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt&) -> int {
                            ++calls;
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::suspend("ask")}), options};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  store->only({testing::StoreOperation::acquire});
  store->fail_nth(1, testing::FaultPoint::after);
  CHECK_ERRC(Errc::io, agent.resume_run("r"));
  CHECK_FALSE(kit.store->run("r").value().owned);
  CHECK_ERRC(Errc::suspended, agent.run_or_resume("r", "x"));
  CHECK_ERRC(Errc::conflict, agent.run("x", {.run_id = "r"}));
  CHECK(calls == 1);
}

TEST_CASE("a run that is due at the end of time is waited for", "[suspension][due]") {
  const DurableKit kit;
  std::stop_source enough;
  std::vector<TimePoint> until;
  kit.clock->on_sleep = [&](TimePoint when) {
    until.push_back(when);
    enough.request_stop();
  };
  const TriageAgent agent{&fails_once, answers({asking()}), kit.on_disk()};
  const auto never = agent.resume_due_run({.run = "r", .until = WallTime::max()},
                                          {.run = {.stop_token = enough.get_token()}});
  REQUIRE(never);
  CHECK_ERRC(Errc::cancelled, *never);
  REQUIRE(until.size() == 1);
  CHECK(until.front() > kit.clock->now());
}
