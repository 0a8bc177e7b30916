// SPDX-License-Identifier: MIT
#pragma once
// The contents of a simulation: processes that start and die, stores that outlive them, one time.

#include "triage/agent.hpp"
#include "triage/lab/chaos.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1::lab {

namespace detail {
class Scheduler;
class WorldState;
struct Incarnation;
}  // namespace detail

// One life of a simulated process, with its own stores, clock and faults. When it is killed, its
// stores refuse, its waits end and its runs are cancelled, so that nothing continues. What an agent
// does to the world belongs in perform() or chaos(): other code cannot be interrupted.
class Process {
 public:
  explicit Process(detail::Incarnation& incarnation) : self_(incarnation) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] int start() const noexcept;  // 1 for its first life.
  [[nodiscard]] bool alive() const noexcept;

  // The world's time. A wait lets other processes run.
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept;
  [[nodiscard]] const std::shared_ptr<Random>& random() const noexcept;
  [[nodiscard]] const Chaos& chaos() const noexcept;
  [[nodiscard]] std::stop_token stop_token() const noexcept;  // Triggered by its death.
  // The world's store of this name, as seen by this life: with faults, audited.
  [[nodiscard]] std::shared_ptr<CheckpointStore> store(std::string_view name = "store");
  // Completes options: clock, random, observer (beside the given one) and write mode `deferred`
  // instead of `background`. Leaves the store unchanged.
  [[nodiscard]] AgentOptions options(AgentOptions options = {});
  // Adds the stop token if none is given.
  [[nodiscard]] RunOptions run_options(RunOptions options = {}) const;

  // Simulates work of this length. Throws ProcessKilled if the process is dead.
  void work(Duration length);
  // An effect on the outside world, for the function of an effect or a compensation: counted by
  // idempotency key. Returns how often it has happened. Throws ProcessKilled if the process is
  // dead.
  int perform(const EffectCall& call, EffectSemantics semantics = EffectSemantics::at_most_once);
  // Whether the act happened, for EffectOptions::reconcile.
  [[nodiscard]] Reconciled reconcile(const EffectCall& call) const;
  // Dies at once. The body continues until it notices: let ProcessKilled pass.
  void kill();

  // Like the agent's own members, and compares their results with the journal. Throws ProcessKilled
  // if the process died meanwhile. options.run_id is required.
  template <class Agent, class Task>
  auto run(const Agent& agent, const Task& task, RunOptions options) {
    options = run_options(std::move(options));
    auto result = agent.run(task, options);
    compare(options.run_id, result.has_value() ? nullptr : &result.error());
    return result;
  }
  template <class Agent, class Task>
  auto run_or_resume(const Agent& agent, const RunId& id, const Task& task,
                     ResumeOptions options = {}) {
    options.run = run_options(std::move(options.run));
    auto result = agent.run_or_resume(id, task, options);
    compare(id, result.has_value() ? nullptr : &result.error());
    return result;
  }

 private:
  void compare(const RunId& run, const Error* error);

  detail::Incarnation& self_;
};

struct StartOptions {
  Duration after{0};                        // After the world's start.
  std::optional<Duration> restart_after{};  // After its death; empty: never.
  int max_starts = 20;                      // Including restarts; 1 or more.
};

// Created for each seed and filled by the simulation's function. Objects it refers to must live as
// long as the world: use make().
class World {
 public:
  explicit World(detail::WorldState& state) : state_(state) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] Duration elapsed() const noexcept;
  // A separate source of numbers for each name.
  [[nodiscard]] std::shared_ptr<Random> random(std::string_view name) const;
  // Without faults and audit: for inspection from outside.
  [[nodiscard]] const std::shared_ptr<CheckpointStore>& stored(std::string_view name = "store");

  // Starts a process: `body` is called in each of its lives, and returns when nothing is left to
  // do. An exception from it, other than ProcessKilled, is a violation.
  void start(std::string name, std::function<void(Process&)> body, StartOptions options = {});

  // Must hold whenever time moves, or at the end. A check returns a bool, or a text that describes
  // the problem, empty if there is none.
  template <class Check>
  void always(std::string name, Check check) {
    add_invariant(std::move(name), as_text(std::move(check)), false);
  }
  template <class Check>
  void finally(std::string name, Check check) {
    add_invariant(std::move(name), as_text(std::move(check)), true);
  }
  // Reports a violation found elsewhere. The first one ends the world.
  void violated(std::string invariant, std::string detail);
  // Adds a line to the trace.
  void note(std::string_view text);
  // Adds to a figure of the world's report, such as "attempts" or "tokens".
  void count(std::string_view name, double amount = 1.0);

  // An object that lives as long as the world.
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    auto made = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    T& object = *made;
    keep(std::move(made));
    return object;
  }

 private:
  using Check = std::function<std::string()>;
  template <class F>
  static Check as_text(F check) {
    if constexpr (std::same_as<std::invoke_result_t<F&>, bool>) {
      return [check = std::move(check)]() mutable { return check() ? "" : "it does not hold"; };
    } else {
      return check;
    }
  }
  void add_invariant(std::string name, Check check, bool at_end);
  void keep(std::shared_ptr<void> object);

  detail::WorldState& state_;
};

}  // namespace triage::inline v0_1::lab
