// SPDX-License-Identifier: MIT
// Asks the classifier about generated runs which step is to blame and whether there is a loop.
// Prints one JSON document; scripts/eval_critical_steps makes a table of it.

#include "loop_runs.hpp"
#include "planted_causes.hpp"
#include "triage/classifier.hpp"
#include "triage/json.hpp"
#include "triage/step.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace triage;
using namespace triage::evaluation;

namespace {

constexpr const char* usage =
    "usage: eval_critical_steps FIRST_SEED CAUSES LOOPS [--misses]\n"
    "Asks about CAUSES runs with a planted cause, LOOPS clean and LOOPS stuck ones, from "
    "FIRST_SEED "
    "on.\n"
    "  --misses  one line for each run whose cause was not found, and the steps of a single one\n";

struct Hits {
  std::size_t runs = 0;
  std::size_t exact = 0;
  std::size_t near = 0;
  std::size_t last_exact = 0;
  std::size_t last_near = 0;
  std::size_t steps = 0;
};

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

Json to_json(const Hits& hits) {
  return {{"runs", hits.runs},           {"exact", hits.exact},
          {"near", hits.near},           {"last_exact", hits.last_exact},
          {"last_near", hits.last_near}, {"steps", hits.steps}};
}

void print_steps(const Trajectory& trajectory) {
  std::size_t index = 0;
  for (const Step& step : trajectory) {
    std::printf("  %zu %s%s -> %s%s\n", index++, step.action.c_str(),
                show(step.tool_input).substr(0, 120).c_str(),
                show(step.tool_output).substr(0, 120).c_str(),
                (step.error ? " ERROR " + *step.error : "").c_str());
  }
}

Json causes(std::uint64_t first, std::uint64_t count, bool misses) {
  std::array<Hits, cause_count> hits{};
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const PlantedRun run = plant(seed);
    const Classification found = default_classifier()->classify(
        {.failure = run.failure, .trajectory = run.trajectory, .contract = &run.contract});
    const std::size_t last = run.trajectory.size() - 1;
    const std::size_t said = found.critical_step.value_or(last);
    Hits& own = hits[static_cast<std::size_t>(run.cause)];
    own.runs += 1;
    own.steps += run.trajectory.size();
    own.exact += said == run.cause_step ? 1U : 0U;
    own.near += distance(said, run.cause_step) <= 1 ? 1U : 0U;
    own.last_exact += last == run.cause_step ? 1U : 0U;
    own.last_near += distance(last, run.cause_step) <= 1 ? 1U : 0U;
    if (misses && said != run.cause_step) {
      std::printf("seed %llu, %s: step %zu, said %zu of %zu; %s\n",
                  static_cast<unsigned long long>(seed),
                  std::string(cause_names[static_cast<std::size_t>(run.cause)]).c_str(),
                  run.cause_step, said, last + 1, show(run.failure.text).c_str());
      if (count == 1) print_steps(run.trajectory);
    }
  }
  Json all = Json::array();
  for (std::size_t i = 0; i < cause_count; ++i) {
    all.push_back(to_json(hits[i]));
    all.back()["cause"] = cause_names[i];
  }
  return all;
}

bool says_loop(const Trajectory& trajectory) {
  const Failure failure{.text = "stopped"};
  return default_classifier()->classify({.failure = failure, .trajectory = trajectory}).type ==
         FailureType::loop_detected;
}

Json loops(std::uint64_t first, std::uint64_t count, Trajectory (*make)(std::uint64_t),
           const std::array<std::string_view, 7>& names) {
  struct Count {
    std::size_t runs = 0;
    std::size_t at_end = 0;
    std::size_t at_some_step = 0;
  };
  std::array<Count, 7> counts{};
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Trajectory steps = make(seed);
    Count& own = counts[seed % names.size()];
    own.runs += 1;
    own.at_end += says_loop(steps) ? 1U : 0U;
    // Other failures may happen at any time; each run is asked at one random step.
    own.at_some_step += says_loop(steps.prefix(1 + seed * 7919 % steps.size())) ? 1U : 0U;
  }
  Json all = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.push_back({{"kind", names[i]},
                   {"runs", counts[i].runs},
                   {"at_end", counts[i].at_end},
                   {"at_some_step", counts[i].at_some_step}});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    const bool asked = argc == 2 && std::strcmp(argv[1], "--help") == 0;
    std::fputs(usage, asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t runs = std::strtoull(argv[3], nullptr, 10);
  const bool misses = argc > 4 && std::strcmp(argv[4], "--misses") == 0;
  const Json all{{"causes", causes(first, std::strtoull(argv[2], nullptr, 10), misses)},
                 {"clean", loops(first, runs, &clean_run, clean_names)},
                 {"stuck", loops(first, runs, &stuck_run, stuck_names)}};
  std::puts(show(all).c_str());
  return 0;
}
