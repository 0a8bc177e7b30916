// SPDX-License-Identifier: MIT
#pragma once
// The worlds in which the project simulates itself. Each states its invariants.

#include "triage/lab/simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace triage::simulate {

struct NamedWorld {
  std::string name{};
  std::function<void(lab::World&)> set_up{};
  bool sound_disk = false;  // Written records can always be read.
};

// Workers charge orders, die and restart: nothing is charged twice, and every finished order has
// been charged.
void charge_orders(lab::World& world);
// Two workers compete for the same runs.
void contend(lab::World& world);
// Runs that wait for hours are suspended and continued.
void nap(lab::World& world);
// Bookings are undone when a run is rolled back or given up.
void book_and_undo(lab::World& world);
// Many agents behind one rate limiter and one circuit breaker.
void share_gates(lab::World& world);
// One agent with ten one-second steps, to measure the cost of a simulation.
void ten_steps(lab::World& world);

// --- waiting_worlds.cpp
// A run waits for a signal that two others send with different values.
void signals(lab::World& world);
// Two branches, one of them a what-if, of a run that continues meanwhile.
void branch_off(lab::World& world);
// Two people decide on one run at the same time.
void decide_once(lab::World& world);
// WriteMode::immediate: a step survives every death once record_step has returned.
void keep_every_step(lab::World& world);

[[nodiscard]] const std::vector<NamedWorld>& worlds();
// --- regressions.cpp
// A past violation: its world, seed and reduced faults.
struct Regression {
  std::string world{};
  std::uint64_t seed = 0;
  std::string what{};
  lab::Schedule schedule{};
};
[[nodiscard]] const std::vector<Regression>& regressions();
// All faults that can happen in this world; each seed draws some.
[[nodiscard]] lab::FaultMix faults_of(const NamedWorld& world);

}  // namespace triage::simulate
