// SPDX-License-Identifier: MIT
#pragma once
// The keys that the library stores beside a run's journal.

#include "triage/run_id.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

[[nodiscard]] std::string signal_key(const RunId& run, std::string_view name);
[[nodiscard]] std::string label_key(std::string_view agent, std::string_view label);

}  // namespace triage::inline v0_1::detail
