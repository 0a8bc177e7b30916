// SPDX-License-Identifier: MIT
#include "triage/observer.hpp"

#include "support/kit.hpp"
#include "support/result.hpp"

#include <atomic>
#include <fstream>
#include <latch>
#include <set>
#include <sstream>
#include <thread>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("docs/events.md lists every event by its name, and no other", "[events]") {
  std::ifstream file(TRIAGE_SOURCE_DIR "/docs/events.md");
  REQUIRE(file.good());
  std::multiset<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    // A row of a table whose first cell is `name`.
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::multiset<std::string> known;
  for (std::size_t i = 0; i < event_kind_count; ++i) {
    known.insert(std::string(to_string(static_cast<EventKind>(i))));
  }
  CHECK(documented == known);
  CHECK_FALSE(known.contains("unknown"));
  CHECK(to_string(static_cast<EventKind>(event_kind_count)) == "unknown");
}

TEST_CASE("the events of a typical run come in this order, with its id", "[events]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "fetch"});
                            attempt.effect("pay", [] { return 1; });
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            REQUIRE_OK(attempt.checkpoint("here"));
                          },
                          answers({RecoveryAction::retry("", std::chrono::seconds(2))}),
                          kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  std::vector<std::string> names;
  const auto events = kit.log->entries();
  for (const auto& event : events) {
    names.emplace_back(to_string(event.kind));
    CHECK(event.run_id == "r");
  }
  CHECK(names == std::vector<std::string>{
                     "run_started", "attempt_started", "step_recorded", "effect_intended",
                     "effect_completed", "attempt_failed", "queue_drained", "failure_classified",
                     "recovery_chosen", "wait_started", "queue_drained", "wait_ended",
                     "attempt_started", "step_recorded", "effect_reused", "checkpoint_labelled",
                     "attempt_succeeded", "queue_drained", "run_finished"});
  CHECK(kit.log->last(EventKind::attempt_failed).text == "timeout");
  CHECK(kit.log->last(EventKind::failure_classified).has_failure);
  CHECK(kit.log->last(EventKind::recovery_chosen).action == "retry");
  CHECK(kit.log->last(EventKind::wait_started).number == 2'000'000'000U);
  CHECK(kit.log->last(EventKind::step_recorded).step == "fetch");
  CHECK(kit.log->last(EventKind::effect_reused).text == "pay");
  CHECK(kit.log->last(EventKind::checkpoint_labelled).text == "here");
  CHECK(kit.log->last(EventKind::run_finished).attempt == 2);
}

TEST_CASE("a run without anything recorded has its events too", "[events]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&) { return 1; }, answers({RecoveryAction::retry()}),
                          kit.bare()};
  REQUIRE_OK(agent.run("x"));
  CHECK(kit.log->kinds() ==
        std::vector<EventKind>{EventKind::run_started, EventKind::attempt_started,
                               EventKind::attempt_succeeded, EventKind::run_finished});
  const auto events = kit.log->entries();
  for (const auto& event : events) CHECK(event.run_id == events[0].run_id);
  CHECK(events[0].run_id.size() == 26);
}

TEST_CASE("an observer that throws changes nothing, and the failure's notes tell it once",
          "[events]") {
  Kit kit;
  AgentOptions options = GENERATE(true, false) ? kit.options() : kit.bare();
  options.observer = observe([](const Event&) { throw std::runtime_error("observer broke"); });
  const TriageAgent agent{[](const std::string& task, Attempt& attempt) {
                            for (int i = 0; i < 20; ++i) attempt.record_step({.action = "s"});
                            if (task == "bad") throw std::runtime_error("timeout");
                            return attempt.trajectory().size();
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("good").value() == 20);
  const auto result = agent.run("bad");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->notes ==
        std::vector<std::string>{"the observer threw an exception"});
}

TEST_CASE("an observer that only throws before anything went wrong is noted, too", "[events]") {
  Kit kit;
  AgentOptions options = GENERATE(true, false) ? kit.options() : kit.bare();
  const EventKind when = GENERATE(EventKind::run_started, EventKind::attempt_started);
  options.observer = observe([when](const Event& event) {
    if (event.kind == when) throw std::runtime_error("observer broke");
  });
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::escalate()}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->notes ==
        std::vector<std::string>{"the observer threw an exception"});
}

TEST_CASE("a gate that asks to wait for less than nothing lets the run wait for nothing",
          "[events][gates]") {
  struct Backwards final : Gate {
    std::string_view name() const noexcept override { return "backwards"; }
    GateAnswer enter(const GateRequest&) noexcept override {
      if (++asked % 2 == 0) return {};
      return {.kind = GateAnswer::Kind::wait, .wait = -5s};
    }
    void leave(const GateRequest&, std::uint64_t, const GateOutcome*) noexcept override {}
    int asked = 0;
  };
  Kit kit;
  AgentOptions options = kit.bare();
  options.gates = {std::make_shared<Backwards>()};
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            const auto permit = attempt.enter("search");
                            if (!permit) return permit.error();
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x").value() == 1);
  int waits = 0;
  for (const auto& event : kit.log->entries()) {
    if (event.kind != EventKind::wait_started) continue;
    ++waits;
    CHECK(event.number == 0);
  }
  CHECK(waits == 2);
}

TEST_CASE("an observer may throw on any thread while a failure is handled", "[events][threads]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.observer = observe([](const Event&) { throw std::runtime_error("observer broke"); });
  std::atomic<bool> enough{false};
  std::latch recording(1);
  std::thread recorder;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            if (attempt.number() == 2) {
                              enough = true;
                              recorder.join();
                              throw std::runtime_error("timeout");
                            }
                            recorder = std::thread([&] {
                              attempt.record_step({.action = "s"});
                              recording.count_down();
                              while (!enough) attempt.record_step({.action = "s"});
                            });
                            recording.wait();
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry(), RecoveryAction::escalate()}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->notes ==
        std::vector<std::string>{"the observer threw an exception"});
}

TEST_CASE("each end of a run has its event", "[events]") {
  struct Row {
    RecoveryAction action;
    EventKind kind;
    Errc code;
  };
  const Row row = GENERATE(
      values<Row>({{RecoveryAction::escalate(), EventKind::run_escalated, Errc::escalated},
                   {RecoveryAction::abort(), EventKind::run_aborted, Errc::aborted},
                   {RecoveryAction::suspend(), EventKind::run_suspended, Errc::suspended}}));
  Kit kit;
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({row.action}), kit.bare()};
  CHECK_ERRC(row.code, agent.run("x"));
  const auto events = kit.log->entries();
  CHECK(events.back().kind == row.kind);
  CHECK(events.back().has_failure);
  CHECK_FALSE(events.back().error.empty());
}
