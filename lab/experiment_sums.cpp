// SPDX-License-Identifier: MIT
#include "experiment_sums.hpp"

#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

void add_figures(FigureSums& sums, const FigureSums& more) {
  for (const auto& [name, moments] : more) sums[name].add(moments);
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

void put_means(std::map<std::string, Mean, std::less<>>& means, const FigureSums& figures) {
  for (const auto& [name, one] : figures) means.emplace(name, one.result());
}

}  // namespace

void ExperimentSums::add(const std::vector<Sample>& samples) {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    OfCondition& sums = conditions_[i];
    ++sums.trials;
    sums.successes += samples[i].success ? 1U : 0U;
    for (const auto& [name, value] : samples[i].figures) sums.figures[name].add(value);
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Sample& before = samples[i % others_];
    const Sample& after = samples[i + others_];
    OfPair& sums = pairs_[i];
    sums.gained += after.success && !before.success ? 1U : 0U;
    sums.lost += before.success && !after.success ? 1U : 0U;
    for (const auto& [name, value] : after.figures) {
      const auto other = before.figures.find(name);
      if (other != before.figures.end()) sums.figures[name].add(value - other->second);
    }
  }
}

void ExperimentSums::add(const ExperimentSums& more) {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    conditions_[i].trials += more.conditions_[i].trials;
    conditions_[i].successes += more.conditions_[i].successes;
    add_figures(conditions_[i].figures, more.conditions_[i].figures);
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    pairs_[i].gained += more.pairs_[i].gained;
    pairs_[i].lost += more.pairs_[i].lost;
    add_figures(pairs_[i].figures, more.pairs_[i].figures);
  }
}

ExperimentReport ExperimentSums::report(const std::vector<Condition>& conditions) const {
  ExperimentReport report;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const OfCondition& sums = conditions_[i];
    ConditionReport one{.condition = conditions[i],
                        .trials = sums.trials,
                        .successes = sums.successes,
                        .interval = wilson_interval(sums.successes, sums.trials)};
    one.rate = static_cast<double>(sums.successes) / static_cast<double>(sums.trials);
    put_means(one.figures, sums.figures);
    report.conditions.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const OfPair& sums = pairs_[i];
    const std::uint64_t trials = conditions_[i % others_].trials;
    Difference one{.from = i % others_,
                   .to = i + others_,
                   .interval = paired_interval(sums.gained, sums.lost, trials)};
    one.rate = (static_cast<double>(sums.gained) - static_cast<double>(sums.lost)) /
               static_cast<double>(trials);
    put_means(one.figures, sums.figures);
    report.differences.push_back(std::move(one));
  }
  return report;
}

Json ExperimentSums::json() const {
  Json all = Json::array();
  for (const OfCondition& one : conditions_) {
    all.push_back(Json::array({one.trials, one.successes, json_of(one.figures)}));
  }
  Json pairs = Json::array();
  for (const OfPair& one : pairs_) {
    pairs.push_back(Json::array({one.gained, one.lost, json_of(one.figures)}));
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
                        .figures = figures_of(all[i].at(2))};
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs_[i] = {.gained = pairs[i].at(0).get<std::uint64_t>(),
                   .lost = pairs[i].at(1).get<std::uint64_t>(),
                   .figures = figures_of(pairs[i].at(2))};
    }
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace triage::inline v0_1::lab::detail
