// SPDX-License-Identifier: MIT
#include "triage/task_group.hpp"

#include "support/kit.hpp"
#include "support/result.hpp"

#include <latch>
#include <set>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// Waits until the group requests it, so that no test depends on timing.
void until_asked(const std::stop_token& stop) {
  std::latch stopped{1};
  const std::stop_callback ask(stop, [&] { stopped.count_down(); });
  stopped.wait();
}

}  // namespace

TEST_CASE("an effect in doubt on a thread ends the run, not the process", "[threads]") {
  Kit kit;
  const bool joined = GENERATE(true, false);
  int stopped = 0;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        TaskGroup group{attempt};
        group.start([&](const std::stop_token& stop) {
          until_asked(stop);
          ++stopped;
        });
        group.start([&] {
          attempt.effect("charge", []() -> int { throw std::runtime_error("connection lost"); });
        });
        if (joined) group.join();
        return 1;
      },
      answers({RecoveryAction::retry()}), kit.options()};
  const auto first = agent.run("x", {.run_id = "r"});
  CHECK(stopped == 2);  // The exception is retried, and meets the doubt it left behind.
  CHECK_ERRC(Errc::in_doubt, first);
  CHECK_THAT(first.error().message(), ContainsSubstring("triage settle r charge done|not-done"));
  CHECK_THAT(first.error().detail, !ContainsSubstring("TaskGroup"));
}

TEST_CASE("a doubt on a thread that nothing carries names the TaskGroup", "[threads]") {
  Kit kit;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        const auto charge = [&] {
          try {
            attempt.effect("charge", []() -> int { throw std::runtime_error("connection lost"); });
          } catch (...) {  // Else the process would end.
          }
        };
        std::jthread([&] {
          charge();
          charge();
        }).join();
        return 1;
      },
      answers({RecoveryAction::retry()}), kit.bare()};
  const auto doubt = agent.run("x");
  CHECK_ERRC(Errc::in_doubt, doubt);
  CHECK_THAT(doubt.error().detail,
             ContainsSubstring("unless a TaskGroup carries it") && !ContainsSubstring("settle"));
}

TEST_CASE("the first exception of a thread is a failure of the attempt", "[threads]") {
  Kit kit;
  int attempts = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (++attempts == 2) return 2;
                            TaskGroup group{attempt};
                            group.start([] { throw std::runtime_error("timeout of a thread"); });
                            group.start([](const std::stop_token& stop) {
                              until_asked(stop);
                              throw std::runtime_error("stopped");
                            });
                            group.join();
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), kit.bare()};
  CHECK(agent.run("x").value() == 2);
  const auto entries = kit.log->entries();
  const auto failed = std::find_if(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.kind == EventKind::attempt_failed;
  });
  REQUIRE(failed != entries.end());
  CHECK(failed->text == "timeout of a thread");
}

TEST_CASE("threads are joined before the callable goes on, also those that threads start",
          "[threads]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            TaskGroup group{attempt};
                            for (int i = 0; i < 4; ++i) {
                              group.start([&attempt, &group, i] {
                                attempt.update_state({{"outer " + std::to_string(i), true}});
                                group.start([&attempt, i] {
                                  attempt.update_state({{"inner " + std::to_string(i), true}});
                                });
                              });
                            }
                            group.join();
                            return static_cast<int>(attempt.state().size());
                          },
                          FailurePolicy(), kit.options()};
  CHECK(agent.run("x").value() == 8);
}

TEST_CASE("the threads of a cancelled run are asked to stop", "[threads]") {
  Kit kit;
  std::stop_source source;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            TaskGroup group{attempt};
                            group.start([](const std::stop_token& stop) { until_asked(stop); });
                            source.request_stop();
                            group.join();
                            group.start([] { FAIL("started after a stop"); });
                            return 1;
                          },
                          FailurePolicy(), kit.bare()};
  CHECK(agent.run("x", {.stop_token = source.get_token()}).value() == 1);
}

TEST_CASE("an exception of the callable wins over those of its threads", "[threads]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            TaskGroup group{attempt};
                            group.start([](const std::stop_token& stop) {
                              until_asked(stop);
                              throw std::runtime_error("of the thread");
                            });
                            throw std::runtime_error("of the callable");
                          },
                          answers({RecoveryAction::escalate()}), kit.bare()};
  CHECK(agent.run("x").error().failure()->text == "of the callable");
}

TEST_CASE("a group runs what is started after the run's time is over", "[threads]") {
  Kit kit;
  bool ran = false;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            TaskGroup group{attempt};
                            kit.clock->advance(std::chrono::seconds(20));
                            group.start([&] { ran = true; });
                            group.join();
                            return attempt.stop_token().stop_requested();
                          },
                          FailurePolicy{}, kit.options()};
  const auto result = agent.run(1, {.deadline = kit.clock->now() + std::chrono::seconds(10)});
  CHECK(ran);
  CHECK(result.value());
}
