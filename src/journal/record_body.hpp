// SPDX-License-Identifier: MIT
#pragma once
// Finds the body of a record in what was read of a run.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

namespace triage::inline v0_1::detail {

// The body of the newest record of a kind; null if there is none, or it is unreadable.
[[nodiscard]] Json newest_body(const JournalReading& reading, RecordKind kind);

}  // namespace triage::inline v0_1::detail
