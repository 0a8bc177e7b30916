// SPDX-License-Identifier: MIT
#include "lab/experiment/experiment_sums.hpp"

#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

void add_figures(FigureSums& sums, const FigureSums& more) {
  for (const auto& [name, moments] : more) sums[name].add(moments);
}

void add_facts(FactSums& sums, const FactSums& more) {
  for (const auto& [name, one] : more) {
    Held& held = sums[name];
    held.trials += one.trials;
    held.yes += one.yes;
    held.no += one.no;
  }
}

Json json_of(const FactSums& facts) {
  Json json = Json::object();
  for (const auto& [name, one] : facts) json[name] = Json::array({one.trials, one.yes, one.no});
  return json;
}

FactSums facts_of(const Json& json) {
  FactSums facts;
  for (const auto& [name, one] : json.items()) {
    facts[name] = {.trials = one.at(0).get<std::uint64_t>(),
                   .yes = one.at(1).get<std::uint64_t>(),
                   .no = one.at(2).get<std::uint64_t>()};
  }
  return facts;
}

Json json_of(const FigureSums& figures) {
  Json json = Json::object();
  for (const auto& [name, one] : figures) {
    json[name] = Json::array({one.count, one.mean, one.squares});
  }
  return json;
}

FigureSums figures_of(const Json& json) {
  FigureSums figures;
  for (const auto& [name, one] : json.items()) {
    figures[name] = {.count = one.at(0).get<std::uint64_t>(),
                     .mean = one.at(1).get<double>(),
                     .squares = one.at(2).get<double>()};
  }
  return figures;
}

using Means = std::map<std::string, Mean, std::less<>>;

void put_means(Means& means, const FigureSums& figures) {
  for (const auto& [name, one] : figures) means.emplace(name, one.result());
}

void put_shares(Means& means, const FactSums& facts) {
  for (const auto& [name, one] : facts) {
    means[name] = {.value = static_cast<double>(one.yes) / static_cast<double>(one.trials),
                   .interval = wilson_interval(one.yes, one.trials)};
  }
}

void put_changes(Means& means, const FactSums& facts) {
  for (const auto& [name, one] : facts) {
    const double change = static_cast<double>(one.yes) - static_cast<double>(one.no);
    means[name] = {.value = change / static_cast<double>(one.trials),
                   .interval = paired_interval(one.yes, one.no, one.trials)};
  }
}

}  // namespace

void ExperimentSums::OfCondition::note(const EndlessSeed& one) {
  if (!endless || one.seed < endless->seed) endless = one;
}

void ExperimentSums::add(const std::vector<Sample>& samples, std::uint64_t seed) {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    OfCondition& sums = conditions_[i];
    if (!samples[i].endless.empty()) {
      sums.note({.seed = seed, .why = samples[i].endless});
      continue;
    }
    ++sums.trials;
    sums.successes += samples[i].success ? 1U : 0U;
    for (const auto& [name, value] : samples[i].figures) sums.figures[name].add(value);
    for (const auto& [name, held] : samples[i].facts) {
      Held& fact = sums.facts[name];
      ++fact.trials;
      ++(held ? fact.yes : fact.no);
    }
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Sample& before = samples[i % others_];
    const Sample& after = samples[i + others_];
    if (!before.endless.empty() || !after.endless.empty()) continue;
    OfPair& sums = pairs_[i];
    sums.gained += after.success && !before.success ? 1U : 0U;
    sums.lost += before.success && !after.success ? 1U : 0U;
    for (const auto& [name, value] : after.figures) {
      const auto other = before.figures.find(name);
      if (other != before.figures.end()) sums.figures[name].add(value - other->second);
    }
    for (const auto& [name, held] : after.facts) {
      const auto other = before.facts.find(name);
      if (other == before.facts.end()) continue;
      Held& fact = sums.facts[name];
      ++fact.trials;
      fact.yes += held && !other->second ? 1U : 0U;
      fact.no += !held && other->second ? 1U : 0U;
    }
  }
}

