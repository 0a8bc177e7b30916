// SPDX-License-Identifier: MIT
#include "exported_runs.hpp"

#include "triage/detail/try.hpp"
#include "triage/repair.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {

Result<std::vector<RunInfo>> runs_to_export(CheckpointStore& from, std::span<const RunId> asked) {
  std::vector<RunInfo> runs;
  for (const RunId& run : asked) {
    const bool again = std::any_of(runs.begin(), runs.end(),
                                   [&](const RunInfo& known) { return known.id == run; });
    if (!again) runs.push_back({.id = run});
  }
  if (!runs.empty()) return outcome::success(std::move(runs));
  TRIAGE_TRY(all, from.runs({.limit = 0}));
  std::reverse(all.begin(), all.end());
  return outcome::success(std::move(all));
}

std::optional<Error> why_unreadable(const RunInfo& listed, const Error& error) {
  if (!listed.damaged || error.code == Errc::not_found) return std::nullopt;
  // The id is the store's, and nobody's argument.
  const Errc code = error.code == Errc::invalid_argument ? Errc::corrupt : error.code;
  return Error{code, "run \"" + printable(listed.id) + "\" cannot be read: " + error.detail};
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
