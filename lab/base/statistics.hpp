// SPDX-License-Identifier: MIT
#pragma once
// Means and variances in a single pass.

#include "triage/lab/experiment.hpp"

#include <cstdint>

namespace triage::inline v0_1::lab::detail {

// Source: B. Welford, Technometrics 4, 1962.
struct Moments {
  std::uint64_t count = 0;
  double mean = 0.0;
  double squares = 0.0;  // Sum of squared deviations from the mean.

  void add(double value) noexcept;
  // Of other values. Source: T. Chan, G. Golub, R. LeVeque, 1979.
  void add(const Moments& more) noexcept;
  [[nodiscard]] Mean result() const noexcept;
};

}  // namespace triage::inline v0_1::lab::detail
