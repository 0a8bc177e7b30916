// SPDX-License-Identifier: MIT
#pragma once
// The circuits of one key as a pure state machine: no clock, no lock. Private.

#include "keyed_states.hpp"
#include "triage/json.hpp"
#include "triage/policies/circuit_breaker.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Times are milliseconds on one clock. A ticket is the number of the newest change at the time of
// admission, so a late report tells whether the circuit has changed since. While a track is
// half-open, every call has a number of its own.
struct Circuit {
  static constexpr std::size_t bucket_count = 10;

  struct Bucket {
    std::int64_t begin = 0;
    std::uint32_t calls = 0;
    std::uint32_t failed = 0;
    std::uint32_t slow = 0;
  };
  // The circuit of one failure type.
  struct Track {
    BreakerState state = BreakerState::closed;
    std::uint64_t since = 0;  // Number of the change to this state.
    std::int64_t until = 0;   // open: when probes may begin. half_open: its latest end.
    std::vector<Bucket> window{};
    std::vector<std::uint64_t> probes{};  // Tickets in progress.
    int succeeded = 0;                    // Successful probes.
  };

  std::uint64_t changes = 0;
  BreakerMode mode = BreakerMode::automatic;
  std::vector<std::pair<FailureType, Track>> tracks{};  // By type.

  struct Admission {
    bool passes = false;
    std::uint64_t ticket = 0;
    std::int64_t retry_in = 0;  // Refused: until it may pass; 0: unknown.
    FailureType type = FailureType::unknown;
    BreakerState state = BreakerState::closed;  // Of the circuit that refused.
  };
  struct Report {
    bool failed = false;
    FailureType type = FailureType::unknown;
    bool slow = false;
  };
  using Changes = std::vector<BreakerChange>;

  Admission enter(const BreakerOptions& options, std::int64_t now, bool retry, Changes& changed);
  // An empty report returns the permit without learning anything.
  void leave(const BreakerOptions& options, std::int64_t now, std::uint64_t ticket,
             const std::optional<Report>& report, Changes& changed);
  void force(BreakerMode wanted);
  // Applies changes that are due by now: a half-open circuit ends.
  void settle(const BreakerOptions& options, std::int64_t now, Changes& changed);

  static constexpr bool in_common = false;  // No circuit opens because of other keys.
  [[nodiscard]] Loss loss(std::int64_t now) const;
  [[nodiscard]] Json to_json() const;
  [[nodiscard]] static Circuit from_json(const Json& json);

 private:
  Track& track_of(FailureType type);  // Created if absent.
  void turn(FailureType type, Track& track, BreakerState to, std::int64_t until, Changes& changed);
};

}  // namespace triage::inline v0_1::detail
