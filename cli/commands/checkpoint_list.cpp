// SPDX-License-Identifier: MIT
// triage checkpoint list: the runs of a store, or the checkpoints of one run.

#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
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
  std::string status{};
  std::string agent{};
  std::string label{};
  std::size_t limit = 100;
  bool all = false;
  bool json = false;
};

// "died": what people call a run that never ended and has no owner any more.
constexpr std::string_view died = "died";

Result<RunQuery> query_of(const ListArguments& arguments) {
  RunQuery query{.agent = arguments.agent, .label = arguments.label, .limit = arguments.limit};
  if (arguments.status.empty()) return query;
  query.status = arguments.status == died ? RunStatus::running : parse_run_status(arguments.status);
  if (query.status) {
    // Whether a run died is only known after reading it.
    if (query.status == RunStatus::running) query.limit = 0;
    return query;
  }
  return Error{Errc::invalid_argument, "--status is \"" + arguments.status +
                                           "\"; allowed are running, died, finished, escalated, "
                                           "aborted, cancelled, suspended, failed and "
                                           "poisoned"};
}

ExitStatus warn_of_damaged_runs(const std::vector<RunInfo>& runs) {
  const auto damaged =
      std::count_if(runs.begin(), runs.end(), [](const RunInfo& run) { return run.damaged; });
  if (damaged == 0) return ExitStatus::done;
  warn(counted(static_cast<std::size_t>(damaged), "run") +
       " shown here does not match its checksum; `triage checkpoint verify` tells more");
  return ExitStatus::unreadable;
}

ExitStatus list_stored_runs(CheckpointStore& store, const ListArguments& arguments) {
  auto query = query_of(arguments);
  if (!query) return report(query.error());
  // One more than is shown, to find out whether there are more.
  if (query.value().limit > 0) ++query.value().limit;
  auto found = store.runs(query.value());
  if (found && hide_those_of_workflows(found.value(), arguments.all) > 0) {
    query.value().limit = 0;  // They have taken the places of others.
    found = store.runs(query.value());
    if (found) hide_those_of_workflows(found.value(), arguments.all);
  }
  if (!found) return report(found.error());
  std::vector<RunInfo>& runs = found.value();
  if (!arguments.status.empty()) {
    std::erase_if(runs, [&](const RunInfo& run) { return status_text(run) != arguments.status; });
  }
  const bool more = arguments.limit > 0 && runs.size() > arguments.limit;
  if (more) runs.resize(arguments.limit);
  if (arguments.json) {
    Json all = Json::array();
    for (const RunInfo& run : runs) all.push_back(run_json(run));
    print_json(Json{
        {"store", without_secrets(arguments.store)}, {"runs", std::move(all)}, {"more", more}});
    return warn_of_damaged_runs(runs);
  }
  if (runs.empty()) {
    print("No runs" + std::string(query.value().agent.empty() && query.value().label.empty() &&
                                          arguments.status.empty()
                                      ? ".\n"
                                      : " that fit.\n"));
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
  if (more) {
    warn("only the newest " + std::to_string(arguments.limit) +
         " runs are shown; --limit N shows more, 0 all");
  }
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
    if (!arguments.label.empty() && stored != arguments.label) continue;
    if (arguments.all || !arguments.label.empty()) info.label = stored;
    shown.push_back(std::move(info));
    current.push_back(
        std::binary_search(branch.begin(), branch.end(), static_cast<std::uint32_t>(i)));
  }
  const std::size_t skipped =
      arguments.limit > 0 && shown.size() > arguments.limit ? shown.size() - arguments.limit : 0;
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
    if (skipped > 0) {
      warn("only the newest " + std::to_string(arguments.limit) +
           " checkpoints are shown; --limit N shows more, 0 all");
    }
  }
  return warn_of_damage(reading.value());
}

}  // namespace

std::function<ExitStatus()> checkpoint_list(CLI::App& arguments) {
  auto given = std::make_shared<ListArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--run", given->run, "List the checkpoints of this run, oldest first.")
      ->check(not_empty());
  arguments
      .add_option("--status", given->status,
                  "Only runs with this status: running, died, finished, escalated, aborted, "
                  "cancelled, suspended, failed or poisoned.")
      ->check(not_empty());
  arguments.add_option("--agent", given->agent, "Only runs of the agent with this name.")
      ->check(not_empty());
  arguments.add_option("--label", given->label, "Only runs, or checkpoints, with this label.")
      ->check(not_empty());
  arguments.add_option("--limit", given->limit, "At most so many, the newest; 0: all.")
      ->check(whole_number(0, 1'000'000'000))
      ->capture_default_str();
  arguments.add_flag("--all", given->all,
                     "Show the runs and labels that triage makes for itself, too.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage checkpoint list --run nightly");
  return [given] {
    if (!given->run.empty() && !(given->status.empty() && given->agent.empty())) {
      return report({Errc::invalid_argument,
                     "--run lists checkpoints, so --status and --agent do not go with it"});
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
