// SPDX-License-Identifier: MIT
// Which faults a request can meet.
#include "lab/faults/chaos_branch.hpp"
#include "triage/detail/try.hpp"
#include "triage/lab/fault_mix.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

// The host of "HOST:PORT", "http://HOST" or "HOST/path"; otherwise all of it.
std::string host_of(const std::string& site) {
  const std::size_t scheme = site.find("://");
  std::string host = scheme == std::string::npos ? site : site.substr(scheme + 3);
  host.resize(std::min(host.find('/'), host.size()));
  // More than one colon: an address of IPv6.
  if (std::count(host.begin(), host.end(), ':') == 1) host.resize(host.find(':'));
  return host;
}

Result<void> check_rule(const FaultRule& rule, const std::string& path) {
  const auto never = [&](const std::string& what) {
    return Error{Errc::invalid_argument, path + "." + what};
  };
  const std::string fault(to_string(rule.fault));
  const bool tunnels = rule.tool == "CONNECT";
  if (!detail::happens_at(rule.fault, detail::Place::call)) {
    return never("fault is " + fault + ", which no request can meet");
  }
  if (tunnels && !detail::happens_at(rule.fault, detail::Place::opaque_call)) {
    return never("fault is " + fault + ", which no CONNECT can meet: https passes through unread");
  }
  if (rule.rate <= 0) return never("rate is 0: it never happens; allowed is more");
  if (!rule.step.empty()) {
    return never("step is \"" + printable(rule.step) + "\", and requests have none");
  }
  if (const std::string host = host_of(rule.site); host != rule.site) {
    return never("site is \"" + printable(rule.site) + "\"; allowed is the host alone, \"" +
                 printable(host) + "\"");
  }
  if (!rule.tool.empty() && !tunnels &&
      (rule.tool.find(" /") == std::string::npos || rule.tool.find('?') != std::string::npos)) {
    return never("tool is \"" + printable(rule.tool) +
                 "\"; allowed are \"METHOD /path\", without the query, and \"CONNECT\"");
  }
  if (rule.value && !rule.value->is_string()) {
    return never("value is " + show(*rule.value) + "; allowed is the name of a tool");
  }
  return outcome::success();
}

}  // namespace

Result<void> check_proxy_mix(const FaultMix& mix) {
  TRIAGE_TRYV(check_fault_mix(mix));
  if (mix.rules.empty()) {
    return Error{Errc::invalid_argument, ".faults is empty; allowed is a list of one or more"};
  }
  for (std::size_t i = 0; i < mix.rules.size(); ++i) {
    TRIAGE_TRYV(check_rule(mix.rules[i], ".faults[" + std::to_string(i) + "]"));
  }
  return outcome::success();
}

// Rules are drawn one by one, so each makes up for those before it. A latency may come with another
// fault, and is therefore the first.
FaultMix service_faults(double rate) {
  const FaultRule fails{.fault = Fault::fails, .types = {FailureType::external_fault}};
  const FaultRule throws{.fault = Fault::throws};
  FaultMix mix{.rules = {{.fault = Fault::latency, .length = std::chrono::seconds(2)},
                         fails,
                         throws,
                         {.fault = Fault::partial_value},
                         {.fault = Fault::wrong_value}}};
  const double share = rate / static_cast<double>(mix.rules.size());
  double before = 0.0;
  for (FaultRule& rule : mix.rules) {
    rule.rate = std::min(1.0, share / (1.0 - before));
    before += share;
  }
  // Instead of the two that change an answer.
  for (FaultRule rule : {fails, throws}) {
    rule.tool = "CONNECT";
    rule.rate = mix.rules[mix.rules.size() - 2].rate;
    mix.rules.push_back(std::move(rule));
  }
  return mix;
}

}  // namespace triage::inline v0_1::lab
