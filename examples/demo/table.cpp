// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>
#include <cstdio>

namespace demo {
namespace {

std::string row_of(const Arm& arm) {
  int finished = 0;
  int attempts = 0;
  int most = 0;
  int sent = 0;
  int again = 0;
  double seconds = 0.0;
  for (const Outcome& outcome : arm.outcomes) {
    finished += outcome.finished ? 1 : 0;
    attempts += outcome.attempts;
    most = std::max(most, outcome.attempts);
    sent += outcome.pages_sent;
    again += outcome.sent_again;
    seconds += outcome.seconds;
  }
  const auto runs = static_cast<double>(std::max<std::size_t>(arm.outcomes.size(), 1));
  char row[256];
  std::snprintf(row, sizeof row, "%-8s %4d of %-4zu %8.1f %6d %10d %12d %10.2f s   %s\n",
                arm.name.c_str(), finished, arm.outcomes.size(), attempts / runs, most, sent, again,
                seconds / runs, arm.meaning.c_str());
  return row;
}

}  // namespace

std::string table_of(const std::vector<Arm>& arms) {
  std::string text =
      "arm      finished       attempts       pages    pages sent   time\n"
      "                        mean    most   sent     repeatedly   mean\n";
  for (const Arm& arm : arms) text += row_of(arm);
  return text;
}

}  // namespace demo
