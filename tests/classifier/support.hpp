// SPDX-License-Identifier: MIT
#pragma once
// Short ways to ask the rules classifier.

#include "triage/classifier.hpp"
#include "triage/step.hpp"

#include <utility>
#include <vector>

namespace triage::test {

inline Trajectory trajectory_of(std::vector<Step> steps) {
  Trajectory trajectory;
  for (Step& step : steps) trajectory.append(std::move(step));
  return trajectory;
}

inline Classification classify(const Failure& failure, std::vector<Step> steps = {}) {
  const Trajectory trajectory = trajectory_of(std::move(steps));
  return RulesClassifier().classify({.failure = failure, .trajectory = trajectory});
}

inline FailureType type_of_text(const std::string& text) { return classify({.text = text}).type; }

}  // namespace triage::test
