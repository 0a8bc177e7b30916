// SPDX-License-Identifier: MIT
#pragma once
// Durations in the test kit's reports.

#include "triage/clock.hpp"

#include <chrono>
#include <cstdio>
#include <string>

namespace triage::inline v0_1::testing {

// "1.5 s"; nine significant digits.
inline std::string seconds(Duration duration) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9g s", std::chrono::duration<double>(duration).count());
  return text;
}

}  // namespace triage::inline v0_1::testing
