// SPDX-License-Identifier: MIT
// Simulated worlds: the same seed gives the same course; violations are found and reduced.
#include "triage/lab/simulation.hpp"

#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/stop.hpp"

#include "support/catch.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace triage;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using lab::Fault;
using lab::Process;
using lab::Simulation;
using lab::World;

namespace {

FailurePolicy keep_trying() {
  return FailurePolicy().otherwise(retry({.max_attempts = 5, .delay = 1s}));
}

// Three processes with two runs each. `careful`: pays in an effect, otherwise without one.
void pay(World& world, bool careful) {
  auto& paid = world.make<std::map<std::string, int>>();
  for (int i = 0; i < 3; ++i) {
    world.start(
        "payer-" + std::to_string(i),
        [&paid, careful](Process& self) {
          const TriageAgent agent{
              [&](const std::string& bill, Attempt& attempt) -> Result<int> {
                self.work(100ms);
                const auto payment = [&](const EffectCall& call) {
                  const int times = self.perform(call);
                  ++paid[bill];
                  return times;
                };
                if (careful) {
                  attempt.effect("pay", payment);
                } else {
                  ++paid[bill];
                }
                auto told = self.chaos().call("tell", attempt, [&] { self.work(50ms); });
                if (!told) return std::move(told).error();
                return 1;
              },
              keep_trying(), self.options({.name = "payers", .store = self.store()})};
          for (const std::string run : {"a-", "b-"}) {
            static_cast<void>(self.run_or_resume(agent, run + self.name(), run + self.name()));
          }
        },
        {.restart_after = 5s});
  }
  world.always("no bill is paid twice", [&paid]() -> std::string {
    for (const auto& [bill, times] : paid) {
      if (times > 1) return bill + " was paid " + std::to_string(times) + " times";
    }
    return {};
  });
}

lab::FaultMix trouble() {
  return {.rules = {{.fault = Fault::fails, .site = "tell", .rate = 0.3},
                    {.fault = Fault::latency, .site = "tell", .rate = 0.3, .length = 2s},
                    {.fault = Fault::kill, .site = "store", .rate = 0.03},
                    {.fault = Fault::lost_answer, .site = "store", .rate = 0.1}}};
}

}  // namespace

TEST_CASE("a seed has one course, a thousand times of a thousand", "[lab][simulation]") {
  Simulation simulation{[](World& world) { pay(world, true); }, {.faults = trouble()}};
  const auto first = simulation.run(42);
  CHECK(first.events > 50);
  CHECK_FALSE(first.injected.empty());
  std::set<std::uint64_t> hashes;
  for (int i = 0; i < 1000; ++i) hashes.insert(simulation.run(42).trace_hash);
  CHECK(hashes == std::set<std::uint64_t>{first.trace_hash});
  for (std::uint64_t seed = 100; seed < 200; ++seed) hashes.insert(simulation.run(seed).trace_hash);
  CHECK(hashes.size() == 101);
}

TEST_CASE("processes run in turns while others wait", "[lab][simulation]") {
  std::vector<std::string> order;
  Simulation simulation{[&order](World& world) {
    for (const std::string name : {"a", "b"}) {
      world.start(name, [&order](Process& self) {
        for (int i = 0; i < 3; ++i) {
          order.push_back(self.name());
          self.work(self.name() == "a" ? 2s : 3s);
        }
      });
    }
  }};
  const auto report = simulation.run(1);
  CHECK_FALSE(report.violation);
  CHECK(report.elapsed == 9s);
  CHECK(std::vector<std::string>(order.begin() + 2, order.end()) ==
        std::vector<std::string>{"a", "b", "a", "b"});
}

TEST_CASE("an agent that pays outside of an effect is found out, with one fault",
          "[lab][simulation]") {
  Simulation simulation{[](World& world) { pay(world, false); }, {.faults = trouble()}};
  const auto search = simulation.search(1, 500);
  REQUIRE(search.found);
  CHECK(search.found->report.violation->invariant == "no bill is paid twice");
  CHECK(search.found->schedule.size() == 1);
  CHECK(search.found->faults_before >= search.found->schedule.size());
  const auto again = simulation.replay(search.found->report.seed, search.found->schedule);
  CHECK(again.violation);
  CHECK(again.trace_hash == search.found->report.trace_hash);
  CHECK_THAT(lab::describe(*search.found),
             ContainsSubstring("1 faults of") && ContainsSubstring("no bill is paid twice"));
}

TEST_CASE("an agent that pays in an effect is not, over many seeds", "[lab][simulation]") {
  Simulation simulation{[](World& world) { pay(world, true); }, {.faults = trouble()}};
  const auto search = simulation.search(1, 300);
  INFO((search.found ? lab::describe(*search.found) : ""));
  CHECK_FALSE(search.found);
  CHECK(search.seeds == 300);
  CHECK(search.faults > 300);
}

