// SPDX-License-Identifier: MIT
#pragma once
// How waits are named, and signals stored.

#include "storage/run_keys.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {

inline const std::string_view signal_space = own_space(OwnSpace::signals);

// Errors: Errc::invalid_argument unless it has 1 to 256 bytes. whose: "a signal's", for the
// message.
[[nodiscard]] Result<void> check_wait_name(std::string_view name, const char* whose);

// What was sent to a run under this name, if anything. Errors: the store's; Errc::corrupt.
[[nodiscard]] Result<std::optional<Json>> read_signal(KeySpace& store, const RunId& run,
                                                      std::string_view name);

}  // namespace triage::inline v0_1::detail
