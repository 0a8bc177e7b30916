// SPDX-License-Identifier: MIT
// Waits that outlive the process: until a time, and for signals.
#include "resume/durable.hpp"
#include "triage/operations.hpp"
#include "triage/testing/flaky_store.hpp"

#include <functional>
#include <utility>

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
    CHECK(resumed[0].result.value() == 2);  // Retry: from nothing.
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
  SECTION("one run is gone on with by itself, once, and is told of before it is due") {
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

TEST_CASE("an attempt waits for a signal", "[suspension][signals]") {
  DurableKit kit;
  const WallTime deadline = kit.clock->wall_now() + 2h;
  int calls = 0;
  const auto make = [&](AgentOptions options) {
    return TriageAgent{[&](const std::string&, Attempt& attempt) {
                         ++calls;
                         const auto answer = attempt.wait("approved", deadline);
                         if (calls == 2 && attempt.number() == 2 && !answer) return 0;
                         return answer ? answer->get<int>() : -1;
                       },
                       answers({RecoveryAction::retry()}), std::move(options)};
  };
  const auto agent = make(kit.on_disk());
  SECTION("that was sent before") {
    REQUIRE_OK(agent.signal("r", "approved", 7));
    CHECK(agent.run("x", {.run_id = "r"}).value() == 7);
  }
  SECTION("that comes while the run is put aside") {
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
    CHECK(agent.resume_due().value().empty());
    REQUIRE_OK(agent.signal("r", "approved", 7));
    CHECK(agent.due().value().at(0).signal == "approved");
    CHECK(agent.resume_due().value().at(0).result.value() == 7);
  }
  SECTION("that comes while the attempt polls") {
    const auto polling = make(kit.options());
    kit.clock->on_sleep = [&](TimePoint) {
      if (kit.clock->waits.size() == 5) CHECK(polling.signal("r", "approved", 7));
    };
    CHECK(polling.run("x", {.run_id = "r"}).value() == 7);
  }
  SECTION("that never comes") {
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
    kit.clock->advance(2h);
    CHECK(agent.resume_due().value().at(0).result.value() == 0);
    CHECK(stored_journal(*kit.store, "r").signals().at("approved") == std::nullopt);
  }
}

TEST_CASE("a wait that was answered gives the same answer after a crash", "[suspension][signals]") {
  Kit kit;
  const WallTime deadline = kit.clock->wall_now() + 1min;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("go", deadline);
                            if (attempt.number() == 1) throw std::runtime_error("unknown");
                            return answer ? answer->get<int>() : -1;
                          },
                          answers({RecoveryAction::abort("stop")}), kit.options()};
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  REQUIRE_OK(agent.signal("r", "go", 7));  // Too late: the wait has ended without it.
  CHECK(agent.resume_run("r", {.revive = true}).value() == -1);
}

TEST_CASE("a signal is not sent where nobody knows whether the run has ended",
          "[suspension][signals]") {
  // Says once that the run is still at work: it ends right behind that.
  struct EndsMeanwhile final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    bool asked = false;
    Result<RunInfo> run(const RunId& id) override {
      auto info = ForwardingStore::run(id);
      if (info && !std::exchange(asked, true)) info.value().status = RunStatus::running;
      return info;
    }
  };
  const DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("go", kit.clock->wall_now() + 1h)->get<int>();
                          },
                          answers({RecoveryAction::retry()}), kit.on_disk()};
  REQUIRE_OK(agent.signal("r", "go", 1));
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  kit.break_operation(1);
  CHECK_ERRC(Errc::io, agent.signal("r", "go", 2));
  CHECK_ERRC(Errc::conflict, agent.signal("r", "go", 2));
  EndsMeanwhile racing(kit.durable);
  CHECK_ERRC(Errc::conflict, send_signal(racing, "r", "go", 2));
  EndsMeanwhile taken(kit.durable);
  CHECK(send_signal(taken, "r", "go", 1).has_value());  // It is what the run was answered.
}

TEST_CASE("a signal that the run takes and ends with while it is confirmed was sent",
          "[suspension][signals]") {
  // Lets the run go on right after its journal was read.
  struct EndsBehindReading final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    std::function<void()> go_on{};
    Result<JournalReading> read_newest(const RunId& run) override {
      auto reading = ForwardingStore::read_newest(run);
      if (go_on) std::exchange(go_on, {})();
      return reading;
    }
  };
  const DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("go", kit.clock->wall_now() + 1h)->get<int>();
                          },
                          answers({RecoveryAction::retry()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  EndsBehindReading racing(kit.durable);
  racing.go_on = [&] { CHECK(agent.resume_run("r").value() == 1); };
  REQUIRE_OK(send_signal(racing, "r", "go", 1));
  CHECK_FALSE(racing.go_on);
  CHECK(kit.durable->run("r").value().status == RunStatus::finished);
}

TEST_CASE("a run that goes on after its end keeps its answer, and says so to a second sender",
          "[suspension][signals]") {
  const DurableKit kit;
  Result<void> second = outcome::success();
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("go", kit.clock->wall_now() + 1h);
                            if (attempt.number() == 1) throw std::runtime_error("unknown");
                            second = send_signal(*kit.durable, "r", "go", 2);
                            return answer->get<int>();
                          },
                          answers({RecoveryAction::abort("stop")}), kit.on_disk()};
  REQUIRE_OK(agent.signal("r", "go", 1));
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  CHECK(agent.resume_run("r", {.revive = true}).value() == 1);
  CHECK_ERRC(Errc::conflict, second);
}

TEST_CASE("signals refuse what they cannot keep", "[suspension][signals]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.signal("r", "n", 1));
  REQUIRE_OK(agent.signal("r", "n", 1));
  CHECK_ERRC(Errc::conflict, agent.signal("r", "n", 2));
  CHECK_ERRC(Errc::invalid_argument, agent.signal("r", ""));
  CHECK_ERRC(Errc::invalid_argument, agent.signal("r", std::string(257, 'n')));
  CHECK_ERRC(Errc::invalid_argument, agent.signal("r/s", "n"));
  const TriageAgent bare{&fails_once, answers({RecoveryAction::retry()}), kit.bare()};
  CHECK_ERRC(Errc::not_found, bare.signal("r", "n"));
  const TriageAgent waiting{
      [&](const std::string&, Attempt& attempt) { return attempt.wait("n", WallTime()) ? 1 : 0; },
      answers({RecoveryAction::retry()}), kit.bare()};
  CHECK_ERRC(Errc::unsupported, waiting.run("x"));
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
    CHECK_ERRC(Errc::conflict, agent.signal("r", "paid", 5));  // Nobody waits any more.
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
  AgentOptions options = kit.options();
  options.store = store;
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
