// SPDX-License-Identifier: MIT
#include "calibration.hpp"

#include <algorithm>
#include <cmath>

namespace triage::training {
namespace {

using detail::Posterior;

constexpr std::array text_kinds{detail::TextKind::message, detail::TextKind::program};

double share(const Posterior& posterior, FailureType type) {
  return posterior[static_cast<std::size_t>(type)];
}

std::size_t number(detail::TextKind kind) { return static_cast<std::size_t>(kind); }

double surprise(const std::vector<Judged>& judged, detail::TextKind kind, double temperature) {
  double sum = 0;
  for (const Judged& row : judged) {
    if (row.kind != kind) continue;
    sum -= std::log(std::max(1e-12, share(at_temperature(row.posterior, temperature), row.label)));
  }
  return sum;
}

double best_temperature(const std::vector<Judged>& judged, detail::TextKind kind) {
  double best = 1;
  double least = surprise(judged, kind, best);
  for (double temperature = 0.5; temperature < 5; temperature *= 1.05) {
    const double here = surprise(judged, kind, temperature);
    if (here >= least) continue;
    least = here;
    best = temperature;
  }
  return best;
}

struct Guess {
  double confidence = 0;
  bool right = false;
  bool overrides = false;  // The row's label is unknown.
};
constexpr double least_threshold = 0.4;  // Less likely types are not worth reporting.
// Types that share a threshold, and the guesses of them.
struct Group {
  std::vector<FailureType> types{};
  std::vector<Guess> guesses{};  // Most confident first.
};

// Where to cut a group's guesses, and what remains above.
struct Cut {
  double threshold = 2;  // Unreachable.
  double said = 0;
  double right = 0;
  double overrides = 0;
};

// Visits every possible cut, shortest first. guesses: most confident first.
template <class Visit>
void for_each_cut(const std::vector<Guess>& guesses, Visit&& visit,
                  double least = least_threshold) {
  Cut here;
  for (std::size_t i = 0; i < guesses.size() && guesses[i].confidence >= least; ++i) {
    here.threshold = guesses[i].confidence;
    here.said += 1;
    here.right += guesses[i].right ? 1 : 0;
    here.overrides += guesses[i].overrides ? 1 : 0;
    // Equal confidences cannot be separated.
    if (i + 1 < guesses.size() && guesses[i + 1].confidence == here.threshold) continue;
    visit(here);
  }
}

// The cut with the most right guesses, if a wrong one costs `price` right ones.
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

// The longest cut with a sufficient share of right guesses. A type with few rows is assumed to be
// like its group, whose guesses are `others`.
Cut backed_cut(const std::vector<Guess>& guesses, const std::vector<Guess>& others,
               double precision) {
  constexpr double weight = 20;  // How many rows the group counts for.
  constexpr double any = 0;
  Cut longest;
  const auto visit = [&](const Cut& here) {
    double said = 1;  // Starts with one wrong guess.
    double right = 0;
    for (const Guess& other : others) {
      if (other.confidence < here.threshold) break;
      said += 1;
      right += other.right ? 1 : 0;
    }
    if (here.right + weight * right / said >= precision * (here.said + weight)) longest = here;
  };
  for_each_cut(guesses, visit, any);
  return longest;
}

using CutPair = std::array<Cut, detail::text_kind_count>;

// The cuts for both kinds of text that, together with what is settled, reach the goals and keep the
// most right guesses.
CutPair longest_cuts(const std::array<Group, detail::text_kind_count>& groups, const Cut& settled,
                     double precision, double most_overridden) {
  CutPair longest;
  double most_right = 0;
  const auto try_second = [&](const Cut& first) {
    const auto try_both = [&](const Cut& second) {
      const double right = first.right + second.right;
      const double said = first.said + second.said + settled.said;
      if (right <= most_right || right + settled.right < precision * said ||
          first.overrides + second.overrides > most_overridden) {
        return;
      }
      most_right = right;
      longest = {first, second};
    };
    try_both({});
    for_each_cut(groups[1].guesses, try_both);
  };
  try_second({});
  for_each_cut(groups[0].guesses, try_second);
  return longest;
}

void set_threshold(const Group& group, const Cut& cut, detail::TextKind kind,
                   Calibration& calibration) {
  for (const FailureType type : group.types) {
    calibration.thresholds[number(kind)][static_cast<std::size_t>(type)] = cut.threshold;
  }
}

// Thresholds for the groups, at the lowest price of a wrong guess that reaches the goals.
void set_thresholds(const std::vector<Group>& groups, const Cut& settled, double precision,
                    double most_overridden, Calibration& calibration) {
  constexpr double highest_price = 1000;
  for (double price = 0.5; price < highest_price; price *= 1.03) {
    Cut all{.said = settled.said, .right = settled.right};
    for (const Group& group : groups) {
      const Cut cut = best_cut(group.guesses, price);
      for (const detail::TextKind kind : text_kinds) set_threshold(group, cut, kind, calibration);
      all.said += cut.said;
      all.right += cut.right;
      all.overrides += cut.overrides;
    }
    if (all.right >= precision * all.said && all.overrides <= most_overridden) break;
  }
}

void sort_guesses(std::vector<Guess>& guesses) {
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.confidence > b.confidence; });
}

