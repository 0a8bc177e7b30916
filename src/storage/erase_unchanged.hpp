// SPDX-License-Identifier: MIT
#pragma once
// Erasing runs that were chosen by what a listing said of them.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <span>

namespace triage::inline v0_1::detail {

// Erases those that are still as they were listed, and returns how many. Errors: those of the
// store.
[[nodiscard]] Result<std::size_t> erase_unchanged(CheckpointStore& store,
                                                  std::span<const RunInfo> listed);

}  // namespace triage::inline v0_1::detail
