// SPDX-License-Identifier: MIT
// Repeats the races of tests/resume/claim.hpp: two threads, two processes, two threads in each of
// two processes, and token against time. Usage: claim_campaign [--rounds N]
#include "resume/claim.hpp"
#include "support/temp_folder.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

int main(int count, char** words) {
  std::size_t rounds = 10'000;
  if (count == 3 && std::string_view(words[1]) == "--rounds") {
    rounds = std::strtoul(words[2], nullptr, 10);
  }
  using triage::test::Contenders;
  const std::pair<const char*, Contenders> races[] = {
      {"two threads", {.processes = 1, .threads = 2}},
      {"two processes", {.processes = 2, .threads = 1}},
      {"two threads each", {.processes = 2, .threads = 2}},
      {"decide, resume_due", {.processes = 2, .threads = 1, .by_time = true}},
  };
  bool good = true;
  for (const auto& [name, contenders] : races) {
    const triage::test::TempFolder folder;
    const auto report = triage::test::claim_race(folder.file("claims.db"), rounds, contenders);
    std::printf(
        "%-18s rounds=%zu one_winner=%zu winners=%zu by_time=%zu losers=%zu other_errors=%zu "
        "calls=%zu\n",
        name, report.rounds, report.rounds_with_one_winner, report.winners, report.winners_by_time,
        report.losers, report.other_errors, report.calls);
    std::fflush(stdout);
    good = good && report.rounds_with_one_winner == rounds && report.calls == rounds &&
           report.other_errors == 0;
  }
  return good ? 0 : 1;
}
