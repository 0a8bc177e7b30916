// SPDX-License-Identifier: MIT
// Worlds in which runs wait for each other or for people, and branch.
#include "worlds.hpp"

#include "triage/operations.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/stop.hpp"

#include <map>
#include <memory>
#include <set>
#include <utility>

namespace triage::simulate {
namespace {

using namespace std::chrono_literals;
using lab::Process;
using lab::World;

constexpr int patience = 40;

FailurePolicy stubborn() {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry_with_backoff({.max_attempts = 6}))
      .otherwise(rollback({.or_start = true}));
  return policy;
}

bool passes(Errc code) {
  return code == Errc::busy || code == Errc::io || code == Errc::fenced || code == Errc::corrupt;
}

// Observations from outside.
struct Seen {
  std::map<std::string, int> values{};
  std::map<std::string, std::size_t> steps{};
  std::set<std::string> finished{};
  std::string token{};
  int continued = 0;
};

}  // namespace

void signals(World& world) {
  auto& seen = world.make<Seen>();
  const auto ask = [&world, &seen](Process& self) {
    const TriageAgent agent{
        [&self](const std::string&, Attempt& attempt) -> Result<int> {
          attempt.record_step({.action = "ask"});
          const auto answer = attempt.wait("go", self.clock()->wall_now() + 48h);
          if (!answer) return -1;
          auto looked = self.chaos().call("look", attempt, [&] { self.work(1s); });
          if (!looked) return std::move(looked).error();
          const auto again = attempt.wait("go", self.clock()->wall_now() + 48h);
          return again && *again == *answer ? answer->get<int>() : -2;
        },
        stubborn(), self.options({.name = "askers", .store = self.store(), .max_crashes = 0})};
    for (int i = 0; i < patience && seen.finished.empty(); ++i) {
      auto result = self.run_or_resume(agent, "asks", "x");
      if (!result && result.error().code == Errc::suspended) {
        self.work(20min);
        auto due = agent.resume_due(self.run_options());
        if (!self.alive()) throw lab::ProcessKilled{};
        if (due && !due.value().empty()) result = due.value().front().result;
      }
      if (result) {
        seen.finished.insert("asks");
        seen.values["asks"] = result.value();
      } else if (!passes(result.error().code) && result.error().code != Errc::suspended) {
        return;
      }
      self.work(20s);
    }
    static_cast<void>(world);
  };
  world.start("asker", ask, {.restart_after = 1min});
  for (int sender = 1; sender <= 2; ++sender) {
    const auto send = [&seen, sender](Process& self) {
      for (int i = 0; i < patience; ++i) {
        const auto sent = send_signal(*self.store(), "asks", "go", sender);
        if (!self.alive()) throw lab::ProcessKilled{};
        // A lost answer is repeated when the same signal is sent again.
        if (sent) seen.values["sent"] = sender;
        if (sent || sent.error().code == Errc::conflict) return;
        self.work(1min);
      }
    };
    world.start("sender-" + std::to_string(sender), send,
                {.after = 10min * sender, .restart_after = 2min});
  }
  world.always("one signal is taken, and whoever sent it hears so", [&seen]() -> std::string {
    if (seen.finished.empty() || !seen.values.contains("sent")) return {};
    const int got = seen.values["asks"];
    if (got == -1 || got == seen.values["sent"]) return {};
    return "sent " + std::to_string(seen.values["sent"]) + ", got " + std::to_string(got);
  });
}

void branch_off(World& world) {
  auto& seen = world.make<Seen>();
  const auto agent_of = [&seen](Process& self) {
    return TriageAgent{
        [&self, &seen](const std::string&, Attempt& attempt) -> Result<int> {
          for (auto i = attempt.trajectory().size(); i < 4; ++i) {
            auto looked = self.chaos().call("look", attempt, [&] { self.work(1s); });
            if (!looked) return std::move(looked).error();
            attempt.record_step({.action = "look"});
            const int done = attempt.effect(
                "act-" + std::to_string(i),
                [&](const EffectCall& call) {
                  ++seen.values[attempt.run_id()];
                  return self.perform(call);
                },
                {.reconcile = [&self](const EffectCall& call) { return self.reconcile(call); }});
            static_cast<void>(done);
          }
          return 4;
        },
        stubborn(), self.options({.name = "trees", .store = self.store(), .max_crashes = 0})};
  };
  world.start("origin",
              [&seen, agent_of](Process& self) {
                const auto agent = agent_of(self);
                for (int i = 0; i < patience; ++i) {
                  const auto result = self.run_or_resume(agent, "origin", "x");
                  if (result) seen.finished.insert("origin");
                  if (result || !passes(result.error().code)) return;
                  self.work(20s);
                }
              },
              {.restart_after = 3s});
  for (int number = 0; number < 2; ++number) {
    const std::string id = "branch-" + std::to_string(number);
    const bool what_if = number == 1;
    const auto fork = [id, what_if, agent_of](Process& self) {
      const auto agent = agent_of(self);
      for (int i = 0; i < patience; ++i) {
        const auto checkpoints = self.store()->checkpoints("origin");
        if (checkpoints && !checkpoints.value().empty()) {
          const auto& all = checkpoints.value();
          const auto& parent = all[self.random()->next() % all.size()];
          const auto begun =
              agent.fork(to_string(parent.id),
                         {.refuse_new_effects = what_if, .run = self.run_options({.run_id = id})});
          if (!self.alive()) throw lab::ProcessKilled{};
          if (begun) return;
          if (self.store()->run(id)) break;
        }
        self.work(2s);
      }
      for (int i = 0; i < patience; ++i) {
        const auto result = agent.resume_run(id, {.run = self.run_options()});
        if (!self.alive()) throw lab::ProcessKilled{};
        if (result || !passes(result.error().code)) return;
        self.work(20s);
      }
    };
    world.start(id, fork, {.after = 2s, .restart_after = 4s});
  }
  world.always("a what-if acts on nothing", [&seen] { return seen.values["branch-1"] == 0; });
}

