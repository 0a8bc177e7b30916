// SPDX-License-Identifier: MIT
#pragma once
// The worlds in which the project simulates itself. Each says what must hold in it.

#include "triage/lab/simulation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace triage::simulate {

struct NamedWorld {
  std::string name{};
  std::function<void(lab::World&)> set_up{};
  bool sound_disk = false;  // Records that were written can be read.
};

// Workers charge orders, die and start again: nothing is charged twice, and what is finished has
// been charged.
void charge_orders(lab::World& world);
// Two workers want the same runs.
void contend(lab::World& world);
// Runs that wait for hours are put aside and taken up again.
void nap(lab::World& world);
// Bookings are undone where a run is rolled back or given up.
void book_and_undo(lab::World& world);
// Many agents behind one rate limiter and one circuit breaker.
void share_gates(lab::World& world);
// One agent with ten steps of a second each: what simulating it costs.
void ten_steps(lab::World& world);

// --- waiting_worlds.cpp
// A run waits for a signal, which two others send, each with another value.
void signals(lab::World& world);
// Two branches of a run that goes on meanwhile, one of them a what-if.
void branch_off(lab::World& world);
// Two people decide on one run at the same time.
void decide_once(lab::World& world);
// WriteMode::immediate: what record_step has returned from survives every death.
void keep_every_step(lab::World& world);

[[nodiscard]] const std::vector<NamedWorld>& worlds();
// --- regressions.cpp
// A violation of the past: its world, seed and shortened faults.
struct Regression {
  std::string world{};
  std::uint64_t seed = 0;
  std::string what{};
  lab::Schedule schedule{};
};
[[nodiscard]] const std::vector<Regression>& regressions();
// Every fault that can happen in this world; each seed draws some.
[[nodiscard]] lab::FaultMix faults_of(const NamedWorld& world);

}  // namespace triage::simulate
