// SPDX-License-Identifier: MIT
#pragma once
// From what names a checkpoint on the command line to the checkpoint.

#include "triage/journal.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// RUN or RUN@SEQUENCE; a sequence of 0 means the newest position.
[[nodiscard]] Result<CheckpointId> parse_what(const std::string& text);
// Errors: Errc::not_found, naming the nearest ones.
[[nodiscard]] Result<Checkpoint> find_checkpoint(const Journal& journal, const CheckpointId& id);
// What is set of a step.
[[nodiscard]] Json step_json(const Step& step, std::size_t index);

}  // namespace triage::inline v0_1::cli
