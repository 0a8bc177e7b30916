// SPDX-License-Identifier: MIT
#include "triage/lab/chaos.hpp"

#include "lab/faults/chaos_branch.hpp"

#include <system_error>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using detail::ChaosBranch;
using detail::ChaosRoot;

Failure timed_out(const Site& site) {
  Failure failure{.text = "timed out: no answer from " + std::string(site.name)};
  failure.code = std::make_error_code(std::errc::timed_out);
  return failure;
}

Error stopped(const Site& site) {
  return {Errc::cancelled, "stopped while waiting for " + std::string(site.name)};
}

}  // namespace

Chaos::Chaos(FaultMix mix, ChaosOptions options) {
  auto root = std::make_shared<ChaosRoot>();
  if (auto checked = check_fault_mix(mix); !checked) root->problem = std::move(checked).error();
  root->mix = std::move(mix);
  root->armed->store(!root->mix.rules.empty());
  armed_ = root->armed;
  branch_ = std::make_shared<ChaosBranch>(std::move(root), std::move(options), std::string());
}

Chaos Chaos::replay(const Schedule& schedule, ChaosOptions options) {
  auto root = std::make_shared<ChaosRoot>();
  root->by_schedule = true;
  for (const Injection& one : schedule) root->planned[one.place].push_back(one);
  root->armed->store(!schedule.empty());
  return Chaos(std::make_shared<ChaosBranch>(std::move(root), std::move(options), std::string()));
}

Chaos::Chaos(std::shared_ptr<ChaosBranch> branch)
    : branch_(std::move(branch)), armed_(branch_->root().armed) {}

Chaos Chaos::branch(std::string_view name) const { return branch(name, branch_->options()); }

Chaos Chaos::branch(std::string_view name, ChaosOptions options) const {
  options.seed = branch_->options().seed;
  const std::string& own = branch_->name();
  return Chaos(std::make_shared<ChaosBranch>(
      branch_->shared_root(), std::move(options),
      own.empty() ? std::string(name) : own + "." + std::string(name)));
}

void Chaos::disarm() const noexcept { armed_->store(false, std::memory_order_relaxed); }

void Chaos::arm() const noexcept {
  const ChaosRoot& root = branch_->root();
  armed_->store(!root.mix.rules.empty() || !root.planned.empty(), std::memory_order_relaxed);
}

Schedule Chaos::injected() const { return branch_->root().noted(); }
std::size_t Chaos::injected_count() const noexcept { return branch_->root().count(); }

std::any Chaos::last_value(const Site& site) const { return branch_->last_value(site); }
void Chaos::keep_value(const Site& site, std::any value) const {
  branch_->keep_value(site, std::move(value));
}
void Chaos::note(const Injection& injection) const { branch_->root().note(injection); }

void Chaos::kill() const { branch_->kill(); }

Chaos::Met Chaos::meet(const Site& site) const { return meet_at(site, false); }
Chaos::Met Chaos::meet_opaque(const Site& site) const { return meet_at(site, true); }

Chaos::Met Chaos::meet_at(const Site& site, bool opaque) const {
  if (!armed() || branch_->root().problem) return {};
  detail::Visit visit =
      branch_->visit(site, opaque ? detail::Place::opaque_call : detail::Place::call);
  if (visit.delay) note(*visit.delay);
  if (visit.fault) note(*visit.fault);
  return {.delay = std::move(visit.delay),
          .fault = std::move(visit.fault),
          .keeps_value = !opaque && branch_->wants_values(site)};
}

Result<detail::CallPlan> Chaos::begin(const Site& site, const CallLimits& limits) const {
  if (const auto& problem = branch_->root().problem) return outcome::failure(*problem);
  detail::Visit visit = branch_->visit(site, detail::Place::call);
  if (visit.delay) {
    note(*visit.delay);
    const auto slept = branch_->sleep(visit.delay->length, limits);
    if (slept == ChaosBranch::Slept::stopped) return outcome::failure(stopped(site));
    if (slept == ChaosBranch::Slept::until_deadline) {
      return outcome::failure(Error(timed_out(site)));
    }
  }
  detail::CallPlan plan{.keeps_value = branch_->wants_values(site)};
  if (!visit.fault) return outcome::success(std::move(plan));
  const Injection& fault = *visit.fault;
  switch (fault.fault) {
    case Fault::throws:
      note(fault);
      throw InjectedFault(drawn_failure(fault.type, fault.draw).text);
    case Fault::fails:
      note(fault);
      return outcome::failure(Error(drawn_failure(fault.type, fault.draw)));
    case Fault::hang:
      note(fault);
      if (branch_->sleep(fault.length, limits) == ChaosBranch::Slept::stopped) {
        return outcome::failure(stopped(site));
      }
      return outcome::failure(Error(timed_out(site)));
    case Fault::kill:
      note(fault);
      branch_->kill();
      throw ProcessKilled{};
    case Fault::duplicate:
      note(fault);
      plan.twice = true;
      break;
    default: plan.value_fault = std::move(visit.fault); break;
  }
  return outcome::success(std::move(plan));
}

}  // namespace triage::inline v0_1::lab
