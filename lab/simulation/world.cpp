// SPDX-License-Identifier: MIT
#include "lab/simulation/world_state.hpp"
#include "lab/simulation/world_stores.hpp"

#include "triage/policies/duration.hpp"

#include <exception>
#include <utility>

namespace triage::inline v0_1::lab {
namespace detail {
namespace {

constexpr int last_turns = 1'000;  // For remaining tasks when a world ends early.

}  // namespace

WorldState::WorldState(StackPool& stacks, std::uint64_t seed, const SimulationOptions& options,
                       Chaos chaos)
    : seed_(seed),
      options_(options),
      scheduler_(stacks, seed, options.keep_trace),
      chaos_(std::move(chaos)) {}

void WorldState::start(std::string name, std::function<void(Process&)> body, StartOptions options) {
  SimulatedProcess& process = processes_.emplace_back(SimulatedProcess{
      .world = *this, .name = std::move(name), .body = std::move(body), .options = options});
  const auto clock = std::make_shared<WorldClock>(scheduler_);
  process.random = random(process.name);
  process.chaos = chaos_.branch(process.name, {.clock = clock, .kill = [&process] {
                                                 if (process.living != nullptr) {
                                                   process.living->kill();
                                                 }
                                               }});
  process.clock = process.chaos->clock(clock);
  begin_life(process, options.after);
}

void WorldState::begin_life(SimulatedProcess& process, Duration after) {
  Incarnation& life =
      lives_.emplace_back(Incarnation{.process = process, .start = ++process.starts});
  scheduler_.start(after, process.name, [this, &life] { live(life); });
}

void WorldState::live(Incarnation& life) {
  if (!life.alive) return;  // The world ended before this life began.
  SimulatedProcess& process = life.process;
  process.living = &life;
  scheduler_.trace(process.name, "started", {}, static_cast<std::uint64_t>(life.start));
  try {
    Process self(life);
    process.body(self);
  } catch (const ProcessKilled&) {
    life.kill();
  } catch (const std::exception& e) {
    violated("no body throws", process.name + ": " + e.what());
  } catch (...) {
    violated("no body throws", process.name + ": something that is not a std::exception");
  }
  process.living = nullptr;
  scheduler_.trace(process.name, "ended");
  const StartOptions& options = process.options;
  if (life.alive || !options.restart_after || process.starts >= options.max_starts) return;
  if (!violation_) begin_life(process, *options.restart_after);
}

std::shared_ptr<CheckpointStore> WorldState::store_for(Incarnation& life, std::string_view name) {
  const auto known = life.stores.find(name);
  if (known != life.stores.end()) return known->second;
  const auto mortal = std::make_shared<MortalStore>(stored(name));
  if (!life.alive) mortal->die();
  life.mortal.push_back(mortal);
  auto store = std::make_shared<AuditedStore>(life.process.chaos->store(mortal, std::string(name)),
                                              scheduler_, options_.audit ? &ledger_ : nullptr,
                                              life.process.name, std::string(name));
  life.stores.emplace(name, store);
  return store;
}

const std::shared_ptr<CheckpointStore>& WorldState::stored(std::string_view name) {
  const auto known = stores_.find(name);
  if (known != stores_.end()) return known->second;
  auto made = options_.make_store ? options_.make_store(name) : MemoryStore::create();
  return stores_.emplace(name, std::move(made)).first->second;
}

void WorldState::add_invariant(std::string name, std::function<std::string()> check, bool at_end) {
  invariants_.push_back({std::move(name), std::move(check), at_end});
}

void WorldState::violated(std::string invariant, std::string detail) {
  if (violation_) return;
  violation_ = Violation{std::move(invariant), std::move(detail), scheduler_.elapsed()};
  scheduler_.trace("world", "violated", violation_->invariant);
  scheduler_.stop();
}

void WorldState::count(std::string_view name, double amount) {
  const auto known = figures_.find(name);
  if (known != figures_.end()) {
    known->second += amount;
  } else {
    figures_.emplace(name, amount);
  }
}

void WorldState::check_invariants(bool at_end) {
  for (const Invariant& invariant : invariants_) {
    if (violation_) return;
    if (invariant.at_end != at_end) continue;
    try {
      if (std::string wrong = invariant.check(); !wrong.empty()) {
        violated(invariant.name, std::move(wrong));
      }
    } catch (const std::exception& e) {
      violated(invariant.name, std::string("its check threw: ") + e.what());
    } catch (...) {
      violated(invariant.name, "its check threw something that is not a std::exception");
    }
  }
}

void WorldState::check_end() {
  if (scheduler_.is_over_limit()) {
    const bool busy = scheduler_.events() > options_.most_events;
    violated("the world ends", "something still goes on after " +
                                   (busy ? std::to_string(scheduler_.events()) +
                                               " events, more than SimulationOptions::most_events"
                                         : format_duration(options_.longest) +
                                               " of simulated time, SimulationOptions::longest"));
  }
  if (options_.audit && !violation_) {
    if (std::string lost = ledger_.lost_records(stores_); !lost.empty()) {
      violated("no acknowledged record is lost", std::move(lost));
    }
  }
  check_invariants(true);
}

SeedReport WorldState::play(const std::function<void(World&)>& set_up) {
  World world(*this);
  set_up(world);
  const auto& start = testing::SimulatedClock::start;
  scheduler_.run(start + std::min(options_.longest, TimePoint::max() - start), options_.most_events,
                 [this] { check_invariants(false); });
  check_end();
  SeedReport report{.seed = seed_,
                    .trace_hash = scheduler_.hash(),
                    .events = scheduler_.events() + chaos_.injected_count(),
                    .elapsed = scheduler_.elapsed(),
                    .injected = chaos_.injected(),
                    .violation = violation_,
                    .figures = figures_,
                    .trace = scheduler_.take_trace()};
  for (const Injection& one : report.injected) {
    report.trace_hash = mixed(report.trace_hash, fnv1a(one.place), one.visit, one.draw,
                              static_cast<std::uint64_t>(one.fault));
  }
  for (Incarnation& life : lives_) life.kill();
  const std::size_t left = scheduler_.wind_up(last_turns);
  if (left > 0 && !report.violation) {
    report.violation = Violation{"the world ends", std::to_string(left) + " processes did not stop",
                                 report.elapsed};
  }
  return report;
}

}  // namespace detail

std::uint64_t World::seed() const noexcept { return state_.seed(); }
Duration World::elapsed() const noexcept { return state_.scheduler().elapsed(); }
std::shared_ptr<Random> World::random(std::string_view name) const { return state_.random(name); }
const std::shared_ptr<CheckpointStore>& World::stored(std::string_view name) {
  return state_.stored(name);
}
void World::start(std::string name, std::function<void(Process&)> body, StartOptions options) {
  state_.start(std::move(name), std::move(body), options);
}
void World::violated(std::string invariant, std::string detail) {
  state_.violated(std::move(invariant), std::move(detail));
}
void World::note(std::string_view text) { state_.scheduler().trace("world", "note", text); }
void World::count(std::string_view name, double amount) { state_.count(name, amount); }
void World::add_invariant(std::string name, Check check, bool at_end) {
  state_.add_invariant(std::move(name), std::move(check), at_end);
}
void World::keep(std::shared_ptr<void> object) { state_.keep(std::move(object)); }

}  // namespace triage::inline v0_1::lab
