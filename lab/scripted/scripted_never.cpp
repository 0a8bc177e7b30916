// SPDX-License-Identifier: MIT
// Faults that a scripted agent cannot meet, so that a table would show them as harmless.
#include "lab/faults/chaos_branch.hpp"
#include "lab/scripted/scripted_spec.hpp"

#include "triage/detail/nearest.hpp"

#include <algorithm>

namespace triage::inline v0_1::lab::detail {
namespace {

const std::vector<std::string> sites{"step", "effect", "receipt", "store", "clock"};

// What scripted_run.cpp makes of the values of its calls: a step's is counted, no other is looked
// at, and to cut, repeat or delay a number changes nothing.
bool tells(Fault fault, const std::string& site) {
  if (fault == Fault::wrong_value) return site == "step";
  return fault != Fault::partial_value && fault != Fault::stale_value && fault != Fault::duplicate;
}

bool happens(const FaultRule& rule, const std::string& site) {
  if (site == "clock") return happens_at(rule.fault, Place::clock);
  if (site != "store") return happens_at(rule.fault, Place::call);
  if (rule.step.empty() || rule.step == "record") {
    if (happens_at(rule.fault, Place::record)) return true;
  }
  return rule.step != "record" && happens_at(rule.fault, Place::store);
}

bool is_met(const FaultRule& rule, const std::string& site, const ScriptedSetup& setup) {
  const auto& tools = setup.agent.tools;
  if (!rule.site.empty() && rule.site != site) return false;
  if (!happens(rule, site) || !tells(rule.fault, site)) return false;
  if ((site == "effect" || site == "receipt") && setup.agent.effect == EffectStyle::none) {
    return false;
  }
  if (site == "store" && setup.store == StoreKind::none) return false;
  if (!rule.step.empty() && site != "store") return false;
  if (rule.tool.empty()) return true;
  if (site != "step") return false;
  return tools.empty() ? rule.tool == "work"
                       : std::find(tools.begin(), tools.end(), rule.tool) != tools.end();
}

std::string why_never(const FaultRule& rule, const ScriptedSetup& setup) {
  const bool known =
      rule.site.empty() || std::find(sites.begin(), sites.end(), rule.site) != sites.end();
  if (!known) {
    return ".site is \"" + printable(rule.site) + "\"" +
           triage::detail::allowed_names(rule.site, sites);
  }
  if (std::any_of(sites.begin(), sites.end(),
                  [&](const std::string& site) { return is_met(rule, site, setup); })) {
    return {};
  }
  return " never happens: a " + std::string(to_string(rule.fault)) +
         " of this site, tool and step is nothing that the agent can meet; see the sites in "
         "docs/experiments.md";
}

}  // namespace

std::map<std::string, std::string> why_never(const ScriptedSetup& setup) {
  std::map<std::string, std::string> all;
  const ScriptedFaults& faults = setup.faults;
  for (std::size_t i = 0; i < faults.rule_paths.size(); ++i) {
    all[faults.rule_paths[i]] = why_never(faults.chaos.rules[i], setup);
  }
  for (std::size_t i = 0; i < faults.trouble_paths.size(); ++i) {
    const Trouble& trouble = faults.troubles[i];
    std::string& why = all[faults.trouble_paths[i]];
    if (trouble.lasts || trouble.step <= setup.agent.steps) continue;
    why = ".step is " + std::to_string(trouble.step) + "; allowed is 1 to `steps`, " +
          std::to_string(setup.agent.steps);
  }
  return all;
}

}  // namespace triage::inline v0_1::lab::detail
