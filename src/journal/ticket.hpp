// SPDX-License-Identifier: MIT
#pragma once
// The value stored under a suspension's token.

#include "triage/clock.hpp"
#include "triage/record.hpp"
#include "triage/result.hpp"
#include "triage/run_id.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// Its key is the token's hash.
struct Ticket {
  RunId run{};
  std::string agent{};
  Sequence suspended_at = 0;
  std::vector<std::string> allowed_actions{};
  std::optional<WallTime> until{};
  std::optional<WallTime> expires{};
  std::string state = "waiting";  // Or "claimed".
  std::string by{};               // Who claimed it.
};

[[nodiscard]] std::string encode(const Ticket& ticket);
// Errors: Errc::corrupt.
[[nodiscard]] Result<Ticket> decode_ticket(const std::string& bytes);

}  // namespace triage::inline v0_1::detail