void ExperimentSums::add(const ExperimentSums& more) {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    conditions_[i].trials += more.conditions_[i].trials;
    conditions_[i].successes += more.conditions_[i].successes;
    add_figures(conditions_[i].figures, more.conditions_[i].figures);
    add_facts(conditions_[i].facts, more.conditions_[i].facts);
    if (more.conditions_[i].endless) conditions_[i].note(*more.conditions_[i].endless);
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    pairs_[i].gained += more.pairs_[i].gained;
    pairs_[i].lost += more.pairs_[i].lost;
    add_figures(pairs_[i].figures, more.pairs_[i].figures);
    add_facts(pairs_[i].facts, more.pairs_[i].facts);
  }
}

ExperimentReport ExperimentSums::report(const std::vector<Condition>& conditions) const {
  ExperimentReport report;
  std::vector<std::size_t> places(conditions_.size());  // In the report.
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const OfCondition& sums = conditions_[i];
    places[i] = report.conditions.size();
    if (sums.endless) {
      report.failed.push_back({conditions[i], sums.endless->seed, sums.endless->why});
      continue;
    }
    ConditionReport one{.condition = conditions[i],
                        .trials = sums.trials,
                        .successes = sums.successes,
                        .interval = wilson_interval(sums.successes, sums.trials)};
    one.rate = static_cast<double>(sums.successes) / static_cast<double>(sums.trials);
    put_means(one.figures, sums.figures);
    put_shares(one.figures, sums.facts);
    report.conditions.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const OfPair& sums = pairs_[i];
    if (conditions_[i % others_].endless || conditions_[i + others_].endless) continue;
    const std::uint64_t trials = conditions_[i % others_].trials;
    Difference one{.from = places[i % others_],
                   .to = places[i + others_],
                   .interval = paired_interval(sums.gained, sums.lost, trials)};
    one.rate = (static_cast<double>(sums.gained) - static_cast<double>(sums.lost)) /
               static_cast<double>(trials);
    put_means(one.figures, sums.figures);
    put_changes(one.figures, sums.facts);
    report.differences.push_back(std::move(one));
  }
  return report;
}

Json ExperimentSums::json() const {
  Json all = Json::array();
  for (const OfCondition& one : conditions_) {
    Json endless;
    if (one.endless) endless = Json::array({one.endless->seed, one.endless->why});
    all.push_back(Json::array(
        {one.trials, one.successes, json_of(one.figures), json_of(one.facts), std::move(endless)}));
  }
  Json pairs = Json::array();
  for (const OfPair& one : pairs_) {
    pairs.push_back(Json::array({one.gained, one.lost, json_of(one.figures), json_of(one.facts)}));
  }
  return Json{{"conditions", std::move(all)}, {"pairs", std::move(pairs)}};
}

bool ExperimentSums::read(const Json& json) {
  try {
    const Json& all = json.at("conditions");
    const Json& pairs = json.at("pairs");
    if (all.size() != conditions_.size() || pairs.size() != pairs_.size()) return false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      conditions_[i] = {.trials = all[i].at(0).get<std::uint64_t>(),
                        .successes = all[i].at(1).get<std::uint64_t>(),
                        .figures = figures_of(all[i].at(2)),
                        .facts = facts_of(all[i].at(3))};
      if (const Json& one = all[i].at(4); !one.is_null()) {
        conditions_[i].note({one.at(0).get<std::uint64_t>(), one.at(1).get<std::string>()});
      }
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs_[i] = {.gained = pairs[i].at(0).get<std::uint64_t>(),
                   .lost = pairs[i].at(1).get<std::uint64_t>(),
                   .figures = figures_of(pairs[i].at(2)),
                   .facts = facts_of(pairs[i].at(3))};
    }
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace triage::inline v0_1::lab::detail
