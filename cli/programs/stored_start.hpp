// SPDX-License-Identifier: MIT
#pragma once
// What is stored of a run of `triage run` when it begins.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// What a supervised run was begun with.
struct StoredStart {
  Json task{};
  std::string version{};  // Of its agent.
};
// Errors: Errc::not_found, Errc::corrupt.
[[nodiscard]] Result<StoredStart> stored_start(CheckpointStore& store, const RunId& run);

// The run, which may be shortened as in in_full(), if it belongs to `triage run`. Errors:
// Errc::not_found; Errc::invalid_argument for another agent's run.
[[nodiscard]] Result<RunInfo> supervised_run(CheckpointStore& store, const RunId& run);

}  // namespace triage::inline v0_1::cli
