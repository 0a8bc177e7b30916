// SPDX-License-Identifier: MIT
// The race of tests/suspension/claim.hpp, often. Usage: claim_campaign [--rounds N]
#include "support/temp_folder.hpp"
#include "suspension/claim.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int count, char** words) {
  std::size_t rounds = 10'000;
  if (count == 3 && std::string_view(words[1]) == "--rounds") {
    rounds = std::strtoul(words[2], nullptr, 10);
  }
  const triage::test::TempFolder folder;
  const auto report = triage::test::claim_race(folder.file("claims.db"), rounds);
  std::printf("rounds=%zu one_winner=%zu winners=%zu losers=%zu other_errors=%zu calls=%zu\n",
              report.rounds, report.rounds_with_one_winner, report.winners, report.losers,
              report.other_errors, report.calls);
  return report.rounds_with_one_winner == rounds && report.calls == rounds &&
                 report.other_errors == 0
             ? 0
             : 1;
}
