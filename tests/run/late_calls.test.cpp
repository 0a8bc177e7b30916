// SPDX-License-Identifier: MIT
// Calls of an attempt after its callable has returned, from a thread that was not joined.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "support/unstored_results.hpp"
#include "support/wait_until.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

// Every member function that a late thread may call.
void call_everything(Attempt& attempt) {
  attempt.record_step({.action = "late"});
  attempt.update_state({{"late", true}});
  attempt.remove_state("late");
  attempt.replace_state({{"late", true}});
  attempt.record_usage({.input_tokens = 1});
  attempt.set_contract({});
  attempt.complete_subgoal("late");
  CHECK(attempt.state().empty());
  CHECK(attempt.trajectory().empty());
  CHECK(attempt.run_id().empty());
  CHECK(attempt.recovery() == nullptr);
  CHECK(attempt.stop_token().stop_requested());
  CHECK_FALSE(attempt.deadline());
  CHECK_FALSE(attempt.error());
  CHECK_ERRC(Errc::invalid_argument, attempt.checkpoint("late"));
  CHECK_ERRC(Errc::invalid_argument, attempt.try_effect("late", [] { return 1; }));
  CHECK_ERRC(Errc::invalid_argument, attempt.enter("late"));
  CHECK_ERRC(Errc::invalid_argument, attempt.reserve({}));
  CHECK_ERRC(Errc::invalid_argument, attempt.propose_step({.action = "late"}));
  CHECK(attempt.fail({.text = "late"}).code == Errc::invalid_argument);
  CHECK_THROWS_AS(attempt.effect("late", [] { return 1; }), AttemptStopped);
  CHECK_THROWS_AS(attempt.sleep_until(WallTime(1h)), AttemptStopped);
  CHECK_THROWS_AS(attempt.wait("late", WallTime(1h)), AttemptStopped);
}

// Returns while a thread that it started has yet to call its attempt.
struct Careless {
  std::latch returned{1};
  std::thread late{};
  bool records = false;
  int failing_attempts = 0;

  Result<int> operator()(const std::string&, Attempt& attempt) {
    if (attempt.number() == 1) {
      late = std::thread([this, &attempt] {
        returned.wait();
        call_everything(attempt);
      });
    }
    if (records) attempt.record_step({.action = "in time"});
    if (attempt.number() <= failing_attempts) return attempt.fail({.text = "timeout"});
    return attempt.number();
  }
};

}  // namespace

TEST_CASE("a call after run has returned does nothing", "[attempt][threads]") {
  Kit kit;
  Careless careless;
  AgentOptions options;
  RunOptions how;
  SECTION("of a run that recorded nothing") {}
  SECTION("of a run that recorded a step") { careless.records = true; }
  SECTION("of a run with a store") {
    options = kit.options();
    how.run_id = "r";
    careless.records = true;
  }
  SECTION("of a run with several attempts") {
    options = kit.bare();
    careless.failing_attempts = 2;
  }
  const TriageAgent agent{
      [&](const std::string& task, Attempt& attempt) { return careless(task, attempt); },
      answers({RecoveryAction::retry()}), options};
  const auto result = how.run_id.empty() && !options.store ? agent.run("x") : agent.run("x", how);
  CHECK(result.value() == careless.failing_attempts + 1);
  careless.returned.count_down();
  careless.late.join();
  if (options.store) CHECK(kit.store->latest("r").value().trajectory.size() == 1);
}

TEST_CASE("a late call does not reach the runs that came after", "[attempt][threads]") {
  std::latch called{1};
  std::thread late;
  std::size_t steps = 0;
  int runs = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (runs++ == 0) {
                              late = std::thread([&called, &attempt] {
                                called.wait();
                                for (int i = 0; i < 100; ++i) attempt.record_step({});
                              });
                            } else if (runs == 1'000) {
                              called.count_down();
                              late.join();
                            }
                            steps += attempt.trajectory().size();
                            return 1;
                          },
                          FailurePolicy()};
  while (runs < 1'000) CHECK(agent.run("x").value() == 1);
  CHECK(steps == 0);
}

TEST_CASE("a run that ends waits for the calls under way, and takes none after it",
          "[attempt][threads]") {
  constexpr int runs = 500;
  std::latch ended{2 * runs};  // An attempt may be called as long as its agent lives.
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto begun = std::make_shared<std::latch>(2);
                            for (int i = 0; i < 2; ++i) {
                              std::thread([&attempt, &ended, begun] {
                                begun->count_down();
                                for (int step = 0; step < 50; ++step) {
                                  attempt.record_step({.action = "step"});
                                  attempt.update_state({{"step", step}});
                                  static_cast<void>(attempt.state());
                                }
                                ended.count_down();
                              }).detach();
                            }
                            begun->wait();
                            return attempt.number();
                          },
                          FailurePolicy()};
  for (int run = 0; run < runs; ++run) CHECK(agent.run("x").value() == 1);
  ended.wait();
}

