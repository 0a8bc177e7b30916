// SPDX-License-Identifier: MIT
#pragma once
// From posteriors on left-out rows to what may be said: temperature and thresholds.

#include "classifier/text/text_model.hpp"
#include "evidence/findings.hpp"

#include <vector>

namespace triage::training {

// What a model said of a row that it had not seen, and what is true.
struct Judged {
  detail::Posterior posterior{};
  FailureType label = FailureType::unknown;
  detail::TextKind kind = detail::TextKind::message;
  FailureType rules = FailureType::unknown;  // What the rules said of it.
};

// Goals on the rows it is given. Left-out rows of the corpus are harder than what programs commonly
// print: the precision aimed at is below what rows written afterwards are to reach (97 %).
struct CalibrationGoals {
  double routing_precision = 0.94;  // Of the types where the right recovery matters most.
  double other_precision = 0.92;
  double most_overridden = 0.06;  // Share of the unknown rows that get a type.
};

// By kind of text.
struct Calibration {
  std::array<double, detail::text_kind_count> temperatures{1, 1};
  // Of the posterior after the temperature.
  std::array<std::array<double, failure_type_count>, detail::text_kind_count> thresholds{};
  detail::Backing backing{};
};

// wrong_tool_called, schema_mismatch, context_overflow, plan_incomplete.
[[nodiscard]] bool is_routing_sensitive(FailureType type) noexcept;

// The posterior at another temperature.
[[nodiscard]] detail::Posterior at_temperature(const detail::Posterior& posterior,
                                               double temperature) noexcept;
// The temperatures that make the labels most likely, then thresholds that reach the goals and leave
// as many right answers as they can: first for the routing-sensitive types, which share one for
// each kind of text, then for the others, of which each has its own for both. Before both: where
// the rules suggest the likeliest type, too, a threshold for each type, as low as the measured
// share of right answers allows.
[[nodiscard]] Calibration calibrate(const std::vector<Judged>& judged,
                                    const CalibrationGoals& goals = {});
// What a calibrated model says: the most likely type if it reaches its threshold, else unknown.
[[nodiscard]] detail::ModelOpinion opinion(const detail::Posterior& posterior,
                                           detail::TextKind kind, FailureType rules,
                                           const Calibration& calibration) noexcept;
// Writes the calibration into a model.
void apply(const Calibration& calibration, detail::ModelParameters& parameters);

}  // namespace triage::training
