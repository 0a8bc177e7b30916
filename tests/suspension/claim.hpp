// SPDX-License-Identifier: MIT
#pragma once
// Two threads in each of two processes that use the same tokens at the same time.

#include <cstddef>
#include <string>

namespace triage::test {

struct ClaimReport {
  std::size_t rounds = 0;
  std::size_t rounds_with_one_winner = 0;
  std::size_t winners = 0;
  std::size_t losers = 0;        // Told that the token was used, or that somebody has the run.
  std::size_t other_errors = 0;  // Anything else.
  std::size_t calls = 0;         // Of the callable, after a decision.
};

// `database` must not exist. One suspended run and one token a round.
[[nodiscard]] ClaimReport claim_race(const std::string& database, std::size_t rounds);

}  // namespace triage::test
