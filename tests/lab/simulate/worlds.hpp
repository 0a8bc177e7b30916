// SPDX-License-Identifier: MIT
#pragma once
// The worlds in which the project simulates itself. Each says what must hold in it.

#include "triage/lab/simulation.hpp"

#include <functional>
#include <string>
#include <vector>

namespace triage::simulate {

struct NamedWorld {
  std::string name{};
  std::function<void(lab::World&)> set_up{};
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

[[nodiscard]] const std::vector<NamedWorld>& worlds();
// Every fault that can happen in them; each seed draws some.
[[nodiscard]] lab::FaultMix all_faults();

}  // namespace triage::simulate
