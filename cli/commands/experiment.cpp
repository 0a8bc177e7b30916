// SPDX-License-Identifier: MIT
// triage experiment: runs what a file describes, under every combination of its factors.

#include "command.hpp"
#include "experiment_file.hpp"
#include "render/experiment_table.hpp"
#include "render/output.hpp"
#include "render/progress.hpp"

#include <memory>
#include <string>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct ExperimentArguments {
  std::string file{};
  std::uint64_t seeds = 0;  // 0: as the file says.
  int threads = 0;
  bool csv = false;
  bool json = false;
  bool check = false;
};

lab::ExperimentOptions options_of(const ExperimentArguments& given,
                                  const lab::ScriptedExperiment& what) {
  lab::ExperimentOptions options = what.options();
  if (given.seeds > 0) options.seeds = given.seeds;
  options.threads = given.threads;
  return options;
}

std::size_t condition_count(const lab::ExperimentOptions& options) {
  std::size_t count = 1;
  for (const lab::Factor& factor : options.factors) count *= factor.levels.size();
  return count;
}

void print_report(const ExperimentArguments& given, const lab::ExperimentReport& report) {
  if (given.json) {
    print_json(report.json());
  } else if (given.csv) {
    print(report.csv());
  } else {
    print(experiment_tables(report));
  }
}

ExitStatus experiment_of(const ExperimentArguments& given) {
  const auto what = read_experiment_file(given.file);
  if (!what) return report(what.error());
  lab::ExperimentOptions options = options_of(given, what.value());
  if (given.check) {
    print(printable(given.file) + " is sound: " + count(condition_count(options), "condition") +
          ", " + count(options.seeds, "seed") + "\n");
    return ExitStatus::done;
  }
  Progress progress(what.value().name(), real_clock());
  options.on_progress = [&](std::uint64_t done, std::uint64_t all) { progress.tell(done, all); };
  const auto done =
      lab::run_experiment([&](const lab::Condition& condition,
                              std::uint64_t seed) { return what.value().trial(condition, seed); },
                          options);
  progress.end();
  if (!done) return report(done.error());
  print_report(given, done.value());
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> experiment(CLI::App& arguments) {
  auto given = std::make_shared<ExperimentArguments>();
  arguments
      .add_option("FILE", given->file, "The experiment, in YAML or JSON; - for standard input.")
      ->required();
  arguments.add_option("--seeds", given->seeds, "How many, instead of those of the file.")
      ->check(CLI::PositiveNumber);
  arguments.add_option("--threads", given->threads, "Default: one for each core.")
      ->check(CLI::Range(1, 1000));
  auto* csv = arguments.add_flag("--csv", given->csv, "Print a line of CSV for each condition.");
  arguments.add_flag("--json", given->json, "Print one JSON document.")->excludes(csv);
  arguments.add_flag("--check", given->check, "Only say whether the file is sound.");
  arguments.footer(std::string("Example: triage experiment examples/experiments/routing.yaml\n\n"
                               "Every condition meets the same seeds. docs/experiments.md says how "
                               "to write such a file.\n\n") +
                   exit_status_help());
  return [given] { return experiment_of(*given); };
}

}  // namespace triage::inline v0_1::cli
