// SPDX-License-Identifier: MIT
#include "supervise/protocol/guard.hpp"

#include "triage/policies/risk_guard.hpp"

#include <utility>

namespace triage::inline v0_1::supervise {

void RunGuard::set(AgentContract contract, bool by_risk) {
  contract_ = std::move(contract);
  risk_ = by_risk ? risk_guard() : nullptr;
}

GuardVerdict RunGuard::judge(const Step& step) const {
  for (const StepBreach& breach : judge_step(contract_, step)) {
    if (!breach.checked()) continue;
    return {GuardVerdict::Kind::deny, 1.0, breach.evidence.detail};
  }
  return risk_ ? risk_->judge(step) : GuardVerdict{};
}

}  // namespace triage::inline v0_1::supervise
