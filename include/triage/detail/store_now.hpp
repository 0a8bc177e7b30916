// SPDX-License-Identifier: MIT
#pragma once
// For callables that record in groups: stores what an attempt has recorded so far.

#include "triage/attempt.hpp"

namespace triage::inline v0_1::detail {

// What record_step and update_state do by themselves in immediate mode: returns once everything
// recorded so far is stored. On an error, the error sticks and is returned, or the run continues
// without its store, as OnStoreError says. Does nothing without a store, or if nothing is pending.
Result<void> store_now(Attempt& attempt);

}  // namespace triage::inline v0_1::detail
