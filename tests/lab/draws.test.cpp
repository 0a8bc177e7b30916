// SPDX-License-Identifier: MIT
// Draws of different purposes say nothing about each other.
#include "lab/base/draws.hpp"

#include "triage/lab/experiment_file.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <cstdlib>
#include <set>
#include <string>

using namespace triage;
using lab::detail::mixed;

namespace {

// Jobs that fail for one in ten, each by itself.
lab::ScriptedExperiment jobs_of(const std::string& jobs) {
  auto read = lab::experiment_from_json(
      Json::parse(R"({"experiment": "jobs", "policies": ["none"], "agent": {"steps": 1, "jobs": )" +
                  jobs + R"(}, "faults": [{"one": [{"trouble": "timeout", "share": 0.1}]}]})"),
      {});
  REQUIRE_OK(read);
  return std::move(read).value();
}

}  // namespace

TEST_CASE("no two seeds share the draw of a small number", "[lab][draws]") {
  constexpr std::uint64_t edge = 100;
  std::set<std::uint64_t> drawn;
  std::set<std::uint64_t> drawn_twice;
  for (std::uint64_t seed = 0; seed < edge; ++seed) {
    for (std::uint64_t number = 0; number < edge; ++number) {
      drawn.insert(mixed(seed, number));
      drawn_twice.insert(mixed(seed, number, 1));
    }
  }
  CHECK(drawn.size() == edge * edge);
  CHECK(drawn_twice.size() == edge * edge);
}

TEST_CASE("the jobs of one seed are not those of the next", "[lab][draws][experiment]") {
  const lab::ScriptedExperiment what = jobs_of("20");
  const lab::Condition only(0, {{"policy", "none"}});
  double before = 0;
  int jumps = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const double finished = what.trial(only, seed).figures.at("finished") * 20;
    if (seed > 1 && std::abs(finished - before) > 1.5) ++jumps;
    before = finished;
  }
  CHECK(jumps > 10);
}

TEST_CASE("intervals of trials with many jobs hold the truth as often as they promise",
          "[lab][draws][experiment]") {
  const lab::ScriptedExperiment what = jobs_of("10");
  int held = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    lab::ExperimentOptions options = what.options();
    options.first_seed = 1 + 1000 * i;
    options.seeds = 40;
    const auto report =
        lab::run_experiment([&](const lab::Condition& condition,
                                std::uint64_t seed) { return what.trial(condition, seed); },
                            options);
    REQUIRE_OK(report);
    const auto& finished = report.value().conditions.at(0).figures.at("finished");
    if (finished.interval.low <= 0.9 && 0.9 <= finished.interval.high) ++held;
  }
  CHECK(held >= 34);  // 38 on average; half as many if seeds shared their jobs.
}
