// SPDX-License-Identifier: MIT
// triage experiment: runs the experiment of a file under every combination of its factors.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "arguments/store_place.hpp"
#include "command.hpp"
#include "documents/experiment_file.hpp"
#include "documents/output_file.hpp"
#include "render/experiment_table.hpp"
#include "render/output.hpp"
#include "render/progress.hpp"
#include "triage/detail/try.hpp"
#include "triage/lab/experiment_plots.hpp"
#include "triage/version.hpp"

#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

struct ExperimentArguments {
  std::string file{};
  std::uint64_t seeds = 0;  // 0: as in the file.
  int threads = 0;
  bool csv = false;
  bool json = false;
  bool check = false;
  bool again = false;
  std::string store{};
  std::string html{};
  std::string svg{};
};

lab::ExperimentOptions options_of(const ExperimentArguments& given,
                                  const lab::ScriptedExperiment& what) {
  lab::ExperimentOptions options = what.options();
  if (given.seeds > 0) options.seeds = given.seeds;
  options.threads = given.threads;
  options.name = what.name();
  // Another release may simulate otherwise, and its trials are not mixed with this one's.
  options.trial = TRIAGE_VERSION_STRING " " + what.fingerprint();
  return options;
}

// The store that holds the experiment's progress.
Result<std::shared_ptr<CheckpointStore>> store_of(const ExperimentArguments& given,
                                                  const lab::ExperimentOptions& options) {
  const auto where = given.store.empty() ? make_default_store() : Result<std::string>(given.store);
  if (!where) return where.error();
  TRIAGE_TRY(store, open_store_for_runs(where.value()));
  if (given.again) {
    auto erased = store->erase(lab::experiment_run(options));
    if (!erased && erased.error().code != Errc::not_found) return std::move(erased).error();
  }
  return outcome::success(std::move(store));
}

// Those that came to no end. What the file asks of them does not fit a simulation.
ExitStatus tell_failed(const lab::ExperimentReport& given) {
  if (given.failed.empty()) return ExitStatus::done;
  const auto text = [](const lab::FailedCondition& one) { return one.text(); };
  return report({Errc::exhausted, detail::joined(given.failed, text, "\n")});
}

void tell_resumed(const lab::ExperimentReport& report, std::uint64_t seeds) {
  const std::uint64_t all = seeds * (report.conditions.size() + report.failed.size());
  if (report.resumed == all) {
    warn("this experiment had finished before; --again runs it again");
  } else if (report.resumed > 0) {
    warn("went on after " + std::to_string(report.resumed) + " of " + std::to_string(all) +
         " trials");
  }
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

Result<void> write_file(const std::string& path, std::string_view text) {
  const auto write = [&](std::ostream& out) -> Result<void> {
    out << text;
    return outcome::success();
  };
  return write_output(path, write, Readable::as_usual);
}

Result<void> write_reports(const ExperimentArguments& given, const lab::ScriptedExperiment& what,
                           const lab::ExperimentReport& report) {
  if (!given.html.empty()) {
    const auto trials = lab::shown_trials(what, report);
    TRIAGE_TRYV(write_file(given.html, lab::html_report(what, report, trials)));
  }
  if (!given.svg.empty()) {
    TRIAGE_TRYV(write_file(given.svg, lab::success_svg(report)));
  }
  return outcome::success();
}

// reads: the file and its policies.
Result<void> check_reports(const ExperimentArguments& given, std::vector<std::string> reads) {
  for (std::string& path : store_paths(given.store)) reads.push_back(std::move(path));
  const std::array<OutputFile, 2> files{{{"--html", given.html}, {"--svg", given.svg}}};
  return check_outputs(files, reads);
}

void print_sound(const ExperimentArguments& given, const lab::ExperimentOptions& options) {
  const std::size_t conditions = condition_count(options);
  if (given.json) {
    return print_json({{"file", given.file},
                       {"sound", true},
                       {"conditions", conditions},
                       {"seeds", options.seeds}});
  }
  print(printable(given.file) + " is sound: " + counted(conditions, "condition") + ", " +
        counted(options.seeds, "seed") + "\n");
}

ExitStatus experiment_of(const ExperimentArguments& given) {
  std::vector<std::string> reads;
  const auto what = read_experiment_file(given.file, &reads);
  if (!what) return report(what.error());
  lab::ExperimentOptions options = options_of(given, what.value());
  if (given.check) {
    print_sound(given, options);
    return ExitStatus::done;
  }
  if (const auto fine = check_reports(given, std::move(reads)); !fine) {
    return report(fine.error());
  }
  auto store = store_of(given, options);
  if (!store) return report(store.error());
  options.store = std::move(store).value();
  Progress progress(what.value().name(), real_clock());
  options.on_progress = [&](std::uint64_t done, std::uint64_t all) { progress.tell(done, all); };
  const auto done =
      lab::run_experiment([&](const lab::Condition& condition,
                              std::uint64_t seed) { return what.value().trial(condition, seed); },
                          options);
  progress.end();
  if (!done) return report(done.error());
  tell_resumed(done.value(), options.seeds);
  print_report(given, done.value());
  const auto written = write_reports(given, what.value(), done.value());
  const ExitStatus told = tell_failed(done.value());
  return written ? told : report(written.error());
}

}  // namespace

std::function<ExitStatus()> experiment(CLI::App& arguments) {
  auto given = std::make_shared<ExperimentArguments>();
  arguments
      .add_option("FILE", given->file, "The experiment, in YAML or JSON; - for standard input.")
      ->required();
  arguments.add_option("--seeds", given->seeds, "How many, instead of those of the file.")
      ->check(whole_number(1, 1'000'000'000'000));
  arguments.add_option("--threads", given->threads, "Default: one for each core.")
      ->check(CLI::Range(1, 1000));
  auto* csv = arguments.add_flag("--csv", given->csv, "Print a line of CSV for each condition.");
  arguments.add_flag("--json", given->json, "Print one JSON document.")->excludes(csv);
  arguments
      .add_option("--html", given->html,
                  "Write a page with charts to this file. It needs no network.")
      ->check(not_empty());
  arguments.add_option("--svg", given->svg, "Write a picture of success to this file.")
      ->check(not_empty());
  arguments
      .add_option("--store", given->store,
                  store_help + std::string(" Default: triage/runs.db in the state folder."))
      ->check(not_empty());
  arguments.add_flag("--again", given->again,
                     "Forget how far this experiment got, and start over.");
  arguments.add_flag("--check", given->check, "Only say whether the file is sound.");
  arguments.footer(
      "Example: triage experiment examples/experiments/routing.yaml\n\n"
      "Every condition meets the same seeds. An experiment that was "
      "killed goes on when it is\nstarted again. docs/experiments.md says "
      "how to write such a file.");
  return [given] { return experiment_of(*given); };
}

}  // namespace triage::inline v0_1::cli
