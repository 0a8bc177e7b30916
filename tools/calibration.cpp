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

// The lowest threshold above which the guesses reach the precision and override at most so many.
double lowest_threshold(std::vector<Guess> guesses, double precision, double most_overridden) {
  std::sort(guesses.begin(), guesses.end(),
            [](const Guess& a, const Guess& b) { return a.confidence > b.confidence; });
  double threshold = 1;
  double right = 0;
  double overridden = 0;
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    right += guesses[i].right ? 1 : 0;
    overridden += guesses[i].overrides ? 1 : 0;
    if (overridden > most_overridden) break;
    if (right >= precision * static_cast<double>(i + 1)) threshold = guesses[i].confidence;
  }
  return threshold;
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
  std::vector<Guess> routing;
  std::vector<Guess> others;
  double unknown_rows = 0;
  for (const Judged& row : judged) {
    const Posterior posterior = at_temperature(row.posterior, calibration.temperature);
    const FailureType guess = most_likely(posterior);
    if (row.label == FailureType::unknown) ++unknown_rows;
    if (guess == FailureType::unknown) continue;
    (is_routing_sensitive(guess) ? routing : others)
        .push_back(
            {share(posterior, guess), guess == row.label, row.label == FailureType::unknown});
  }
  const double most_overridden = goals.most_overridden * unknown_rows;
  const double routing_threshold =
      lowest_threshold(routing, goals.routing_precision, most_overridden / 2);
  double spent = 0;
  for (const Guess& guess : routing) {
    spent += guess.overrides && guess.confidence >= routing_threshold ? 1 : 0;
  }
  const double other_threshold =
      lowest_threshold(others, goals.other_precision, most_overridden - spent);
  for (const FailureType type : all_failure_types) {
    calibration.thresholds[static_cast<std::size_t>(type)] =
        is_routing_sensitive(type) ? routing_threshold : other_threshold;
  }
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
