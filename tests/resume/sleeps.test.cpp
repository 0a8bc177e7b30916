// SPDX-License-Identifier: MIT
// Waits inside an attempt that suspend the run: each ends once, with one answer for all waiters.
#include "resume/durable.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/gate.hpp"
#include "triage/task_group.hpp"

#include <functional>
#include <future>
#include <utility>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

using Waits = std::function<void(Attempt&)>;

// Two threads that wait, of which the second asks once the first has asked.
void wait_beside(Attempt& attempt, const Waits& first, const Waits& second) {
  std::promise<void> asked;
  TaskGroup group{attempt};
  group.start([&] {
    try {
      first(attempt);
    } catch (const AttemptStopped&) {
      asked.set_value();
      throw;
    }
    asked.set_value();
  });
  group.start([&] {
    asked.get_future().wait();
    second(attempt);
  });
  group.join();
}

}  // namespace

TEST_CASE("a sleep for two hours ends after two hours, whenever it is asked for", "[going on]") {
  DurableKit kit;
  const WallTime begin = kit.clock->wall_now();
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            ++calls;
                            attempt.sleep_for("first", 2h);
                            attempt.sleep_for("second", 2h);
                            return calls;
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  CHECK(*result.error().suspension()->until >= begin + 2h);
  CHECK(*result.error().suspension()->until <= begin + 2h + 1ms);
  kit.clock->advance(2h + 5min);
  REQUIRE(agent.resume_due().value().size() == 1);
  CHECK(agent.resume_due().value().empty());
  kit.clock->advance(2h);
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].result.value() == 3);
  CHECK(stored_journal(*kit.store, "r").sleeps().size() == 2);
}

TEST_CASE("a sleep for a while is slept on the clock where the run cannot be suspended",
          "[going on]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.sleep_for("a", 2h);
                            attempt.sleep_for("a", 2h);
                            attempt.sleep_for("b", -1s);
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), kit.bare()};
  CHECK(agent.run("x").value() == 1);
  CHECK(kit.clock->waits == std::vector<Duration>{2h + 1ms, 1ms});
  const TriageAgent nameless{[&](const std::string&, Attempt& attempt) {
                               attempt.sleep_for("", 1s);
                               return 1;
                             },
                             answers({RecoveryAction::escalate()}), kit.bare()};
  CHECK_ERRC(Errc::invalid_argument, nameless.run("x"));
}

TEST_CASE("a time of another resolution than milliseconds is rounded up", "[going on]") {
  Kit kit;
  const bool sleeps = GENERATE(true, false);
  const auto due = std::chrono::sys_time<std::chrono::nanoseconds>(kit.clock->wall_now()) + 1ns;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (sleeps) attempt.sleep_until(due);
                            return !sleeps && attempt.wait("answer", due).has_value() ? 1 : 0;
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK(agent.run("x").value() == 0);
  CHECK(kit.clock->waits == std::vector<Duration>{1ms});
}

TEST_CASE("a sleep until a time that is another one at each call ends all the same", "[going on]") {
  DurableKit kit;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            ++calls;
                            attempt.sleep_until(kit.clock->wall_now() + 1h);
                            attempt.update_state({{"once", true}});
                            attempt.sleep_until(kit.clock->wall_now() + 1h);
                            attempt.sleep_until(kit.clock->wall_now() + 1h);
                            return attempt.number();
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  std::size_t ended = 0;
  for (int i = 0; i < 6 && ended == 0; ++i) {
    kit.clock->advance(1h);
    const auto resumed = agent.resume_due().value();
    for (const auto& one : resumed) ended += one.result.has_value() ? 1U : 0U;
  }
  CHECK(ended == 1);
  CHECK(calls >= 4);  // None of the three sleeps was skipped.
}

TEST_CASE("a sleep until another time than the one that was slept for is a new one", "[going on]") {
  DurableKit kit;
  const WallTime begin = kit.clock->wall_now();
  std::vector<WallTime> passed;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            passed.clear();
                            for (const auto day : {24h, 48h, 72h}) {
                              attempt.sleep_until(begin + day);
                              passed.push_back(kit.clock->wall_now());
                            }
                            return attempt.number();
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  for (int day = 1; day <= 3; ++day) {
    kit.clock->advance(24h);
    CHECK(agent.resume_due().value().size() == 1);
  }
  REQUIRE(passed.size() == 3);
  CHECK(passed[2] >= begin + 72h);
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
}

TEST_CASE("a sleep that now asks for much longer than was slept is not left out", "[going on]") {
  DurableKit kit;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.sleep_until(kit.clock->wall_now() + (++calls == 1 ? 1h : 30h));
                            return calls;
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  kit.clock->advance(1h + 1s);
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK_ERRC(Errc::suspended, resumed[0].result);
  kit.clock->advance(30h);
  CHECK(agent.resume_due().value().at(0).result.value() == 3);
}

TEST_CASE("long sleeps are no attempts that a limit counts", "[going on]") {
  DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (int i = 0; i < 25; ++i) {
                              attempt.sleep_for("sleep " + std::to_string(i), 1h);
                            }
                            if (attempt.number() == 26) throw std::runtime_error("timeout");
                            return attempt.number();
                          },
                          retrying(), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  for (int i = 0; i < 25; ++i) {
    kit.clock->advance(1h + 1ms);
    const auto resumed = agent.resume_due().value();
    REQUIRE(resumed.size() == 1);
    if (i == 24) CHECK(resumed[0].result.value() == 27);
  }
}

