// SPDX-License-Identifier: MIT
// triage checkpoint list: the runs of a store, or the checkpoints of one run.

#include "arguments/run_argument.hpp"
#include "arguments/run_selection.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "run_status.hpp"
#include "triage/detail/own_label.hpp"
#include "triage/journal.hpp"
#include "triage/stores/open_store.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct ListArguments {
  StoreArgument where{};
  std::string store{};
  std::string run{};
  RunSelection selection{};
  bool json = false;
};

ExitStatus list_stored_runs(CheckpointStore& store, const ListArguments& arguments) {
  const RunSelection& selection = arguments.selection;
  const auto found = select_runs(store, selection);
  if (!found) return report(found.error());
  const auto& [runs, more] = found.value();
  if (arguments.json) {
    Json all = Json::array();
    for (const RunInfo& run : runs) all.push_back(run_json(run));
    print_json(Json{
        {"store", without_secrets(arguments.store)}, {"runs", std::move(all)}, {"more", more}});
    return warn_of_damaged_runs(runs);
  }
  if (runs.empty()) {
    print(no_runs(is_narrow(selection)));
    return ExitStatus::done;
  }
  Table table({{"RUN", Cut::middle},
               "AGENT",
               "LABEL",
               {"STATUS", Cut::never},
               {"STARTED (UTC)", Cut::never},
               {"TOOK", Cut::never},
               {"RECORDS", Cut::never}});
  for (const RunInfo& run : runs) {
    table.add({run.id, run.agent, run.label, status_text(run), short_time(run.started),
               short_duration(run.updated - run.started), std::to_string(run.last)});
  }
  print(table.text());
  if (more) warn_of_more(selection.limit, "run");
  return warn_of_damaged_runs(runs);
}

ExitStatus list_checkpoints(CheckpointStore& store, const ListArguments& arguments) {
  const auto reading = read_run(store, arguments.run);
  if (!reading) return report(reading.error());
  const auto folded = Journal::fold(reading.value());
  if (!folded) return report(folded.error());
  const Journal& journal = folded.value();
  const auto& branch = journal.branch();
  std::vector<CheckpointInfo> shown;
  std::vector<bool> current;
  for (std::size_t i = 0; i < journal.positions().size(); ++i) {
    CheckpointInfo info = journal.info(i);
    const std::string stored = detail::stored_label(info);
    if (!arguments.selection.label.empty() && stored != arguments.selection.label) continue;
    if (arguments.selection.all || !arguments.selection.label.empty()) info.label = stored;
    shown.push_back(std::move(info));
    current.push_back(
        std::binary_search(branch.begin(), branch.end(), static_cast<std::uint32_t>(i)));
  }
  const std::size_t skipped =
      arguments.selection.limit > 0 && shown.size() > arguments.selection.limit
          ? shown.size() - arguments.selection.limit
          : 0;
  Json all = Json::array();
  Table table({{"CHECKPOINT", Cut::middle},
               {"STEPS", Cut::never},
               {"ATTEMPT", Cut::never},
               "LABEL",
               {"TIME (UTC)", Cut::never},
               {"ABANDONED", Cut::never}});
  for (std::size_t i = skipped; i < shown.size(); ++i) {
    const CheckpointInfo& info = shown[i];
    all.push_back({{"id", to_string(info.id)},
                   {"steps", info.steps},
                   {"attempt", info.attempt},
                   {"label", info.label},
                   {"time", iso_time(info.time)},
                   {"abandoned", !current[i]}});
    table.add({to_string(info.id), std::to_string(info.steps), std::to_string(info.attempt),
               info.label, short_time(info.time), current[i] ? "" : "yes"});
  }
  if (arguments.json) {
    print_json(Json{{"store", without_secrets(arguments.store)},
                    {"run", run_json(reading.value().info)},
                    {"checkpoints", std::move(all)},
                    {"more", skipped > 0},
                    {"damaged_records", reading.value().damaged.size()}});
  } else {
    print(shown.empty() ? "No checkpoints.\n" : table.text());
    if (skipped > 0) warn_of_more(arguments.selection.limit, "checkpoint");
  }
  return warn_of_damage(reading.value());
}

}  // namespace

std::function<ExitStatus()> checkpoint_list(CLI::App& arguments) {
  auto given = std::make_shared<ListArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--run", given->run, "List the checkpoints of this run, oldest first.")
      ->check(not_empty());
  declare_selection(arguments, given->selection);
  arguments.get_option("--label")->description("Only runs, or checkpoints, with this label.");
  arguments.get_option("--all")->description(
      "Show the runs and labels that triage makes for itself, too.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage checkpoint list --run nightly");
  return [given] {
    const RunSelection& selection = given->selection;
    if (!given->run.empty() &&
        !(selection.status.empty() && selection.agent.empty() && !selection.by_update)) {
      return report({Errc::invalid_argument,
                     "--run lists checkpoints, so --status, --agent and --sort do not go with it"});
    }
    const auto meant = meant_store(given->where);
    if (!meant) return report(meant.error());
    given->store = meant.value().store;
    auto store = open_meant(given->where, meant.value());
    if (!store) return report(store.error());
    return given->run.empty() ? list_stored_runs(*store.value(), *given)
                              : list_checkpoints(*store.value(), *given);
  };
}

}  // namespace triage::inline v0_1::cli
