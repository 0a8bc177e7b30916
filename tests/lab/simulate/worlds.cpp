// SPDX-License-Identifier: MIT
#include "worlds.hpp"

#include "triage/policies/backoff.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/stop.hpp"

#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace triage::simulate {
namespace {

using namespace std::chrono_literals;
using lab::Fault;
using lab::Process;
using lab::World;

constexpr int patience = 40;  // How often a worker retries a run that it cannot have now.

FailurePolicy patient_policy() {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry_with_backoff({.max_attempts = 6}))
      .on(FailureType::timeout, rollback({.or_start = true}))
      .on(FailureType::unknown, retry({.max_attempts = 4, .delay = 1s}))
      .otherwise(rollback({.or_start = true}));
  return policy;
}

// Works on a run until it ends or patience runs out.
template <class Agent>
Result<int> insist(Process& self, const Agent& agent, const std::string& id) {
  for (int i = 0;; ++i) {
    auto result = self.run_or_resume(agent, id, id);
    if (result || i == patience) return result;
    const Errc code = result.error().code;
    const bool passes = code == Errc::busy || code == Errc::io || code == Errc::fenced;
    if (!passes) return result;
    self.work(20s);
  }
}

// Effects as seen from outside: how often each is in place.
struct Outside {
  std::map<std::string, int> in_place{};
  std::set<std::string> finished{};
};

// Charges an order in the middle of a few steps.
auto charging_agent(Process& self, Outside& outside) {
  return TriageAgent{
      [&self, &outside](const std::string& order, Attempt& attempt) -> Result<int> {
        for (int i = static_cast<int>(attempt.trajectory().size()); i < 4; ++i) {
          auto looked = self.chaos().call("look", attempt, [&] {
            self.work(200ms);
            return i;
          });
          if (!looked) return std::move(looked).error();
          attempt.record_step({.action = "look", .tool_output = looked.value()});
          attempt.update_state({{"looked", i}});
        }
        const int receipt = attempt.effect(
            "charge",
            [&](const EffectCall& call) {
              const auto charged = self.chaos().call("charge", [&] {
                const int times = self.perform(call);  // A dead process does not get past it.
                ++outside.in_place[order];
                return times;
              });
              return charged.value();
            },
            {.reconcile = [&self](const EffectCall& call) { return self.reconcile(call); }});
        auto told = self.chaos().call("tell", attempt, [&] { self.work(100ms); });
        if (!told) return std::move(told).error();
        return receipt;
      },
      patient_policy(), self.options({.name = "orders", .store = self.store(), .max_crashes = 0})};
}

void check_charges(World& world, Outside& outside) {
  world.always("no order is charged twice", [&outside]() -> std::string {
    for (const auto& [order, times] : outside.in_place) {
      if (times > 1) return order + " was charged " + std::to_string(times) + " times";
    }
    return {};
  });
  world.finally("what is finished has been charged", [&outside]() -> std::string {
    for (const std::string& order : outside.finished) {
      if (outside.in_place[order] != 1) return order + " was not charged";
    }
    return {};
  });
}

// After its run has ended for good, a trip is booked entirely or not at all; a run that could not
// undo a booking reports so.
void check_bookings(World& world, Outside& outside, const std::string& id,
                    const Result<int>& result) {
  const bool given_up = !result && result.error().code == Errc::aborted;
  if (!result && !given_up) return;
  for (const std::string part : {"flight", "room", "car"}) {
    const std::string key = id + "/" + part;
    const int there = outside.in_place[key];
    const bool told =
        given_up && there == 1 &&
        result.error().detail.find("\"" + key + "\" could not be undone") != std::string::npos;
    if (there == (result ? 1 : 0) || told) continue;
    world.violated("bookings are in place if the trip is, and only then",
                   key + " is there " + std::to_string(there) + " times");
  }
}

}  // namespace

void charge_orders(World& world) {
  auto& outside = world.make<Outside>();
  for (int worker = 0; worker < 3; ++worker) {
    const auto body = [&outside, worker](Process& self) {
      const auto agent = charging_agent(self, outside);
      for (int i = 0; i < 3; ++i) {
        const std::string id = "order-" + std::to_string(worker) + "-" + std::to_string(i);
        if (insist(self, agent, id)) outside.finished.insert(id);
      }
    };
    world.start("worker-" + std::to_string(worker), body, {.restart_after = 2s});
  }
  check_charges(world, outside);
}

