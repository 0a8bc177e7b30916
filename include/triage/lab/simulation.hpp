// SPDX-License-Identifier: MIT
#pragma once
// Many agents, stores, clocks and faults in one thread on simulated time: tries seeds until an
// invariant is violated, then reduces the faults to a few.

#include "triage/lab/schedule.hpp"
#include "triage/lab/world.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab {

// Built-in invariants: "no acknowledged record is lost", "no effect is doubled", "the outcome is
// what the journal says", "the world ends", "no body throws".
struct Violation {
  std::string invariant{};
  std::string detail{};
  Duration at{0};  // Since the world's start.
};

// The result of one seed.
struct SeedReport {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;  // Over everything that happened, with its time.
  // Lines of the trace: events of runs, operations of stores, waits, injected faults.
  std::uint64_t events = 0;
  Duration elapsed{0};  // Simulated.
  Schedule injected{};
  std::optional<Violation> violation{};
  std::map<std::string, double, std::less<>> figures{};  // What the world counted.
  std::vector<std::string> trace{};                      // If SimulationOptions::keep_trace.
};

struct SimulationOptions {
  FaultMix faults{};
  bool swarm = true;  // Each seed gets a random subset of the faults: see swarm().
  bool audit =
      true;  // Compares what was acknowledged with what is stored, at the end of the world.
  bool keep_trace = false;
  Duration longest = std::chrono::hours(24 * 365);  // Simulated. A world that exceeds these is a
  std::uint64_t most_events = 1'000'000;            // violation. Both above 0.
  std::size_t stack_bytes = 256 * 1024;             // Of each process.
  // Makes the store of this name for one world, with which it is destroyed. Null: a store in
  // memory. It runs in real time. Throw if it cannot be made.
  std::function<std::shared_ptr<CheckpointStore>(std::string_view name)> make_store{};
};

// A violating seed with as few faults as could be found.
struct ShortSeed {
  SeedReport report{};  // Of the shortened schedule.
  Schedule schedule{};
  std::size_t faults_before = 0;
  int tries = 0;
};

struct SearchReport {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t faults = 0;
  Duration elapsed{0};               // Simulated, of all seeds.
  std::optional<ShortSeed> found{};  // The first violation, shortened.
};

// set_up fills one world; it is called for each seed and each reduction step, and must depend only
// on the world. Runs use the real driver, classifier, policies, gates and stores: only time,
// randomness and faults are simulated. Each process has its own stack, and a wait on the world's
// clock lets another one run, so everything happens in the calling thread, in one order per seed.
// Other waits between processes (mutexes, condition variables) deadlock. Thread-safety: none;
// several objects may be used by several threads.
class Simulation {
 public:
  explicit Simulation(std::function<void(World&)> set_up, SimulationOptions options = {});
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  // An invalid mix is a violation of every seed, "the fault mix is sound".
  [[nodiscard]] SeedReport run(std::uint64_t seed);
  // The same world with exactly these faults.
  [[nodiscard]] SeedReport replay(std::uint64_t seed, const Schedule& schedule);
  // A schedule from which no fault can be removed without losing the violation of this invariant,
  // tried in at most `tries` worlds. Source: delta debugging (ddmin), A. Zeller and R. Hildebrandt,
  // 2002.
  [[nodiscard]] ShortSeed shrink(const SeedReport& violating, int tries = 1000);
  // Seeds first, first + 1, … until one violates. on_seed is called after each.
  [[nodiscard]] SearchReport search(std::uint64_t first, std::uint64_t count,
                                    const std::function<void(const SeedReport&)>& on_seed = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// As text: seed, invariant, detail and the faults, one per line.
[[nodiscard]] std::string describe(const ShortSeed& found);

}  // namespace triage::inline v0_1::lab
