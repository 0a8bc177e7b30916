// SPDX-License-Identifier: MIT
// The figures of classification_internals.md on fewer generated runs: critical steps and loops.
#include "loop_runs.hpp"
#include "planted_causes.hpp"
#include "support/catch.hpp"
#include "triage/classifier.hpp"
#include "triage/step.hpp"

using namespace triage;
using namespace triage::evaluation;

namespace {

constexpr std::uint64_t first_seed = 2'000'000;  // Not the seeds used in development.

std::size_t loops_among(std::uint64_t runs, Trajectory (*make)(std::uint64_t)) {
  const Failure failure{.text = "stopped"};
  std::size_t found = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    const Trajectory trajectory = make(seed);
    const auto said =
        default_classifier()->classify({.failure = failure, .trajectory = trajectory});
    found += said.type == FailureType::loop_detected ? 1U : 0U;
  }
  return found;
}

}  // namespace

TEST_CASE("the step with the planted cause is found in most runs", "[classifier][made_up]") {
  constexpr std::uint64_t runs = 450;
  std::size_t exact = 0;
  std::size_t near = 0;
  std::size_t last = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    const PlantedRun run = plant(seed);
    REQUIRE(run.cause_step < run.trajectory.size());
    const auto found = default_classifier()->classify(
        {.failure = run.failure, .trajectory = run.trajectory, .contract = &run.contract});
    const std::size_t end = run.trajectory.size() - 1;
    const std::size_t said = found.critical_step.value_or(end);
    exact += said == run.cause_step ? 1U : 0U;
    near += said + 1 >= run.cause_step && said <= run.cause_step + 1 ? 1U : 0U;
    last += end == run.cause_step ? 1U : 0U;
  }
  INFO("seeds from " << first_seed << ", " << runs << " runs: exact " << exact
                     << ", within one step " << near << ", the last step " << last);
  CHECK(100 * exact >= 80 * runs);
  CHECK(100 * near >= 90 * runs);
  CHECK(100 * last <= 20 * runs);
}

TEST_CASE("clean runs have no loops, and loops are found", "[classifier][made_up]") {
  constexpr std::uint64_t runs = 2100;
  INFO("seeds from " << first_seed);
  const std::size_t alarms = loops_among(runs, &clean_run);
  const std::size_t found = loops_among(runs, &stuck_run);
  INFO(alarms << " false alarms, " << found << " loops found, of " << runs);
  CHECK(1000 * alarms <= 7 * runs);
  CHECK(100 * found >= 90 * runs);
}

TEST_CASE("made-up runs are the same for the same seed", "[classifier][made_up]") {
  const PlantedRun one = plant(7);
  const PlantedRun other = plant(7);
  CHECK(one.cause_step == other.cause_step);
  CHECK(one.failure.text == other.failure.text);
  REQUIRE(one.trajectory.size() == other.trajectory.size());
  for (std::size_t i = 0; i < one.trajectory.size(); ++i) {
    CHECK(one.trajectory[i] == other.trajectory[i]);
  }
}