void contend(World& world) {
  auto& outside = world.make<Outside>();
  for (int worker = 0; worker < 2; ++worker) {
    const auto body = [&outside](Process& self) {
      const auto agent = charging_agent(self, outside);
      for (int i = 0; i < 3; ++i) {
        const std::string id = "order-" + std::to_string(i);
        if (insist(self, agent, id)) outside.finished.insert(id);
      }
    };
    world.start("rival-" + std::to_string(worker), body, {.restart_after = 1s});
  }
  check_charges(world, outside);
}

void nap(World& world) {
  auto& outside = world.make<Outside>();
  world.start("sleeper",
              [&outside](Process& self) {
                const TriageAgent agent{
                    [&self](const std::string& name, Attempt& attempt) -> Result<int> {
                      attempt.record_step({.action = "begin"});
                      attempt.sleep_for("a while", 2h);
                      auto looked = self.chaos().call("look", attempt, [&] { return name.size(); });
                      if (!looked) return std::move(looked).error();
                      attempt.sleep_for("a while more", 3h);
                      return 1;
                    },
                    patient_policy(),
                    self.options({.name = "sleepers", .store = self.store(), .max_crashes = 0})};
                for (int i = 0; i < 3; ++i)
                  static_cast<void>(insist(self, agent, "nap-" + std::to_string(i)));
                for (int i = 0; i < patience && outside.finished.size() < 3; ++i) {
                  self.work(30min);
                  auto resumed = agent.resume_due(self.run_options());
                  if (!self.alive()) throw lab::ProcessKilled{};
                  if (!resumed) continue;
                  for (auto& one : resumed.value()) {
                    if (one.result) outside.finished.insert(one.run);
                  }
                }
              },
              {.restart_after = 5min});
  world.finally("what was told to be finished is stored so", [&world, &outside]() -> std::string {
    for (const std::string& run : outside.finished) {
      const auto info = world.stored()->run(run);
      if (!info || info.value().status != RunStatus::finished) return run + " is not";
    }
    return {};
  });
}

void book_and_undo(World& world) {
  auto& outside = world.make<Outside>();
  const auto body = [&world, &outside](Process& self) {
    FailurePolicy policy;
    policy.on(FailureType::external_fault, rollback({.or_start = true}))
        .on(FailureType::unknown, retry({.max_attempts = 3}))
        .otherwise(abort_run("no way"));
    const auto ask = [&self](const EffectCall& call) { return self.reconcile(call); };
    const auto undo = [&self, &outside](const EffectCall& call) {
      const auto undone = self.chaos().call("undo", [&] {
        const int times = self.perform(call);
        --outside.in_place[call.key];
        return times;
      });
      static_cast<void>(undone.value());
    };
    AgentOptions options{.name = "trips", .store = self.store(), .max_crashes = 0};
    // By name, because a process that continues after a crash has no other way to find them.
    options.compensations["undo"] = Compensation(undo, ask);
    options.reconciliations["ask"] = ask;
    const TriageAgent agent{
        [&self, &outside](const std::string& trip, Attempt& attempt) -> Result<int> {
          for (const std::string part : {"flight", "room", "car"}) {
            attempt.record_step({.action = "book " + part});
            attempt.effect(trip + "/" + part,
                           [&](const EffectCall& call) {
                             const auto booked = self.chaos().call("book", [&] {
                               const int times = self.perform(call);
                               ++outside.in_place[call.key];
                               return times;
                             });
                             return booked.value();
                           },
                           {.reconcile = "ask", .compensate = "undo"});
            auto looked = self.chaos().call("look", attempt, [&] { self.work(1s); });
            if (!looked) return std::move(looked).error();
          }
          return 3;
        },
        policy, self.options(options)};
    for (int i = 0; i < 2; ++i) {
      const std::string id = "trip-" + self.name() + std::to_string(i);
      const auto result = insist(self, agent, id);
      if (result) outside.finished.insert(id);
      check_bookings(world, outside, id, result);
    }
  };
  world.start("left", body, {.restart_after = 3s});
  world.start("right", body, {.restart_after = 3s});
}

