// SPDX-License-Identifier: MIT
#pragma once
// Requests at given moments, for tests of gates.

#include "triage/gate.hpp"

#include <chrono>

namespace triage::gates {

inline constexpr TimePoint origin{std::chrono::hours(1)};
inline constexpr WallTime wall_origin{std::chrono::sys_days{std::chrono::January / 1 / 2026}};

// A call of "search" at "example.org", `after` the start of the test.
inline GateRequest at(std::chrono::milliseconds after, bool retry = false) {
  return {.tool = "search",
          .endpoint = "example.org",
          .retry = retry,
          .after = retry ? FailureType::external_fault : FailureType::unknown,
          .now = origin + after,
          .wall = wall_origin + after};
}

inline const GateOutcome success{};
inline const GateOutcome fault{.succeeded = false, .type = FailureType::external_fault};

// One call that passes and ends immediately; false if it was refused.
inline bool call(Gate& gate, const GateRequest& request, const GateOutcome& outcome) {
  const GateAnswer answer = gate.enter(request);
  if (answer.kind != GateAnswer::Kind::pass) return false;
  gate.leave(request, answer.ticket, &outcome);
  return true;
}

}  // namespace triage::gates
