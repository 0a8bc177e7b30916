// SPDX-License-Identifier: MIT
#pragma once
// The keys that the library stores beside a run's journal.

#include "triage/result.hpp"
#include "triage/run_id.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

[[nodiscard]] std::string signal_key(const RunId& run, std::string_view name);
[[nodiscard]] std::string label_key(std::string_view agent, std::string_view label);
// Whether a run may have this label, or none. what: "the run's label". Errors:
// Errc::invalid_argument.
[[nodiscard]] Result<void> check_run_label(std::string_view label, std::string_view what);
// Whether a user may give this label, of whatever length.
[[nodiscard]] Result<void> check_own_prefix(std::string_view label, std::string_view what);

}  // namespace triage::inline v0_1::detail
