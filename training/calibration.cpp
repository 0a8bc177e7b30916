// SPDX-License-Identifier: MIT
#include "calibration.hpp"

#include <algorithm>
#include <cmath>

namespace triage::training {
namespace {

using detail::Posterior;

FailureType most_likely(const Posterior& posterior) {
  const auto best = std::max_element(posterior.begin(), posterior.end()) - posterior.begin();
  return all_failure_types[static_cast<std::size_t>(best)];
}

double share(const Posterior& posterior, FailureType type) {
  return posterior[static_cast<std::size_t>(type)];
}

double surprise(const std::vector<Judged>& judged, double temperature) {
  double sum = 0;
  for (const Judged& row : judged) {
    sum -= std::log(std::max(1e-12, share(at_temperature(row.posterior, temperature), row.label)));
  }
  return sum;
}

struct Guess {
  double confidence = 0;
  bool right = false;
  bool overrides = false;  // The row is unknown.
};
constexpr double least_threshold = 0.4;  // What is less likely is not worth saying.
// Types that share a threshold, and what was guessed to be one of them.
struct Group {
  std::vector<FailureType> types{};
  std::vector<Guess> guesses{};  // The most confident first.
};

// Where to cut the guesses of one group, and what stays above.
struct Cut {
  double threshold = 2;  // Nothing reaches it.
  double said = 0;
  double right = 0;
  double overrides = 0;
};

// Every place where the guesses can be cut, the shortest first. guesses: the most confident first.
template <class Visit>
void for_each_cut(const std::vector<Guess>& guesses, Visit&& visit) {
  Cut here;
  for (std::size_t i = 0; i < guesses.size() && guesses[i].confidence >= least_threshold; ++i) {
    here.threshold = guesses[i].confidence;
    here.said += 1;
    here.right += guesses[i].right ? 1 : 0;
    here.overrides += guesses[i].overrides ? 1 : 0;
    // Equal confidences cannot be cut apart.
    if (i + 1 < guesses.size() && guesses[i + 1].confidence == here.threshold) continue;
    visit(here);
  }
}

// The cut with the most right guesses, where a wrong one costs as much as `price` right ones.
Cut best_cut(const std::vector<Guess>& guesses, double price) {
  Cut best;
  double best_gain = 0;
  for_each_cut(guesses, [&](const Cut& here) {
    const double gain = here.right - price * (here.said - here.right);
    if (gain <= best_gain) return;
    best_gain = gain;
    best = here;
  });
  return best;
}

// The longest cut that reaches the goals.
Cut longest_cut(const std::vector<Guess>& guesses, double precision, double most_overridden) {
  Cut longest;
  for_each_cut(guesses, [&](const Cut& here) {
    if (here.right >= precision * here.said && here.overrides <= most_overridden) longest = here;
  });
  return longest;
}

void set_threshold(const Group& group, const Cut& cut, Calibration& calibration) {
  for (const FailureType type : group.types) {
    calibration.thresholds[static_cast<std::size_t>(type)] = cut.threshold;
  }
}

// Thresholds for the groups at the lowest price of a wrong guess at which the goals are reached.
void set_thresholds(const std::vector<Group>& groups, double precision, double most_overridden,
                    Calibration& calibration) {
  constexpr double highest_price = 1000;
  for (double price = 0.5; price < highest_price; price *= 1.03) {
    Cut all;
    for (const Group& group : groups) {
      const Cut cut = best_cut(group.guesses, price);
      set_threshold(group, cut, calibration);
      all.said += cut.said;
      all.right += cut.right;
      all.overrides += cut.overrides;
    }
    if (all.right >= precision * all.said && all.overrides <= most_overridden) break;
  }
}

}  // namespace

bool is_routing_sensitive(FailureType type) noexcept {
  return type == FailureType::wrong_tool_called || type == FailureType::schema_mismatch ||
         type == FailureType::context_overflow || type == FailureType::plan_incomplete;
}

Posterior at_temperature(const Posterior& posterior, double temperature) noexcept {
  Posterior changed{};
  double sum = 0;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    sum += changed[i] = std::pow(std::max(posterior[i], 1e-30), 1 / temperature);
  }
  for (double& value : changed) value /= sum;
  return changed;
}

Calibration calibrate(const std::vector<Judged>& judged, const CalibrationGoals& goals) {
  Calibration calibration;
  double least = surprise(judged, 1);
  for (double temperature = 0.5; temperature < 5; temperature *= 1.05) {
    const double here = surprise(judged, temperature);
    if (here >= least) continue;
    least = here;
    calibration.temperature = temperature;
  }
  // The routing-sensitive types share one threshold, each of the others has its own.
  Group routing;
  std::vector<Group> others;
  std::array<std::vector<Guess>, failure_type_count> guesses;
  double unknown_rows = 0;
  for (const Judged& row : judged) {
    const Posterior posterior = at_temperature(row.posterior, calibration.temperature);
    const FailureType guess = most_likely(posterior);
    if (row.label == FailureType::unknown) ++unknown_rows;
    guesses[static_cast<std::size_t>(guess)].push_back(
        {share(posterior, guess), guess == row.label, row.label == FailureType::unknown});
  }
  for (const FailureType type : all_failure_types) {
    if (type == FailureType::unknown) continue;
    if (!is_routing_sensitive(type)) others.emplace_back();
    Group& group = is_routing_sensitive(type) ? routing : others.back();
    const std::vector<Guess>& own = guesses[static_cast<std::size_t>(type)];
    group.types.push_back(type);
    group.guesses.insert(group.guesses.end(), own.begin(), own.end());
  }
  const auto sort = [](Group& group) {
    std::stable_sort(group.guesses.begin(), group.guesses.end(),
                     [](const Guess& a, const Guess& b) { return a.confidence > b.confidence; });
  };
  sort(routing);
  std::for_each(others.begin(), others.end(), sort);
  const double most_overridden = goals.most_overridden * unknown_rows;
  const Cut cut = longest_cut(routing.guesses, goals.routing_precision, most_overridden / 2);
  set_threshold(routing, cut, calibration);
  set_thresholds(others, goals.other_precision, most_overridden - cut.overrides, calibration);
  calibration.thresholds[static_cast<std::size_t>(FailureType::unknown)] = 0;
  return calibration;
}

FailureType decide(const Posterior& posterior, const Calibration& calibration) noexcept {
  const Posterior tempered = at_temperature(posterior, calibration.temperature);
  const FailureType guess = most_likely(tempered);
  const double least = calibration.thresholds[static_cast<std::size_t>(guess)];
  return share(tempered, guess) >= least ? guess : FailureType::unknown;
}

void apply(const Calibration& calibration, detail::ModelParameters& parameters) {
  parameters.temperature = static_cast<float>(calibration.temperature);
  std::transform(calibration.thresholds.begin(), calibration.thresholds.end(),
                 parameters.thresholds.begin(),
                 [](double threshold) { return static_cast<float>(threshold); });
}

}  // namespace triage::training
