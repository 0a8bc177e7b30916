// SPDX-License-Identifier: MIT
#pragma once
// Judges the steps that a supervised program proposes, by the rules its run began with.

#include "triage/contract.hpp"
#include "triage/guard.hpp"

#include <memory>

namespace triage::inline v0_1::supervise {

// Denies a step that breaks the contract; with by_risk, the rest is judged by risk_guard().
// Thread-safety: call set() only while no step is being judged.
class RunGuard final : public StepGuard {
 public:
  void set(AgentContract contract, bool by_risk);
  [[nodiscard]] GuardVerdict judge(const Step& step) const override;

 private:
  AgentContract contract_{};
  std::shared_ptr<const StepGuard> risk_{};
};

}  // namespace triage::inline v0_1::supervise
