// SPDX-License-Identifier: MIT
#pragma once
// How signals are stored.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {

// What was sent to a run under this name, if anything. Errors: the store's; Errc::corrupt.
[[nodiscard]] Result<std::optional<Json>> read_signal(KeySpace& store, const RunId& run,
                                                      std::string_view name);

}  // namespace triage::inline v0_1::detail