// The rows for which the rules agree with the most likely type, by type.
std::array<std::vector<Guess>, failure_type_count> backed_guesses(const std::vector<Judged>& judged,
                                                                  const Calibration& calibration) {
  std::array<std::vector<Guess>, failure_type_count> backed;
  for (const Judged& row : judged) {
    const Posterior posterior =
        at_temperature(row.posterior, calibration.temperatures[number(row.kind)]);
    const FailureType type = detail::likeliest_of(posterior);
    if (type == FailureType::unknown || row.rules != type) continue;
    backed[static_cast<std::size_t>(type)].push_back(
        {share(posterior, type), type == row.label, row.label == FailureType::unknown});
  }
  return backed;
}

// What agreement has settled.
struct Settled {
  std::vector<bool> rows{};
  Cut routing{};
  Cut others{};
};

// Determines what may be reported if rules and model agree.
Settled settle_agreed(const std::vector<Judged>& judged, const CalibrationGoals& goals,
                      Calibration& calibration) {
  auto backed = backed_guesses(judged, calibration);
  std::array<std::vector<Guess>, 2> groups;
  const auto group_of = [](FailureType type) { return is_routing_sensitive(type) ? 0U : 1U; };
  for (const FailureType type : all_failure_types) {
    std::vector<Guess>& own = backed[static_cast<std::size_t>(type)];
    sort_guesses(own);
    std::vector<Guess>& group = groups[group_of(type)];
    group.insert(group.end(), own.begin(), own.end());
  }
  for (auto& group : groups) sort_guesses(group);
  Settled settled;
  for (const FailureType type : all_failure_types) {
    const auto i = static_cast<std::size_t>(type);
    const bool routing = is_routing_sensitive(type);
    const Cut cut = backed_cut(backed[i], groups[group_of(type)],
                               routing ? goals.routing_precision : goals.other_precision);
    calibration.backing.thresholds[i] = static_cast<float>(cut.threshold);
    calibration.backing.shares[i] = static_cast<float>(cut.right / (cut.said + 1));
    Cut& sum = routing ? settled.routing : settled.others;
    sum.said += cut.said;
    sum.right += cut.right;
    sum.overrides += cut.overrides;
  }
  constexpr double never = 2;
  for (const Judged& row : judged) {
    const Posterior posterior =
        at_temperature(row.posterior, calibration.temperatures[number(row.kind)]);
    const auto said = detail::opinion_of(posterior, never, calibration.backing, row.rules);
    settled.rows.push_back(said.type != FailureType::unknown);
  }
  return settled;
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
  for (const detail::TextKind kind : text_kinds) {
    calibration.temperatures[number(kind)] = best_temperature(judged, kind);
  }
  std::array<Group, detail::text_kind_count> routing;
  std::vector<Group> others;
  for (const FailureType type : all_failure_types) {
    if (type == FailureType::unknown) continue;
    if (is_routing_sensitive(type)) {
      for (Group& group : routing) group.types.push_back(type);
    } else {
      others.push_back({.types = {type}});
    }
  }
  const Settled settled = settle_agreed(judged, goals, calibration);
  double unknown_rows = 0;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Judged& row = judged[i];
    const Posterior posterior =
        at_temperature(row.posterior, calibration.temperatures[number(row.kind)]);
    const FailureType type = detail::likeliest_of(posterior);
    const bool is_unknown = row.label == FailureType::unknown;
    if (is_unknown) ++unknown_rows;
    if (settled.rows[i]) continue;
    const Guess guess{share(posterior, type), type == row.label, is_unknown};
    if (is_routing_sensitive(type)) routing[number(row.kind)].guesses.push_back(guess);
    for (Group& group : others) {
      if (group.types.front() == type) group.guesses.push_back(guess);
    }
  }
  for (Group& group : routing) sort_guesses(group.guesses);
  for (Group& group : others) sort_guesses(group.guesses);
  double most_overridden =
      goals.most_overridden * unknown_rows - settled.routing.overrides - settled.others.overrides;
  const CutPair cuts =
      longest_cuts(routing, settled.routing, goals.routing_precision, most_overridden / 2);
  for (const detail::TextKind kind : text_kinds) {
    set_threshold(routing[number(kind)], cuts[number(kind)], kind, calibration);
    most_overridden -= cuts[number(kind)].overrides;
  }
  set_thresholds(others, settled.others, goals.other_precision, most_overridden, calibration);
  return calibration;
}

detail::ModelOpinion opinion(const Posterior& posterior, detail::TextKind kind, FailureType rules,
                             const Calibration& calibration) noexcept {
  const Posterior tempered = at_temperature(posterior, calibration.temperatures[number(kind)]);
  const auto guess = static_cast<std::size_t>(detail::likeliest_of(tempered));
  return detail::opinion_of(tempered, calibration.thresholds[number(kind)][guess],
                            calibration.backing, rules);
}

void apply(const Calibration& calibration, detail::ModelParameters& parameters) {
  const auto as_float = [](double value) { return static_cast<float>(value); };
  for (const detail::TextKind kind : text_kinds) {
    const std::size_t i = number(kind);
    parameters.temperatures[i] = as_float(calibration.temperatures[i]);
    std::transform(calibration.thresholds[i].begin(), calibration.thresholds[i].end(),
                   parameters.thresholds[i].begin(), as_float);
  }
  parameters.backing = calibration.backing;
}

}  // namespace triage::training
