// SPDX-License-Identifier: MIT
// Attempts with a time limit.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <condition_variable>
#include <mutex>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

struct Timed {
  std::shared_ptr<testing::SimulatedClock> clock = std::make_shared<testing::SimulatedClock>();
  std::shared_ptr<Random> random = seeded_random(1);  // Shared, so that all run ids differ.
  Kit kit{};
  [[nodiscard]] AgentOptions options(Duration timeout = 10s) const {
    AgentOptions options = kit.options();
    options.clock = clock;
    options.random = random;
    options.attempt_timeout = timeout;
    return options;
  }
  // Without a time limit, and with the classifier that knows deadlines.
  [[nodiscard]] AgentOptions judged() const {
    AgentOptions options = this->options(0s);
    options.classifier = nullptr;
    return options;
  }
};

}  // namespace

TEST_CASE("an attempt that takes too long is asked to stop, and its failure is a timeout",
          "[timeout]") {
  Timed timed;
  std::vector<bool> asked;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            CHECK(attempt.deadline() == timed.clock->now() + 10s);
                            const std::stop_token stop = attempt.stop_token();
                            CHECK_FALSE(stop.stop_requested());
                            timed.clock->advance(attempt.number() == 1 ? 11s : 9s);
                            asked.push_back(stop.stop_requested());
                            if (stop.stop_requested()) throw std::runtime_error("interrupted");
                            return attempt.number();
                          },
                          answers({RecoveryAction::retry()}), timed.options()};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 2);
  CHECK(asked == std::vector<bool>{true, false});
  const auto history = Journal::fold(timed.kit.store->read("r", {}).value()).value().history();
  REQUIRE(history.size() == 1);
  CHECK(history[0].type == FailureType::timeout);
  CHECK(history[0].reason == "attempt_timeout");
}

TEST_CASE("no gate holds a call of an attempt beyond the attempt's time", "[timeout][gates]") {
  Timed timed;
  AgentOptions options = timed.options(5s);
  options.gates = {RateLimiter::create({.permits = 1, .period = 20s, .max_wait = 60s}).value()};
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const auto first = attempt.enter("search");
                            if (!first) return first.error();
                            const TimePoint before = timed.clock->now();
                            const auto second = attempt.enter("search");
                            CHECK_FALSE(second);
                            CHECK(timed.clock->now() == before);
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x").value() == 1);
}

TEST_CASE("a timeout is told with what the attempt said; a type that it names stays", "[timeout]") {
  Timed timed;
  std::optional<FailureType> names;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            timed.clock->advance(10s);
                            return attempt.fail({.text = "I was cut off", .type = names});
                          },
                          answers({RecoveryAction::escalate()}), timed.options()};
  const auto timeout = agent.run("x");
  CHECK_ERRC(Errc::escalated, timeout);
  CHECK_THAT(timeout.error().detail,
             ContainsSubstring("took longer than its 10000 ms; it ended with: I was cut off"));
  names = FailureType::refused;
  CHECK(agent.run("x").error().failure()->type() == FailureType::refused);
}

TEST_CASE("a value that comes late is a value", "[timeout]") {
  Timed timed;
  const TriageAgent agent{[&](const std::string&, Attempt&) {
                            timed.clock->advance(1h);
                            return 7;
                          },
                          answers({RecoveryAction::escalate()}), timed.options()};
  CHECK(agent.run("x").value() == 7);
}

TEST_CASE("waits end, and no effect is begun, when an attempt's time is over", "[timeout]") {
  Timed timed;
  int done = 0;
  const bool waits = GENERATE(true, false);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() > 1) return attempt.number();
                            if (waits) attempt.sleep_for("nap", 5min);
                            timed.clock->advance(10s);
                            attempt.effect("charge", [&] { return ++done; });
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), timed.options()};
  CHECK(agent.run("x").value() == 2);
  CHECK(done == 0);
  CHECK(timed.clock->elapsed() == 10s);
}

TEST_CASE("a nested run has no more time than the attempt around it", "[timeout]") {
  Timed timed;
  bool stopped = false;
  const TriageAgent inner{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            CHECK(attempt.deadline() == timed.clock->now() + 10s);
                            timed.clock->advance(10s);
                            stopped = attempt.stop_token().stop_requested();
                            return attempt.fail({.text = "stopped"});
                          },
                          answers({RecoveryAction::retry()}), timed.options(0s)};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), timed.options()};
  const auto failed = outer.run("x");
  CHECK_ERRC(Errc::escalated, failed);
  CHECK(stopped);
  CHECK(failed.error().failure()->classification.reason == "attempt_timeout");
}

TEST_CASE("the end of an attempt is no deadline for a nested run that waits for a decision",
          "[timeout]") {
  Timed timed;
  AgentOptions nested = timed.options(0s);
  nested.name = "nested";
  const TriageAgent inner{[](const std::string&, Attempt& attempt) -> Result<int> {
                            if (attempt.number() == 1) return attempt.fail({.text = "may I?"});
                            return 5;
                          },
                          answers({RecoveryAction::suspend("look")}), nested};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), timed.options()};
  const auto waiting = outer.run("x");
  CHECK_ERRC(Errc::suspended, waiting);
  timed.clock->advance(1h);
  CHECK(outer.decide(waiting.error().suspension()->token, RecoveryAction::retry()).value() == 5);
}

