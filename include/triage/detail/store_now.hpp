// SPDX-License-Identifier: MIT
#pragma once
// For callables that record in groups: what an attempt has recorded gets into the store now.

#include "triage/attempt.hpp"

namespace triage::inline v0_1::detail {

// What record_step and update_state do by themselves in immediate mode: returns when everything
// that was recorded so far is stored. Errors are sticky, or the run goes on without its store, as
// OnStoreError says. Does nothing without a store, or if there is nothing to write.
void store_now(Attempt& attempt);

}  // namespace triage::inline v0_1::detail
