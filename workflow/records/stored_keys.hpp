// SPDX-License-Identifier: MIT
#pragma once
// The library's own keys in the state of a stored run: what the rest of the code relies on.

#include "triage/result.hpp"
#include "triage/state.hpp"

namespace triage::inline v0_1::workflow::detail {

// To be called for each state that comes from a store. Finished deliveries and parts are checked
// where they are read, by from_stored() and Parts::expand(), because there may be many of them.
// Errors: Errc::corrupt, naming the key and what is allowed there.
[[nodiscard]] Result<void> check_library_keys(const State& state);

}  // namespace triage::inline v0_1::workflow::detail
