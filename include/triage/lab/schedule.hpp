// SPDX-License-Identifier: MIT
#pragma once
// The faults that were injected, one by one: what a failing seed is shortened to, and played again.

#include "triage/lab/fault_mix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab {

// One fault at one visit of one place. Holds all that is needed to inject it again.
struct Injection {
  std::string place{};  // "SITE", "SITE/TOOL" or "SITE/TOOL/STEP"; in a branch "BRANCH:SITE…".
  std::uint64_t visit = 1;
  Fault fault = Fault::fails;
  FailureType type = FailureType::external_fault;  // throws, fails.
  std::uint64_t draw = 0;       // Chooses the text, the wrong value, the record: 64 random bits.
  Duration length{0};           // latency, hang, clock_jump.
  std::optional<Json> value{};  // wrong_value.

  friend bool operator==(const Injection&, const Injection&) = default;
};
using Schedule = std::vector<Injection>;

// One line for people: "search, visit 3: fails (external_fault)".
[[nodiscard]] std::string describe(const Injection& injection);
// The lines of a whole schedule, each with two spaces before it.
[[nodiscard]] std::string describe(const Schedule& schedule);

// An array of objects, for files. Errors: Errc::invalid_argument, as fault_mix_from_json.
[[nodiscard]] Json to_json(const Schedule& schedule);
[[nodiscard]] Result<Schedule> schedule_from_json(const Json& json);

}  // namespace triage::inline v0_1::lab