TEST_CASE("of two threads that wait for one name both get the answer of the first",
          "[going on][signals]") {
  Kit kit;
  // Between one wait's look-up and its answer, another wait is answered.
  struct Racing final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    Result<std::optional<VersionedValue>> get(std::string_view space,
                                              std::string_view key) override {
      auto found = ForwardingStore::get(space, key);
      if (space == "triage/signals" && race) std::exchange(race, nullptr)();
      return found;
    }
    std::function<void()> race{};
  };
  const auto store = std::make_shared<Racing>(kit.store);
  AgentOptions options = kit.with(store);
  int other = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const WallTime now = kit.clock->wall_now();
                            store->race = [&] {
                              const auto value = attempt.wait("go", now);
                              other = value ? value->get<int>() : -1;
                            };
                            const auto value = attempt.wait("go", now);
                            return value ? value->get<int>() : -1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  SECTION("that there was none") {
    CHECK(agent.run("x", {.run_id = "r"}).value() == -1);
    CHECK(other == -1);
  }
  SECTION("a signal that came in between") {
    const TriageAgent late{[&](const std::string&, Attempt& attempt) {
                             const WallTime now = kit.clock->wall_now();
                             store->race = [&] {
                               REQUIRE_OK(agent.signal("r", "go", 7));
                               other = attempt.wait("go", now).value().get<int>();
                             };
                             const auto value = attempt.wait("go", now);
                             return value ? value->get<int>() : -1;
                           },
                           answers({RecoveryAction::escalate()}), options};
    CHECK(late.run("x", {.run_id = "r"}).value() == 7);
    CHECK(other == 7);
  }
}

TEST_CASE("a sleep in place is no longer than it should be if the wall clock is set back",
          "[going on]") {
  // While the attempt sleeps, somebody sets the wall clock back by a day.
  struct SetBack final : Clock {
    TimePoint at{1h};
    WallTime wall{24h * 20'000};
    bool set = false;
    TimePoint now() override { return at; }
    WallTime wall_now() override { return wall; }
    bool sleep_until(TimePoint when, std::stop_token) override {
      wall += std::chrono::ceil<WallTime::duration>(when - at);
      at = when;
      if (!std::exchange(set, true)) wall -= 24h;
      return true;
    }
  };
  Kit kit;
  const auto clock = std::make_shared<SetBack>();
  AgentOptions options = kit.bare();
  options.clock = clock;
  const TriageAgent agent{[](int, Attempt& attempt) {
                            attempt.sleep_for("nap", 2s);
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  const TimePoint begin = clock->at;
  CHECK(agent.run(1).value() == 1);
  CHECK(clock->at - begin == 2s + 1ms);
}

TEST_CASE("a failure is not hidden by a long sleep on another thread", "[going on]") {
  DurableKit kit;
  const TriageAgent agent{[&](int, Attempt& attempt) -> int {
                            TaskGroup group{attempt};
                            std::promise<void> begun;
                            group.start([&] {
                              begun.set_value();
                              attempt.sleep_for("nap", 48h);
                            });
                            begun.get_future().wait();
                            throw std::runtime_error("access_denied");
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  const auto result = agent.run(1, {.run_id = "r"});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::access_denied);
}

TEST_CASE("waking up is no retry that a gate could refuse", "[going on]") {
  struct Asked final : Gate {
    std::vector<bool> retries{};
    [[nodiscard]] std::string_view name() const noexcept override { return "asked"; }
    GateAnswer enter(const GateRequest& request) noexcept override {
      retries.push_back(request.retry);
      return {};
    }
    void leave(const GateRequest&, std::uint64_t, const GateOutcome*) noexcept override {}
  };
  DurableKit kit;
  const auto gate = std::make_shared<Asked>();
  AgentOptions options = kit.on_disk();
  options.gates = {gate};
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            attempt.sleep_for("nap", 2h);
                            if (attempt.number() == 2) return attempt.fail({.text = "timeout"});
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::suspended, agent.run(1, {.run_id = "r"}));
  kit.clock->advance(3h);
  REQUIRE(agent.resume_due().value().front().result.value() == 1);
  CHECK(gate->retries == std::vector<bool>{false, false, true});
}

TEST_CASE("waits of several threads end with the first of them", "[going on]") {
  DurableKit kit;
  const WallTime begin = kit.clock->wall_now();
  const std::size_t later = GENERATE(0U, 1U);  // Which of the two asks last.
  std::vector<Waits> waits{
      [&](Attempt& attempt) { static_cast<void>(attempt.wait("paid", begin + 24h)); },
      [&](Attempt& attempt) { attempt.sleep_for("nap", 20min); }};
  std::swap(waits[1], waits[later]);
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            const auto paid = attempt.received("paid");
                            if (paid) return paid->get<int>();
                            wait_beside(attempt, waits[0], waits[1]);
                            return -1;
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  const auto result = agent.run(1, {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  CHECK(*result.error().suspension()->until <= begin + 20min + 1ms);
  SECTION("a signal") {
    REQUIRE_OK(agent.signal("r", "paid", 7));
    CHECK(agent.resume_due().value().at(0).result.value() == 7);
  }
  SECTION("a time") {
    kit.clock->advance(21min);
    CHECK(agent.due().value().size() == 1);
  }
}

TEST_CASE("a sleep until a time is not over because another wait is", "[going on]") {
  DurableKit kit;
  int calls = 0;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            ++calls;
                            wait_beside(
                                attempt,
                                [&](Attempt& at) { at.sleep_until(kit.clock->wall_now() + 10h); },
                                [](Attempt& at) { at.sleep_for("nap", 20min); });
                            return calls;
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run(1, {.run_id = "r"}));
  kit.clock->advance(21min);
  const auto first = agent.resume_due();
  REQUIRE_OK(first);
  CHECK_ERRC(Errc::suspended, first.value().at(0).result);
  kit.clock->advance(11h);
  CHECK(agent.resume_due().value().at(0).result.value() == 3);
}
