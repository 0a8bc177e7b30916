// SPDX-License-Identifier: MIT
#pragma once
// What a run's status is called.

#include "triage/checkpoint_store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// It never ended, and has no owner any more.
[[nodiscard]] bool has_died(const RunInfo& run) noexcept;
// "running", "died" (without an owner or an end), "finished" and so on.
[[nodiscard]] std::string status_text(const RunInfo& run);
// The stored status of runs that are called so; none: there is no such name.
[[nodiscard]] std::optional<RunStatus> stored_status(std::string_view text);
// All those names: "running, died, … failed AND poisoned".
[[nodiscard]] std::string status_names(std::string_view conjunction);

}  // namespace triage::inline v0_1::cli