void decide_once(World& world) {
  auto& seen = world.make<Seen>();
  const auto agent_of = [&seen](Process& self) {
    FailurePolicy policy;
    policy.on(FailureType::external_fault, retry({.max_attempts = 4, .delay = 1s}))
        .otherwise(suspend({.message = "may I?"}));
    return TriageAgent{
        [&self, &seen](const std::string&, Attempt& attempt) -> Result<int> {
          attempt.record_step({.action = "ask"});
          if (attempt.recovery() == nullptr) {
            return attempt.fail({.text = "not allowed", .type = FailureType::access_denied});
          }
          const int times = attempt.effect(
              "act",
              [&](const EffectCall& call) {
                ++seen.continued;
                return self.perform(call);
              },
              {.reconcile = [&self](const EffectCall& call) { return self.reconcile(call); }});
          auto looked = self.chaos().call("look", attempt, [&] { self.work(1s); });
          if (!looked) return std::move(looked).error();
          return times;
        },
        policy, self.options({.name = "clerks", .store = self.store(), .max_crashes = 0})};
  };
  world.start("clerk",
              [&seen, agent_of](Process& self) {
                const auto agent = agent_of(self);
                for (int i = 0; i < patience; ++i) {
                  const auto result = self.run_or_resume(agent, "case", "x");
                  if (!result && result.error().suspension()) {
                    seen.token = result.error().suspension()->token;
                  }
                  if (result || !passes(result.error().code)) return;
                  self.work(20s);
                }
              },
              {.restart_after = 3s});
  for (int boss = 0; boss < 2; ++boss) {
    const auto body = [&seen, agent_of](Process& self) {
      const auto agent = agent_of(self);
      for (int i = 0; i < patience; ++i) {
        if (!seen.token.empty()) {
          const auto result =
              agent.decide(seen.token, RecoveryAction::retry(), {.run = self.run_options()});
          if (!self.alive()) throw lab::ProcessKilled{};
          if (result) seen.finished.insert(self.name());
          if (result || !passes(result.error().code)) break;
        }
        self.work(10s);
      }
      // Any boss that finds it started and abandoned continues it.
      for (int i = 0; i < patience; ++i) {
        const auto result = self.run_or_resume(agent, "case", "x");
        if (result || !passes(result.error().code)) return;
        self.work(20s);
      }
    };
    world.start("boss-" + std::to_string(boss), body, {.after = 30s, .restart_after = 5s});
  }
  world.always("a token is good for one decision",
               [&seen] { return seen.finished.size() <= 1 || seen.continued <= 1; });
}

void keep_every_step(World& world) {
  auto& seen = world.make<Seen>();
  world.start("writer",
              [&world, &seen](Process& self) {
                AgentOptions options{.name = "writers", .store = self.store(), .max_crashes = 0};
                options.write_mode = WriteMode::immediate;
                const TriageAgent agent{
                    [&](const std::string&, Attempt& attempt) -> Result<int> {
                      std::size_t& kept = seen.steps["all"];
                      // Only a decision of the policy discards steps.
                      const bool died = attempt.recovery() != nullptr &&
                                        attempt.recovery()->reason == "process_died";
                      if (died && attempt.trajectory().size() < kept) {
                        world.violated("a step that record_step returned from is not lost",
                                       std::to_string(attempt.trajectory().size()) + " of " +
                                           std::to_string(kept) + " are left");
                      }
                      kept = attempt.trajectory().size();
                      while (attempt.trajectory().size() < 8) {
                        auto looked = self.chaos().call("look", attempt, [&] { self.work(1s); });
                        if (!looked) return std::move(looked).error();
                        attempt.record_step({.action = "write"});
                        if (attempt.error()) return 0;  // It was not recorded.
                        if (self.alive()) kept = attempt.trajectory().size();
                      }
                      return 8;
                    },
                    stubborn(), self.options(options)};
                for (int i = 0; i < patience; ++i) {
                  const auto result = self.run_or_resume(agent, "writes", "x");
                  if (result || !passes(result.error().code)) return;
                  self.work(20s);
                }
              },
              {.restart_after = 2s});
}

}  // namespace triage::simulate
