// SPDX-License-Identifier: MIT
#pragma once
// The list of injected faults, to which a failing seed is reduced, and which can be replayed.

#include "triage/lab/fault_mix.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab {

// One fault at one visit to one place, with everything needed to inject it again.
struct Injection {
  std::string place{};  // "SITE", "SITE/TOOL" or "SITE/TOOL/STEP"; in a branch "BRANCH:SITE…".
  std::uint64_t visit = 1;
  Fault fault = Fault::fails;
  FailureType type = FailureType::external_fault;  // throws, fails.
  std::uint64_t draw = 0;       // 64 random bits that choose the text, the wrong value, the record.
  Duration length{0};           // latency, hang, clock_jump.
  std::optional<Json> value{};  // wrong_value.

  friend bool operator==(const Injection&, const Injection&) = default;
};
using Schedule = std::vector<Injection>;

// One line for people: "search, visit 3: fails (external_fault)".
[[nodiscard]] std::string describe(const Injection& injection);
// The lines of a whole schedule, each indented by two spaces.
[[nodiscard]] std::string describe(const Schedule& schedule);

// An array of objects, for files. Errors: Errc::invalid_argument, see fault_mix_from_json.
[[nodiscard]] Json to_json(const Schedule& schedule);
[[nodiscard]] Result<Schedule> schedule_from_json(const Json& json);

}  // namespace triage::inline v0_1::lab
