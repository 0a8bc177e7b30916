// SPDX-License-Identifier: MIT
#pragma once
// From posteriors of held-out rows to reportable types: temperature and thresholds.

#include "classifier/text/text_model.hpp"
#include "evidence/findings.hpp"

#include <vector>

namespace triage::training {

// What a model predicted for a held-out row, and the truth.
struct Judged {
  detail::Posterior posterior{};
  FailureType label = FailureType::unknown;
  detail::TextKind kind = detail::TextKind::message;
  FailureType rules = FailureType::unknown;  // The rules' type for it.
};

// Goals on the given rows. Held-out rows of the corpus are harder than typical program output, so
// this precision is below the goal for rows written afterwards (97 %).
struct CalibrationGoals {
  double routing_precision = 0.92;  // Of the types where the right recovery matters most.
  double other_precision = 0.92;
  double most_overridden = 0.075;  // Share of the unknown rows that get a type.
};

// By kind of text.
struct Calibration {
  std::array<double, detail::text_kind_count> temperatures{1, 1};
  // Applied after the temperature.
  std::array<std::array<double, failure_type_count>, detail::text_kind_count> thresholds{};
  detail::Backing backing{};
};

// wrong_tool_called, schema_mismatch, context_overflow, plan_incomplete.
[[nodiscard]] bool is_routing_sensitive(FailureType type) noexcept;

// The posterior at a different temperature.
[[nodiscard]] detail::Posterior at_temperature(const detail::Posterior& posterior,
                                               double temperature) noexcept;
// The temperatures that maximise the likelihood of the labels, then the thresholds that reach the
// goals with the most right answers: first for the routing-sensitive types, which share one per
// kind of text, then for the others, each with one for both kinds. Before both: for each type a
// threshold for rows where the rules suggest it too, as low as the measured share of right answers
// permits.
[[nodiscard]] Calibration calibrate(const std::vector<Judged>& judged,
                                    const CalibrationGoals& goals = {});
// A calibrated model's verdict: the most likely type if it reaches its threshold, else unknown.
[[nodiscard]] detail::ModelOpinion opinion(const detail::Posterior& posterior,
                                           detail::TextKind kind, FailureType rules,
                                           const Calibration& calibration) noexcept;
// Copies the calibration to a model.
void apply(const Calibration& calibration, detail::ModelParameters& parameters);

}  // namespace triage::training
