// SPDX-License-Identifier: MIT
#pragma once
// The seam between the core and whoever judges a step before it is taken.

#include "triage/json.hpp"
#include "triage/step.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct GuardVerdict {
  enum class Kind : std::uint8_t {
    allow,  // Go on.
    ask,    // The run is suspended until somebody decides.
    deny,   // The step must not be taken.
  };
  Kind kind = Kind::allow;
  double risk = 0.0;     // 0 to 1; for people.
  std::string reason{};  // Why, for people and for the next attempt.
};
[[nodiscard]] std::string_view to_string(GuardVerdict::Kind kind) noexcept;

// A step that a guard wants somebody to be asked about.
struct ProposedStep {
  std::string action{};
  std::string tool{};    // Step::tool_called; empty if it names none.
  Json input{};          // Step::tool_input; its text if it is nested too deeply to be stored.
  double risk = 0.0;     // Of the guard's verdict …
  std::string reason{};  // … like this.
};

// Judges what an attempt proposes to do. One that throws is understood as `ask`.
// Thread-safety: judge() may be called from several threads at once.
class StepGuard {
 public:
  virtual ~StepGuard() = default;
  // The same step gets the same verdict.
  [[nodiscard]] virtual GuardVerdict judge(const Step& step) const = 0;
};

}  // namespace triage::inline v0_1
