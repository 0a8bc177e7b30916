// SPDX-License-Identifier: MIT
#pragma once
// Finds the checkpoint that a command-line argument names.

#include "triage/journal.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// RUN or RUN@SEQUENCE; a sequence of 0 means the newest position.
[[nodiscard]] Result<CheckpointId> parse_what(const std::string& text);
// Errors: Errc::not_found, naming the nearest positions.
[[nodiscard]] Result<Checkpoint> find_checkpoint(const Journal& journal, const CheckpointId& id);
// The fields of a step that are set.
[[nodiscard]] Json step_json(const Step& step, std::size_t index);

}  // namespace triage::inline v0_1::cli
