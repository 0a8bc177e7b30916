// SPDX-License-Identifier: MIT
#pragma once
// Which faults to inject, where and how often. Values: a mix can be written in C++, read from a
// file, printed, and used in several experiments.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/taxonomy.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::lab {

// The names (to_string) are used in files and do not change.
enum class Fault : std::uint8_t {
  throws,       // An exception, InjectedFault, instead of the call.
  fails,        // A reported failure instead of the call: its Result is an Error.
  latency,      // The call starts later, by FaultRule::length.
  hang,         // The call does not return until it is stopped or its deadline passes.
  wrong_value,  // The call's value, changed: FaultRule::value, or another value of the same shape.
  stale_value,  // The value of the same place's previous visit; no effect at the first.
  partial_value,       // The call's value is truncated.
  duplicate,           // The call is made twice, like a redelivered message.
  corrupt_checkpoint,  // A stored record becomes unreadable. Stores only.
  store_outage,        // The store fails without doing anything. Stores only.
  lost_answer,         // The store succeeds but reports a failure. Stores only.
  clock_jump,          // Calendar time jumps by FaultRule::length. Clocks only.
  kill,                // The process dies.
};
inline constexpr std::size_t fault_count = 13;
[[nodiscard]] std::string_view to_string(Fault fault) noexcept;
[[nodiscard]] std::optional<Fault> parse_fault(std::string_view name) noexcept;

// One fault, where and when. An empty name matches everything.
struct FaultRule {
  Fault fault = Fault::fails;
  // --- Where.
  std::string site{};
  std::string tool{};
  std::string step{};
  // --- When: at visits `from` to `to` of a place, counted from 1; only at those listed in `at`,
  // unless empty; with this probability.
  std::uint64_t from = 1;
  std::uint64_t to = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> at{};
  double rate = 1.0;  // 0 to 1.
  // --- What.
  std::vector<FailureType> types{};  // throws, fails: one of them; empty: external_fault.
  Duration length{0};           // latency, hang (0: until stopped); clock_jump, below 0: backwards.
  std::optional<Json> value{};  // wrong_value.

  friend bool operator==(const FaultRule&, const FaultRule&) = default;
};

// Rules are tried in order. Of the rules that fire at a visit, the first latency or clock_jump and
// the first of all others are injected.
struct FaultMix {
  std::string name{};  // For tables; may be empty.
  std::vector<FaultRule> rules{};

  friend bool operator==(const FaultMix&, const FaultMix&) = default;
};

// Errors: Errc::invalid_argument, naming the rule, its field, the value and what is allowed.
[[nodiscard]] Result<void> check_fault_mix(const FaultMix& mix);

// Of a mix for HttpProxy: refuses, besides, what no request can ever meet. That is no rule at all,
// a rate of 0, a step, a fault of a store or clock, a site that is more than a host, a tool that is
// neither "METHOD /path" nor "CONNECT", and a value that is not the name of a tool.
[[nodiscard]] Result<void> check_proxy_mix(const FaultMix& mix);

// For HttpProxy: this share of the requests, 0 to 1, meets a fault of an unreliable service: one of
// 429 and 503, a reset, an answer that breaks off, a call of a tool with another name, and two
// seconds of latency, each as often as the others. An https connection meets those that it can.
[[nodiscard]] FaultMix service_faults(double rate);

// {"name": "outage", "faults": [{"fault": "fails", "site": "search", "rate": 0.2,
//  "types": ["external_fault"], "from": 1, "to": 9, "at": [2, 3], "length": "2s", "value": …}]}
// Errors: Errc::invalid_argument, with the path of the error (".faults[0].rate") and what is
// allowed; unknown keys are refused.
[[nodiscard]] Result<FaultMix> fault_mix_from_json(const Json& json);
[[nodiscard]] Json to_json(const FaultMix& mix);

// A random mix of these faults, drawn as in VOPR: each rule is included with probability 1/2, its
// rate scaled by a factor between 0.1 and 3. Deterministic for a seed.
// Source: TigerBeetle's simulator; swarm testing, A. Groce et al., 2012.
[[nodiscard]] FaultMix swarm(const FaultMix& mix, std::uint64_t seed);

}  // namespace triage::inline v0_1::lab
