// SPDX-License-Identifier: MIT
#pragma once
// What the demonstration counts, and how it is shown.

#include <string>
#include <vector>

namespace demo {

// One job: one arm on one seed.
struct Outcome {
  bool finished = false;
  int attempts = 0;
  int pages_sent = 0;  // Whole bodies, by the server's log.
  int sent_again = 0;  // Pages whose whole body was sent more than once.
  double seconds = 0.0;
  std::string failures{};  // As JSON: how often each failure type was met.
  std::string report{};    // The report's JSON; empty if there is none.
  std::string error{};
};

struct Arm {
  std::string name{};
  std::string meaning{};
  std::vector<Outcome> outcomes{};  // One a seed.
};

// The table of all arms, with a line of headings.
std::string table_of(const std::vector<Arm>& arms);

}  // namespace demo