TEST_CASE("a process that is killed starts again, without the memory of its first life",
          "[lab][simulation]") {
  Simulation simulation{
      [](World& world) {
        auto& lives = world.make<int>(0);
        world.start("mortal",
                    [&lives](Process& self) {
                      ++lives;
                      CHECK(self.start() == lives);
                      for (;;) {
                        if (self.start() == 3) return;
                        static_cast<void>(self.chaos().call("work", [&] { self.work(1s); }));
                      }
                    },
                    {.restart_after = 10s});
        world.finally("it had three lives", [&lives] { return lives == 3; });
      },
      {.faults = {.rules = {{.fault = Fault::kill, .site = "work", .at = {3, 5}}}},
       .swarm = false}};
  const auto report = simulation.run(1);
  INFO((report.violation ? report.violation->detail : ""));
  CHECK_FALSE(report.violation);
  CHECK(report.injected.size() == 2);
}

TEST_CASE("exceptions in hand survive that others run meanwhile", "[lab][simulation]") {
  int handled = 0;
  Simulation simulation{[&handled](World& world) {
    for (int i = 0; i < 4; ++i) {
      world.start("thrower-" + std::to_string(i), [&handled, i](Process& self) {
        for (int n = 0; n < 3; ++n) {
          const std::string mine = std::to_string(i) + "/" + std::to_string(n);
          try {
            throw std::runtime_error(mine);
          } catch (const std::exception& e) {
            self.work(std::chrono::seconds(1 + (i + n) % 3));
            CHECK(e.what() == mine);
            CHECK(std::current_exception() != nullptr);
            ++handled;
          }
        }
      });
    }
  }};
  CHECK_FALSE(simulation.run(1).violation);
  CHECK(handled == 12);
}

TEST_CASE("an attempt that takes too long is told so by the world's time", "[lab][simulation]") {
  Duration told{0};
  Simulation simulation{[&told](World& world) {
    world.start("other", [](Process& self) {
      for (int i = 0; i < 20; ++i) self.work(700ms);
    });
    world.start("slow", [&told, &world](Process& self) {
      const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                                const TimePoint late = self.clock()->now() + 1h;
                                if (self.clock()->sleep_until(late, attempt.stop_token())) return 1;
                                told = world.elapsed();
                                return attempt.fail({.text = "stopped"});
                              },
                              FailurePolicy().otherwise(escalate()),
                              self.options({.attempt_timeout = 5s})};
      const auto result = self.run(agent, 1, {.run_id = "r"});
      REQUIRE_FALSE(result);
      CHECK(result.error().failure()->type() == FailureType::timeout);
    });
  }};
  const auto report = simulation.run(1);
  INFO((report.violation ? report.violation->detail : ""));
  CHECK_FALSE(report.violation);
  CHECK(told == 5s);
  CHECK(report.elapsed == 14s);
}

