// SPDX-License-Identifier: MIT
#include "triage/lab/simulation.hpp"

#include "lab/simulation/shrink.hpp"
#include "lab/simulation/world_state.hpp"
#include "lab/simulation/world_stores.hpp"

#include <utility>

namespace triage::inline v0_1::lab {

struct Simulation::Parts {
  std::function<void(World&)> set_up;
  SimulationOptions options;
  detail::StackPool stacks;

  SeedReport play(std::uint64_t seed, Chaos chaos) {
    detail::WorldState state(stacks, seed, options, std::move(chaos));
    return state.play(set_up);
  }
};

Simulation::Simulation(std::function<void(World&)> set_up, SimulationOptions options)
    : parts_(new Parts{.set_up = std::move(set_up),
                       .options = options,
                       .stacks = detail::StackPool(options.stack_bytes)}) {}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

SeedReport Simulation::run(std::uint64_t seed) {
  const SimulationOptions& options = parts_->options;
  if (auto checked = check_fault_mix(options.faults); !checked) {
    return {.seed = seed,
            .violation = Violation{"the fault mix is sound", checked.error().detail, {}}};
  }
  FaultMix mix = options.swarm ? swarm(options.faults, seed) : options.faults;
  return parts_->play(seed, Chaos(std::move(mix), {.seed = seed}));
}

SeedReport Simulation::replay(std::uint64_t seed, const Schedule& schedule) {
  return parts_->play(seed, Chaos::replay(schedule, {.seed = seed}));
}

ShortSeed Simulation::shrink(const SeedReport& violating, int tries) {
  ShortSeed found{.report = violating,
                  .schedule = violating.injected,
                  .faults_before = violating.injected.size()};
  if (!violating.violation) return found;
  const auto still = [&](const Schedule& schedule) {
    SeedReport report = replay(violating.seed, schedule);
    const bool violates =
        report.violation && report.violation->invariant == violating.violation->invariant;
    if (violates) found.report = std::move(report);
    return violates;
  };
  found.schedule = detail::shortest(violating.injected, still, tries, found.tries);
  return found;
}

SearchReport Simulation::search(std::uint64_t first, std::uint64_t count,
                                const std::function<void(const SeedReport&)>& on_seed) {
  SearchReport search;
  for (; search.seeds < count && !search.found; ++search.seeds) {
    const SeedReport report = run(first + search.seeds);
    search.events += report.events;
    search.faults += report.injected.size();
    search.elapsed += report.elapsed;
    if (on_seed) on_seed(report);
    if (report.violation) search.found = shrink(report);
  }
  return search;
}

std::string describe(const ShortSeed& found) {
  const SeedReport& report = found.report;
  std::string text = "seed " + std::to_string(report.seed);
  if (report.violation) {
    text += " violates \"" + report.violation->invariant + "\": " + report.violation->detail;
  }
  text += "\n" + std::to_string(found.schedule.size()) + " faults of " +
          std::to_string(found.faults_before) + " are enough (" + std::to_string(found.tries) +
          " tries):\n" + describe(found.schedule);
  return text;
}

}  // namespace triage::inline v0_1::lab
