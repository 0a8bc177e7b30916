// SPDX-License-Identifier: MIT
#include "exported_runs.hpp"

#include "triage/detail/try.hpp"
#include "triage/repair.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {

Result<std::vector<RunId>> runs_to_export(CheckpointStore& from, std::span<const RunId> asked) {
  std::vector<RunId> runs;
  for (const RunId& run : asked) {
    if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
  }
  if (!runs.empty()) return outcome::success(std::move(runs));
  TRIAGE_TRY(all, from.runs({.limit = 0}));
  for (const RunInfo& info : all) runs.push_back(info.id);
  std::reverse(runs.begin(), runs.end());
  return outcome::success(std::move(runs));
}

std::size_t damage_of(const JournalReading& reading) {
  std::size_t damage = reading.info.damaged ? 1 : 0;
  for (const LostRecords& one : lost_records(reading)) {
    if (!one.set_aside) damage += static_cast<std::size_t>(one.last - one.first + 1);
  }
  return damage;
}

Error is_damaged(const RunId& run, std::size_t damage) {
  return {Errc::corrupt, "run \"" + run + "\": " + std::to_string(damage) +
                             (damage == 1 ? " record is" : " records are") +
                             " damaged or missing; `triage checkpoint verify` tells more, and with "
                             "--repair sets them aside"};
}

}  // namespace triage::inline v0_1::detail