void share_gates(World& world) {
  auto& starts = world.make<std::vector<Duration>>();
  auto& gates = world.make<std::vector<std::shared_ptr<Gate>>>();
  gates.push_back(RateLimiter::create({.permits = 5, .period = 1s}).value());
  gates.push_back(CircuitBreaker::create({.window = 10s, .minimum_calls = 4}).value());
  for (int worker = 0; worker < 6; ++worker) {
    const auto body = [&world, &starts, &gates](Process& self) {
      const TriageAgent agent{
          [&self, &world, &starts](const std::string&, Attempt& attempt) -> Result<int> {
            starts.push_back(world.elapsed());
            auto called = self.chaos().call("look", attempt, [&] { self.work(300ms); });
            if (!called) return std::move(called).error();
            return 1;
          },
          patient_policy(),
          self.options(
              {.name = "callers", .store = self.store(), .gates = gates, .max_crashes = 0})};
      for (int i = 0; i < 4; ++i) {
        static_cast<void>(insist(self, agent, self.name() + "-" + std::to_string(i)));
      }
    };
    world.start("caller-" + std::to_string(worker), body, {.restart_after = 1s});
  }
  world.always("no more than the limiter lets pass begins within a second", [&starts] {
    const std::size_t n = starts.size();
    return n <= 5 || starts[n - 1] - starts[n - 6] >= 1s;
  });
}

void ten_steps(World& world) {
  auto& outside = world.make<Outside>();
  world.start("walker",
              [&outside](Process& self) {
                const TriageAgent agent{
                    [&self](const std::string&, Attempt& attempt) -> Result<int> {
                      int sum = attempt.state().value("sum", 0);
                      // Counted in one place, because a step may exist without the state after it.
                      while (sum < 10) {
                        auto looked = self.chaos().call("look", attempt, [&] {
                          self.work(1s);
                          return 1;
                        });
                        if (!looked) return std::move(looked).error();
                        attempt.record_step({.action = "step"});
                        attempt.update_state({{"sum", sum += looked.value()}});
                      }
                      return sum;
                    },
                    patient_policy(),
                    self.options({.name = "walkers", .store = self.store(), .max_crashes = 0})};
                const auto result = insist(self, agent, "walk");
                if (result) outside.in_place["walk"] = result.value();
              },
              {.restart_after = 1s});
  world.finally("a walk has ten steps", [&outside]() -> std::string {
    const auto walk = outside.in_place.find("walk");
    if (walk == outside.in_place.end() || walk->second == 10) return {};
    return "it had " + std::to_string(walk->second);
  });
}

const std::vector<NamedWorld>& worlds() {
  static const std::vector<NamedWorld> all{{"charge_orders", charge_orders},
                                           {"contend", contend},
                                           {"nap", nap},
                                           {"book_and_undo", book_and_undo},
                                           {"share_gates", share_gates},
                                           {"ten_steps", ten_steps},
                                           {"signals", signals},
                                           {"branch_off", branch_off},
                                           {"decide_once", decide_once},
                                           {"keep_every_step", keep_every_step, true}};
  return all;
}

lab::FaultMix faults_of(const NamedWorld& world) {
  const std::vector<FailureType> any(all_failure_types.begin(), all_failure_types.end());
  lab::FaultMix mix{.name = "all"};
  // Not where something is undone: what cannot be undone stays and is reported.
  for (const std::string site : {"look", "tell", "charge", "book"}) {
    mix.rules.push_back({.fault = Fault::fails, .site = site, .rate = 0.1, .types = any});
    mix.rules.push_back({.fault = Fault::throws, .site = site, .rate = 0.05, .types = any});
    mix.rules.push_back({.fault = Fault::kill, .site = site, .rate = 0.04});
  }
  const std::vector<lab::FaultRule> others{
      {.fault = Fault::latency, .site = "look", .rate = 0.1, .length = 3s},
      {.fault = Fault::hang, .site = "look", .rate = 0.02, .length = 2min},
      {.fault = Fault::kill, .site = "undo", .rate = 0.05},
      {.fault = Fault::kill, .site = "store", .rate = 0.01},
      {.fault = Fault::store_outage, .site = "store", .rate = 0.03},
      {.fault = Fault::lost_answer, .site = "store", .rate = 0.03},
      {.fault = Fault::latency, .site = "store", .rate = 0.02, .length = 500ms},
      {.fault = Fault::corrupt_checkpoint, .site = "store", .rate = 0.05},
      {.fault = Fault::clock_jump, .rate = 0.01, .length = 1h},
      {.fault = Fault::clock_jump, .rate = 0.01, .length = -1h}};
  for (const lab::FaultRule& rule : others) {
    if (rule.fault != Fault::corrupt_checkpoint || !world.sound_disk) mix.rules.push_back(rule);
  }
  return mix;
}

}  // namespace triage::simulate