TEST_CASE("a cancelled run is cancelled, whatever time its attempt had", "[timeout]") {
  Timed timed;
  std::stop_source cancel;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            cancel.request_stop();
                            CHECK(attempt.stop_token().stop_requested());
                            return attempt.fail({.text = "stopped"});
                          },
                          answers({RecoveryAction::retry()}), timed.options()};
  CHECK_ERRC(Errc::cancelled, agent.run("x", {.stop_token = cancel.get_token()}));
  AgentOptions negative = timed.options(Duration(-1));
  const TriageAgent refused{[](int) { return 1; }, FailurePolicy(), negative};
  CHECK_ERRC(Errc::invalid_argument, refused.run(1));
}

TEST_CASE("an attempt is asked to stop by the machine's clock, too", "[timeout]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.clock = real_clock();
  options.attempt_timeout = 1ms;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            std::mutex mutex;
                            std::condition_variable_any never;
                            std::unique_lock lock(mutex);
                            never.wait(lock, attempt.stop_token(), [] { return false; });
                            return attempt.fail({.text = "stopped"});
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x").error().failure()->type() == FailureType::timeout);
}

TEST_CASE("the end of the run's time asks an attempt to stop, and is a timeout, no cancellation",
          "[timeout]") {
  Timed timed;
  const bool by_deadline = GENERATE(true, false);
  int attempts = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            ++attempts;
                            const std::stop_token stop = attempt.stop_token();
                            timed.clock->advance(9s);
                            CHECK_FALSE(attempt.stop_token().stop_requested());
                            timed.clock->advance(1s);
                            CHECK(stop.stop_requested());
                            CHECK(attempt.stop_token().stop_requested());
                            return attempt.fail({.text = "stopped"});
                          },
                          answers({RecoveryAction::retry()}), timed.judged()};
  RunOptions options{.run_id = "r"};
  if (by_deadline) {
    options.deadline = timed.clock->now() + 10s;
  } else {
    options.limits = Limits{.max_elapsed = 10s};
  }
  const auto failed = agent.run("x", options);
  CHECK_ERRC(Errc::escalated, failed);
  CHECK(failed.error().failure()->type() == FailureType::timeout);
  CHECK(timed.kit.store->run("r").value().status == RunStatus::escalated);
  CHECK(attempts == 1);
}

TEST_CASE("a nested run's attempt is asked to stop when the time of the outer run is over",
          "[timeout]") {
  Timed timed;
  bool stopped = false;
  std::optional<Errc> ended;
  const TriageAgent inner{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const std::stop_token stop = attempt.stop_token();
                            timed.clock->advance(10s);
                            stopped = stop.stop_requested();
                            return attempt.fail({.text = "stopped"});
                          },
                          answers({RecoveryAction::retry()}), timed.judged()};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            static_cast<void>(attempt.stop_token());
                            auto result = inner.run(task, {.parent = &attempt});
                            ended = result.error().code;
                            return result;
                          },
                          answers({RecoveryAction::escalate()}), timed.judged()};
  const bool by_deadline = GENERATE(true, false);
  RunOptions options{};
  if (by_deadline) {
    options.deadline = timed.clock->now() + 10s;
  } else {
    options.limits = Limits{.max_elapsed = 10s};
  }
  const auto failed = outer.run("x", options);
  CHECK(stopped);
  CHECK(ended == Errc::escalated);
  CHECK(failed.error().failure()->type() == FailureType::timeout);
}

TEST_CASE("a token that outlives its attempt does not hear of the run's deadline", "[timeout]") {
  Timed timed;
  std::stop_token kept;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const std::stop_token stop = attempt.stop_token();
                            if (attempt.number() == 1) {
                              kept = stop;
                              return attempt.fail({.text = "try again"});
                            }
                            timed.clock->advance(1h);
                            CHECK(stop.stop_requested());
                            return 7;
                          },
                          answers({RecoveryAction::retry()}), timed.judged()};
  CHECK(agent.run("x", {.deadline = timed.clock->now() + 10s}).value() == 7);
  CHECK_FALSE(kept.stop_requested());
}

TEST_CASE("no alarm is set for an attempt that does not ask for its stop token", "[timeout]") {
  struct Counting final : Clock {
    testing::SimulatedClock inner{};
    int alarms = 0;
    TimePoint now() override { return inner.now(); }
    WallTime wall_now() override { return inner.wall_now(); }
    bool sleep_until(TimePoint when, std::stop_token stop) override {
      return inner.sleep_until(when, std::move(stop));
    }
    std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override {
      ++alarms;
      return inner.alarm(when, std::move(ring));
    }
  };
  const auto clock = std::make_shared<Counting>();
  const TriageAgent agent{[](int asks, Attempt& attempt) {
                            for (int i = 0; i < asks; ++i) {
                              static_cast<void>(attempt.stop_token());
                            }
                            attempt.record_step({.action = "look"});
                            return asks;
                          },
                          answers({RecoveryAction::escalate()}),
                          {.clock = clock}};
  const RunOptions options{.deadline = clock->now() + 10s};
  CHECK(agent.run(0, options).value() == 0);
  CHECK(clock->alarms == 0);
  CHECK(agent.run(2, options).value() == 2);
  CHECK(clock->alarms == 1);
}
