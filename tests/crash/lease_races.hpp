// SPDX-License-Identifier: MIT
#pragma once
// Many writers that want one run at once.

#include <string>

namespace triage::test {

// Sixteen openings of the store race `races` times each for one run. Who has it appends a record,
// gives it back, and then tries to append under the old lease. Prints an account; returns how often
// something was wrong: a fork, a record that is lost or doubled, a stale append that was taken.
[[nodiscard]] int race_for_leases(const std::string& name, const std::string& url, int races);

}  // namespace triage::test
