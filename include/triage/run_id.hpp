// SPDX-License-Identifier: MIT
#pragma once
// The names of runs and checkpoints.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// 1 to 128 of A-Z a-z 0-9 . _ : - , not beginning with a dot.
using RunId = std::string;

// Position in a run's journal: 1 for its first record; each record adds 1.
using Sequence = std::uint64_t;

// Errors: Errc::invalid_argument, naming the first character that is not allowed.
[[nodiscard]] Result<void> check_run_id(std::string_view id);

// 26 characters that sort by time: 48 bits of milliseconds and 80 random bits in Crockford's base
// 32.
// Source: the ULID specification (github.com/ulid/spec).
[[nodiscard]] RunId make_run_id(WallTime now, Random& random);

// A position that can be restored. As text: RUN@SEQUENCE.
struct CheckpointId {
  RunId run{};
  Sequence sequence = 0;

  friend bool operator==(const CheckpointId&, const CheckpointId&) = default;
};

[[nodiscard]] std::string to_string(const CheckpointId& id);
// Errors: Errc::invalid_argument.
[[nodiscard]] Result<CheckpointId> parse_checkpoint_id(std::string_view text);

}  // namespace triage::inline v0_1
