// SPDX-License-Identifier: MIT
#include "triage/lab/fault_mix.hpp"

#include "lab/base/draws.hpp"
#include "lab/faults/fault_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

constexpr std::array<std::string_view, fault_count> names{
    "throws",        "fails",       "latency",
    "hang",          "wrong_value", "stale_value",
    "partial_value", "duplicate",   "corrupt_checkpoint",
    "store_outage",  "lost_answer", "clock_jump",
    "kill"};

// Salts that make the draws of swarm() independent.
constexpr std::uint64_t draw_presence = 1;
constexpr std::uint64_t draw_rate = 2;

}  // namespace

std::string_view to_string(Fault fault) noexcept {
  const auto index = static_cast<std::size_t>(fault);
  return index < names.size() ? names[index] : "unknown";
}

std::optional<Fault> parse_fault(std::string_view name) noexcept {
  const auto* found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Fault>(found - names.begin());
}

Result<void> detail::check_fault_rule(const FaultRule& rule, const std::string& path) {
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::invalid_argument, path + "." + what};
  };
  if (!(rule.rate >= 0.0 && rule.rate <= 1.0)) {
    return wrong("rate is " + show(Json(rule.rate)) + "; allowed is 0 to 1");
  }
  if (rule.from == 0) return wrong("from is 0; the first visit is 1");
  if (rule.to < rule.from) {
    return wrong("to is " + std::to_string(rule.to) + "; allowed is `from`, " +
                 std::to_string(rule.from) + ", or more");
  }
  if (std::find(rule.at.begin(), rule.at.end(), 0U) != rule.at.end()) {
    return wrong("at has 0; the first visit is 1");
  }
  if (rule.length < Duration::zero() && rule.fault != Fault::clock_jump) {
    return wrong("length is below zero; only a clock_jump goes backwards");
  }
  if (rule.length == Duration::zero() &&
      (rule.fault == Fault::latency || rule.fault == Fault::clock_jump)) {
    return wrong("length is missing: " + std::string(to_string(rule.fault)) +
                 " needs one, such as \"2s\"");
  }
  if (rule.value && rule.fault != Fault::wrong_value) {
    return wrong("value belongs to the fault wrong_value, and this is " +
                 std::string(to_string(rule.fault)));
  }
  return outcome::success();
}

Result<void> check_fault_mix(const FaultMix& mix) {
  for (std::size_t i = 0; i < mix.rules.size(); ++i) {
    const std::string path = ".faults[" + std::to_string(i) + "]";
    if (auto checked = detail::check_fault_rule(mix.rules[i], path); !checked) return checked;
  }
  return outcome::success();
}

FaultMix swarm(const FaultMix& mix, std::uint64_t seed) {
  FaultMix drawn{.name = mix.name};
  for (std::size_t i = 0; i < mix.rules.size(); ++i) {
    if (unit_interval(detail::mixed(seed, i, draw_presence)) < 0.5) continue;
    FaultRule rule = mix.rules[i];
    // Between 1/10 and 3 times its rate, uniform on a logarithmic scale.
    const double place = unit_interval(detail::mixed(seed, i, draw_rate));
    rule.rate = std::min(1.0, rule.rate * 0.1 * std::pow(30.0, place));
    drawn.rules.push_back(std::move(rule));
  }
  return drawn;
}

}  // namespace triage::inline v0_1::lab
