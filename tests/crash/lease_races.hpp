// SPDX-License-Identifier: MIT
#pragma once
// Many writers compete for one run.

#include <string>

namespace triage::test {

// Sixteen openings of the store race `races` times each for one run. The holder appends a record,
// releases the run, and then tries to append under the old lease. Prints a report; returns the
// number of violations: forks, lost or duplicated records, accepted stale appends.
[[nodiscard]] int race_for_leases(const std::string& name, const std::string& url, int races);

}  // namespace triage::test