TEST_CASE("a world that does not end names the limit that it met", "[lab][simulation]") {
  const auto told = [](std::function<void(World&)> set_up) {
    Simulation simulation{std::move(set_up), {.longest = 24h, .most_events = 1'000}};
    const auto report = simulation.run(1);
    return report.violation ? report.violation->detail : "";
  };
  const std::string too_long =
      "something still goes on after 1d of simulated time, SimulationOptions::longest";
  CHECK(told([](World& world) { world.start("slow", [](Process& self) { self.work(25h); }); }) ==
        too_long);
  CHECK_THAT(told([](World& world) {
               world.start("busy", [](Process& self) {
                 while (self.alive()) self.work(1s);
               });
             }),
             ContainsSubstring(" events, more than SimulationOptions::most_events"));
  // The end of time is too far away, and not before now.
  bool worked = false;
  CHECK(told([&](World& world) {
          world.start("never", [&](Process&) { worked = true; }, {.after = Duration::max()});
        }) == too_long);
  CHECK(told([&](World& world) {
          world.start("for ever", [&](Process& self) {
            self.work(1s);
            self.work(Duration::max());
            worked = true;
          });
        }) == too_long);
  CHECK_FALSE(worked);
}

TEST_CASE("what does not end, throws or loses records is a violation", "[lab][simulation]") {
  const auto of = [](std::function<void(World&)> set_up) {
    Simulation simulation{std::move(set_up), {.longest = 1h}};
    const auto report = simulation.run(1);
    return report.violation ? report.violation->invariant : "";
  };
  CHECK(of([](World& world) {
          world.start("for ever", [](Process& self) {
            while (self.alive()) self.work(1min);
          });
        }) == "the world ends");
  CHECK(of([](World& world) {
          world.start("thrower", [](Process&) { throw std::runtime_error("no"); });
        }) == "no body throws");
  CHECK(of([](World& world) {
          world.start("forgetful", [&world](Process& self) {
            const TriageAgent agent{[](int) { return 1; }, keep_trying(),
                                    self.options({.store = self.store()})};
            CHECK(self.run(agent, 1, {.run_id = "r"}));
            CHECK(world.stored()->erase("r"));
          });
        }) == "no acknowledged record is lost");
  CHECK(of([](World& world) {
          world.start("forgets what it starts with", [&world](Process& self) {
            const Record first(1, RecordKind::run_started, {},
                               std::make_shared<const Json>(Json::object()));
            const auto lease = self.store()->start({.id = "r", .agent = "a"}, {&first, 1});
            REQUIRE(lease);
            CHECK(self.store()->release(lease.value()));
            CHECK(world.stored()->erase("r"));
          });
        }) == "no acknowledged record is lost");
  CHECK(of([](World& world) { world.finally("never", [] { return std::string("so it is"); }); }) ==
        "never");
}

TEST_CASE("a mix with a mistake is reported, not played", "[lab][simulation]") {
  Simulation simulation{[](World&) {}, {.faults = {.rules = {{.rate = 2.0}}}}};
  const auto report = simulation.run(1);
  REQUIRE(report.violation);
  CHECK_THAT(report.violation->detail, ContainsSubstring("rate is 2.0; allowed is 0 to 1"));
}

TEST_CASE("the trace tells what happened and when", "[lab][simulation]") {
  Simulation simulation{[](World& world) {
                          world.start("one", [](Process& self) { self.work(1500ms); });
                          world.note("set up");
                          world.count("notes");
                          world.count("notes", 0.5);
                        },
                        {.keep_trace = true}};
  const auto report = simulation.run(1);
  CHECK(report.trace == std::vector<std::string>{"0s  world: note  set up", "0s  one: started  1",
                                                 "1s500ms  one: woke", "1s500ms  one: ended"});
  CHECK(report.events == 4);
  CHECK(report.figures.at("notes") == 1.5);
}

TEST_CASE("runs that a world removes are not lost", "[lab][simulation]") {
  Simulation simulation([](World& world) {
    world.start("janitor", [](Process& self) {
      const TriageAgent agent{[](const std::string&) { return 1; }, keep_trying(),
                              self.options({.name = "worker", .store = self.store()})};
      for (const char* run : {"a", "b"}) static_cast<void>(self.run_or_resume(agent, run, run));
      const auto pruned = self.store()->prune({.keep_newest = 1});
      if (!pruned || pruned.value() != 1) throw std::runtime_error("not one was removed");
    });
  });
  const lab::SeedReport report = simulation.run(1);
  INFO((report.violation ? report.violation->detail : std::string()));
  CHECK_FALSE(report.violation);
}

TEST_CASE("an invariant is checked whenever time moves, with a single process too",
          "[lab][simulation]") {
  struct Account {
    int balance = 0;
  };
  const auto broken_by = [](const std::function<void(Process&, Account&)>& body) {
    Simulation simulation{[&body](World& world) {
      auto& account = world.make<Account>();
      world.start("alone", [&](Process& self) { body(self, account); });
      world.always("the balance is never negative", [&] { return account.balance >= 0; });
    }};
    const auto report = simulation.run(1);
    return report.violation ? report.violation->at : Duration(-1);
  };
  const auto at_a_wait = [](Process& self, Account& account) {
    self.work(3s);
    account.balance = -5;
    self.work(10s);
    account.balance = 5;
    for (;;) self.work(1s);
  };
  CHECK(broken_by(at_a_wait) == 3s);
  const auto by_an_alarm = [](Process& self, Account& account) {
    const TimePoint now = self.clock()->now();
    const auto spend = self.clock()->alarm(now + 5s, [&] { account.balance = -5; });
    const auto earn = self.clock()->alarm(now + 6s, [&] { account.balance = 5; });
    self.work(10s);
  };
  CHECK(broken_by(by_an_alarm) == 5s);
}

TEST_CASE("a check that throws anything is a violation, and the processes are unwound",
          "[lab][simulation]") {
  struct Unwinding {
    int& times;
    ~Unwinding() { ++times; }
  };
  int unwound = 0;
  Simulation simulation{[&unwound](World& world) {
    auto& checks = world.make<int>(0);
    for (const char* name : {"a", "b"}) {
      world.start(name, [&unwound](Process& self) {
        const Unwinding counted{unwound};
        for (;;) self.work(1s);
      });
    }
    world.always("it holds", [&checks]() -> bool {
      if (++checks == 5) throw 42;
      return true;
    });
  }};
  const auto report = simulation.run(1);
  REQUIRE(report.violation);
  CHECK(report.violation->invariant == "it holds");
  CHECK_THAT(report.violation->detail, ContainsSubstring("its check threw"));
  CHECK(unwound == 2);
}
