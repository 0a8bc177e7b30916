// SPDX-License-Identifier: MIT
#pragma once
// Many agents, stores, clocks and faults in one thread on simulated time: seeds are tried until an
// invariant is violated, and the faults that led there are shortened to a few.

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

// Invariants that need no user: "no acknowledged record is lost", "no effect is doubled", "the
// outcome is what the journal says", "the world ends", "no body throws".
struct Violation {
  std::string invariant{};
  std::string detail{};
  Duration at{0};  // Since the beginning of the world.
};

// What one seed came to.
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
  bool swarm = true;  // Each seed meets a random part of the faults: see swarm().
  bool audit =
      true;  // Compares what was acknowledged with what is stored, at the end of the world.
  bool keep_trace = false;
  Duration longest = std::chrono::hours(24 * 365);  // Simulated. A world that goes on is a
  std::uint64_t most_events = 1'000'000;            // violation. Both above 0.
  std::size_t stack_bytes = 256 * 1024;             // Of each process.
  // Makes the store of this name for one world; it dies with the world. Null: a store in memory. It
  // works in real time. Throw what keeps it from being made.
  std::function<std::shared_ptr<CheckpointStore>(std::string_view name)> make_store{};
};

// A seed that violates, with as few faults as were found to do so.
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

// set_up fills one world; it is called for each seed and each try of shortening, and must depend on
// the world alone. The driver of the runs, the classifier, policies, gates and stores are those
// that ship: only time, randomness and faults are made up. Each process has a stack of its own, and
// a wait on the world's clock lets another one run; so everything happens in the calling thread, in
// one order for each seed. Waits of other kinds (mutexes, condition variables) between processes
// are deadlocks.
// Thread-safety: none; several objects may be used by several threads.
class Simulation {
 public:
  explicit Simulation(std::function<void(World&)> set_up, SimulationOptions options = {});
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  // Errors of the mix are a violation of every seed, "the fault mix is sound".
  [[nodiscard]] SeedReport run(std::uint64_t seed);
  // The same world with exactly these faults.
  [[nodiscard]] SeedReport replay(std::uint64_t seed, const Schedule& schedule);
  // A schedule of which no fault can be left out any more without losing the violation of this
  // invariant, in at most `tries` worlds. Source: delta debugging (ddmin), A. Zeller and R.
  // Hildebrandt, 2002.
  [[nodiscard]] ShortSeed shrink(const SeedReport& violating, int tries = 1000);
  // Seeds first, first + 1, … until one violates. on_seed is called after each.
  [[nodiscard]] SearchReport search(std::uint64_t first, std::uint64_t count,
                                    const std::function<void(const SeedReport&)>& on_seed = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// For people: seed, invariant, detail and the faults, one a line.
[[nodiscard]] std::string describe(const ShortSeed& found);

}  // namespace triage::inline v0_1::lab
