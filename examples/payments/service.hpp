// SPDX-License-Identifier: MIT
#pragma once
// A payment service on a loopback port that fails before, during and after a charge.
//   POST /charge {"reference", "cents", "fence"}  {"receipt": N}; 409 or 503 with "charged": false
//   POST /find   {"reference", "fence"}           {"charged": true, "receipt": N} or {"charged":
//   false}
//   POST /refund {"reference", "fence"}           {"refunded": true}; 409 or 503 with false
//   POST /find_refund {"reference", "fence"}      {"refunded": true} or {"refunded": false}

#include <cstdint>
#include <string>
#include <string_view>

namespace payments {

enum class Fault : std::uint8_t {
  none,
  refuses,      // Before: 503, and says that nothing was done.
  drops,        // Before: closes the connection without a word.
  dies_before,  // The process is killed before the charge or refund,
  dies_during,  // … inside of its transaction,
  dies_after,   // … when it is committed, before it answers.
  forgets,      // After: done, and the connection is closed in the middle of the answer.
  fails_after,  // After: done, and answers 500.
};
[[nodiscard]] std::string_view to_string(Fault fault) noexcept;

// What happens to the n-th request under this seed. A pure function.
[[nodiscard]] Fault planned_fault(std::uint64_t seed, std::uint64_t request) noexcept;

// Serves until it is killed. Returns an exit status if it cannot begin.
int serve(const std::string& ledger, int port, std::uint64_t seed);

// A loopback port that nobody listens on. Throws std::runtime_error.
[[nodiscard]] int free_port();

}  // namespace payments
