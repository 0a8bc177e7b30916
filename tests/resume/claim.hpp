// SPDX-License-Identifier: MIT
#pragma once
// Threads of one or more processes that continue the same suspended run at the same time.

#include <cstddef>
#include <string>

namespace triage::test {

struct ClaimReport {
  std::size_t rounds = 0;
  std::size_t rounds_with_one_winner = 0;
  std::size_t winners = 0;
  std::size_t winners_by_time = 0;  // Of those, the ones without a token: resume_due().
  std::size_t losers = 0;           // Told that the token was used, or that another has the run.
  std::size_t other_errors = 0;     // Anything else.
  std::size_t calls = 0;            // Of the callable, after a decision.
};

struct Contenders {
  unsigned processes = 2;
  unsigned threads = 2;  // Of each process.
  bool by_time = false;  // Every other one has no token and takes up due runs.
};

// `database` must not exist. One suspended run and one token a round.
[[nodiscard]] ClaimReport claim_race(const std::string& database, std::size_t rounds,
                                     const Contenders& contenders = {});

}  // namespace triage::test
