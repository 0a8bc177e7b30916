// SPDX-License-Identifier: MIT
#include "lab/faults/chaos_branch.hpp"

#include "lab/base/draws.hpp"

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

// Salts of the draws for one rule at one visit.
constexpr std::uint64_t draw_whether = 1;
constexpr std::uint64_t draw_which = 2;
constexpr std::uint64_t draw_type = 3;

constexpr Duration longest_hang = std::chrono::hours(1);

bool fits(const std::string& wanted, std::string_view name) {
  return wanted.empty() || wanted == name;
}

bool fits(const FaultRule& rule, const Site& site) {
  return fits(rule.site, site.name) && fits(rule.tool, site.tool) && fits(rule.step, site.step);
}

bool is_delay(Fault fault) { return fault == Fault::latency || fault == Fault::clock_jump; }

void put(Visit& visit, const Injection& injection) {
  auto& slot = is_delay(injection.fault) ? visit.delay : visit.fault;
  if (!slot) slot = injection;
}

}  // namespace

bool happens_at(Fault fault, Place place) noexcept {
  switch (fault) {
    case Fault::throws:
    case Fault::fails:
    case Fault::hang: return place == Place::call || place == Place::opaque_call;
    case Fault::wrong_value:
    case Fault::stale_value:
    case Fault::partial_value:
    case Fault::duplicate: return place == Place::call;
    case Fault::corrupt_checkpoint: return place == Place::record;
    case Fault::store_outage:
    case Fault::lost_answer: return place == Place::store;
    case Fault::clock_jump: return place == Place::clock;
    case Fault::latency:
    case Fault::kill: return place != Place::clock && place != Place::record;
  }
  return false;
}

void ChaosRoot::note(const Injection& injection) {
  const std::scoped_lock lock(mutex_);
  injected_.push_back(injection);
  count_.fetch_add(1, std::memory_order_relaxed);
}

Schedule ChaosRoot::noted() const {
  const std::scoped_lock lock(mutex_);
  return injected_;
}

ChaosBranch::ChaosBranch(std::shared_ptr<ChaosRoot> root, ChaosOptions options, std::string name)
    : root_(std::move(root)),
      options_(std::move(options)),
      name_(std::move(name)),
      seed_(name_.empty() ? options_.seed : mixed(options_.seed, fnv1a(name_))) {}

std::string ChaosBranch::place_of(const Site& site) const {
  std::string place;
  if (!name_.empty()) place.append(name_).append(":");
  place.append(site.name);
  if (!site.tool.empty() || !site.step.empty()) place.append("/").append(site.tool);
  if (!site.step.empty()) place.append("/").append(site.step);
  return place;
}

Visit ChaosBranch::visit(const Site& site, Place kind) {
  const std::string place = place_of(site);
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = ++visits_[place];
  }
  return root_->by_schedule ? planned_for(place, number, kind)
                            : drawn_for(site, place, number, kind);
}

Visit ChaosBranch::planned_for(const std::string& place, std::uint64_t visit, Place kind) const {
  Visit met;
  const auto planned = root_->planned.find(place);
  if (planned == root_->planned.end()) return met;
  for (const Injection& injection : planned->second) {
    if (injection.visit == visit && happens_at(injection.fault, kind)) put(met, injection);
  }
  return met;
}

Visit ChaosBranch::drawn_for(const Site& site, const std::string& place, std::uint64_t visit,
                             Place kind) const {
  Visit met;
  const std::uint64_t base = mixed(seed_, fnv1a(place), visit);
  const auto& rules = root_->mix.rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const FaultRule& rule = rules[i];
    if (!happens_at(rule.fault, kind) || !fits(rule, site)) continue;
    if (visit < rule.from || visit > rule.to) continue;
    if (!rule.at.empty() && std::find(rule.at.begin(), rule.at.end(), visit) == rule.at.end()) {
      continue;
    }
    if (unit_interval(mixed(base, i, draw_whether)) >= rule.rate) continue;
    Injection injection{.place = place,
                        .visit = visit,
                        .fault = rule.fault,
                        .draw = mixed(base, i, draw_which),
                        .length = rule.length,
                        .value = rule.value};
    if (!rule.types.empty()) {
      injection.type = rule.types[mixed(base, i, draw_type) % rule.types.size()];
    }
    put(met, injection);
  }
  return met;
}

// Whether visits to this place can ever meet a stale value.
bool ChaosBranch::wants_values(const Site& site) const {
  if (root_->by_schedule) {
    const auto planned = root_->planned.find(place_of(site));
    return planned != root_->planned.end() &&
           std::any_of(planned->second.begin(), planned->second.end(),
                       [](const Injection& one) { return one.fault == Fault::stale_value; });
  }
  const auto& rules = root_->mix.rules;
  return std::any_of(rules.begin(), rules.end(), [&](const FaultRule& rule) {
    return rule.fault == Fault::stale_value && fits(rule, site);
  });
}

std::any ChaosBranch::last_value(const Site& site) const {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find(place_of(site));
  return found == values_.end() ? std::any() : found->second;
}

void ChaosBranch::keep_value(const Site& site, std::any value) {
  const std::scoped_lock lock(mutex_);
  values_.insert_or_assign(place_of(site), std::move(value));
}

ChaosBranch::Slept ChaosBranch::sleep(Duration length, const CallLimits& limits) const {
  Clock& clock = options_.clock ? *options_.clock : *real_clock();
  const TimePoint now = clock.now();
  if (length == Duration::zero()) length = longest_hang;
  TimePoint end = now + std::min(length, TimePoint::max() - now);
  const bool cut = limits.deadline && *limits.deadline < end;
  if (cut) end = *limits.deadline;
  if (!clock.sleep_until(end, limits.stop_token)) return Slept::stopped;
  return cut ? Slept::until_deadline : Slept::all;
}

void ChaosBranch::kill() const {
  if (options_.kill) {
    options_.kill();
  } else {
    ::kill(::getpid(), SIGKILL);
  }
}

}  // namespace triage::inline v0_1::lab::detail
