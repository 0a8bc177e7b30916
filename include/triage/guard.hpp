// SPDX-License-Identifier: MIT
#pragma once
// The interface between the core and a judge of proposed steps.

#include "triage/json.hpp"
#include "triage/step.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct GuardVerdict {
  enum class Kind : std::uint8_t {
    allow,  // The step may be taken.
    ask,    // The run is suspended for a decision.
    deny,   // The step must not be taken.
  };
  Kind kind = Kind::allow;
  double risk = 0.0;     // 0 to 1; informative.
  std::string reason{};  // For people and for the next attempt.
};
[[nodiscard]] std::string_view to_string(GuardVerdict::Kind kind) noexcept;

// A step that needs approval.
struct ProposedStep {
  std::string action{};
  std::string tool{};    // Step::tool_called; empty if none.
  Json input{};          // Step::tool_input; as text if nested too deeply to be stored.
  double risk = 0.0;     // From the guard's verdict …
  std::string reason{};  // … as well.
};

// Judges proposed steps. An exception counts as `ask`.
// Thread-safety: judge() may be called from several threads at once.
class StepGuard {
 public:
  virtual ~StepGuard() = default;
  // Must be deterministic: equal steps get equal verdicts.
  [[nodiscard]] virtual GuardVerdict judge(const Step& step) const = 0;
};

}  // namespace triage::inline v0_1