TEST_CASE("a run does not end before a call under way does", "[attempt][threads]") {
  // Holds the step of another thread until the run has ended, or should have ended long ago.
  struct Holding final : Observer {
    void on_event(const Event& event) override {
      if (event.kind != EventKind::step_recorded) return;
      begun.count_down();
      wait_until(ended, std::chrono::milliseconds(100));
      over = true;
    }
    std::latch begun{1};
    std::atomic<bool> ended{false};
    std::atomic<bool> over{false};
  };
  const auto holding = std::make_shared<Holding>();
  AgentOptions options;
  options.observer = holding;
  std::thread recorder;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            recorder = std::thread([&attempt] { attempt.record_step({}); });
                            holding->begun.wait();
                            return 1;
                          },
                          FailurePolicy(), options};
  CHECK(agent.run("x").value() == 1);
  const bool was_over = holding->over;
  holding->ended = true;
  recorder.join();
  CHECK(was_over);
}

TEST_CASE("a child run whose parent has ended is refused", "[attempt][threads]") {
  const TriageAgent child{[](const std::string&) { return 1; }, FailurePolicy()};
  Attempt* kept = nullptr;
  const TriageAgent parent{[&](const std::string& task, Attempt& attempt) {
                             kept = &attempt;
                             return child.run(task, {.parent = &attempt}).value();
                           },
                           FailurePolicy()};
  CHECK(parent.run("x").value() == 1);
  const auto orphan = child.run("x", {.parent = kept});
  CHECK_ERRC(Errc::invalid_argument, orphan);
  CHECK_THAT(orphan.error().detail, ContainsSubstring("parent has ended"));
}

TEST_CASE("an effect on a thread that outlives its callable has ended when the failure is handled",
          "[attempt][threads]") {
  Kit kit;
  AgentOptions options = GENERATE(true, false) ? kit.options() : kit.bare();
  std::atomic<bool> done{false};
  std::atomic<bool> told{false};
  bool done_when_told = false;
  options.hooks.on_failure = [&](const FailureContext&) {
    done_when_told = done;
    told = true;
  };
  std::latch begun{1};
  std::thread late;
  int again = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            if (attempt.number() > 1) {
                              return attempt.effect("charge", [&] { return ++again; });
                            }
                            attempt.update_state({{"at", "work"}});
                            late = std::thread([&] {
                              static_cast<void>(attempt.try_effect("charge", [&] {
                                begun.count_down();
                                while (!attempt.state().empty()) std::this_thread::yield();
                                // The callable has returned.
                                for (int i = 0; i < 10'000 && !told; ++i) {
                                  std::this_thread::yield();
                                }
                                done = true;
                                return 40;
                              }));
                            });
                            begun.wait();
                            return attempt.fail({.text = "timeout"});
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK(agent.run("x").value() == 40);
  late.join();
  CHECK(done_when_told);
  CHECK(again == 0);
}

TEST_CASE("a doubt about an effect on a thread that outlives its callable ends the run",
          "[attempt][threads]") {
  Kit kit;
  const auto store =
      std::make_shared<UnstoredResults>(kit.store, Error{Errc::io, "the disk is full"});
  AgentOptions options = kit.with(store);
  std::latch begun{1};
  std::thread late;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.update_state({{"at", "work"}});
                            late = std::thread([&] {
                              try {
                                attempt.effect("charge", [&] {
                                  begun.count_down();
                                  while (!attempt.state().empty()) std::this_thread::yield();
                                  return 40;  // The callable has returned by now.
                                });
                              } catch (const AttemptStopped&) {}
                            });
                            begun.wait();
                            return 7;
                          },
                          answers({}), options};
  const auto done = agent.run("x");
  late.join();
  CHECK_ERRC(Errc::in_doubt, done);
}

TEST_CASE("two threads that nest effects in opposite order do not wait for each other for ever",
          "[effects][threads]") {
  Kit kit;
  std::barrier both{2};
  std::atomic<int> refused{0};
  std::atomic<int> succeeded{0};
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto nest = [&](const char* outer, const char* inner) {
                              const auto got = attempt.try_effect(outer, [&] {
                                both.arrive_and_wait();
                                const auto in = attempt.try_effect(inner, [] { return 1; });
                                if (!in && in.error().code == Errc::invalid_argument) ++refused;
                                return 1;
                              });
                              if (got) ++succeeded;
                            };
                            std::thread one(nest, "a", "b");
                            std::thread other(nest, "b", "a");
                            one.join();
                            other.join();
                            return 1;
                          },
                          FailurePolicy(), kit.bare()};
  CHECK(agent.run("x").value() == 1);
  CHECK(refused == 1);
  CHECK(succeeded == 2);
}
