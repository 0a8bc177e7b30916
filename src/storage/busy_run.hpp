// SPDX-License-Identifier: MIT
#pragma once
// Says in words who is at work on a run.

#include "triage/result.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// "process 4711 (sh) on this host, since 2026-11-23 15:02:11 UTC". owner, own: texts of OwnerMarks,
// own of this process. The time is the start of the process; a part that is unknown is left out.
[[nodiscard]] std::string owner_in_words(std::string_view owner, std::string_view own);

// Errc::busy: the run is under way, and whose it is.
[[nodiscard]] Error busy_run(std::string_view run, std::string_view owner, std::string_view own);

}  // namespace triage::inline v0_1::detail
