// SPDX-License-Identifier: MIT
#pragma once
// The session of a program's own, as its run's journal names it, so that any process can go on
// with it.

#include "triage/checkpoint_store.hpp"
#include "triage/result.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// What programs use as names of sessions: 1 to 128 letters, digits and ._:-, not a dash first. Any
// other text could be taken for something else on a command line.
[[nodiscard]] bool is_session_name(std::string_view name) noexcept;

// The label of a checkpoint. session: empty if from here on there is none.
[[nodiscard]] std::string session_label(std::string_view adapter, std::string_view session);
// The newest one in the journal; empty if there is none. Errors: the store's.
[[nodiscard]] Result<std::string> newest_session(CheckpointStore& store, const RunId& run,
                                                 std::string_view adapter);

}  // namespace triage::inline v0_1::supervise
