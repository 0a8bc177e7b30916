// SPDX-License-Identifier: MIT
#pragma once
// Judges what a supervised program proposes to do, by what its run was begun with.

#include "triage/contract.hpp"
#include "triage/guard.hpp"

#include <memory>

namespace triage::inline v0_1::supervise {

// A step that breaks the contract is denied; with by_risk the rest is judged by risk_guard().
// Thread-safety: set() while nobody asks.
class RunGuard final : public StepGuard {
 public:
  void set(AgentContract contract, bool by_risk);
  [[nodiscard]] GuardVerdict judge(const Step& step) const override;

 private:
  AgentContract contract_{};
  std::shared_ptr<const StepGuard> risk_{};
};

}  // namespace triage::inline v0_1::supervise
