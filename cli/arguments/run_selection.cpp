// SPDX-License-Identifier: MIT
#include "run_selection.hpp"

#include "command.hpp"
#include "run_status.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

// A run that a workflow makes of its own, for the tries of one executor or an act on a resource: it
// has a parent, and its id ends with a mark that nobody gives by hand.
bool is_of_workflow(const RunInfo& run) {
  constexpr std::size_t mark = 24;
  if (run.parent.empty() || run.id.size() <= mark + 1) return false;
  const std::string_view end = std::string_view(run.id).substr(run.id.size() - mark - 1);
  return end.front() == ':' &&
         end.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

Result<RunQuery> query_of(const RunSelection& selection) {
  RunQuery query{.agent = selection.agent, .label = selection.label};
  // One more than is listed, to find out whether there are more.
  query.limit = selection.limit == 0 ? 0 : selection.limit + 1;
  if (!selection.status.empty()) {
    query.status = stored_status(selection.status);
    if (!query.status) {
      return Error{Errc::invalid_argument, "--status is \"" + printable(selection.status) +
                                               "\"; allowed are " + status_names("and")};
    }
  }
  // Whether a run died, and which was updated last, is only known after reading all.
  if (query.status == RunStatus::running || selection.by_update) query.limit = 0;
  return outcome::success(std::move(query));
}

}  // namespace

bool is_narrow(const RunSelection& selection) noexcept {
  return !(selection.status.empty() && selection.agent.empty() && selection.label.empty());
}

void declare_selection(CLI::App& arguments, RunSelection& selection) {
  arguments
      .add_option("--status", selection.status,
                  "Only runs with this status: " + status_names("or") + ".")
      ->check(not_empty());
  arguments
      .add_option("--agent", selection.agent, "Only runs of the agent with this name (triage-run).")
      ->check(not_empty());
  arguments.add_option("--label", selection.label, "Only runs with this label.")
      ->check(not_empty());
  arguments
      .add_option_function<std::string>(
          "--sort", [&selection](const std::string& by) { selection.by_update = by == "updated"; },
          "started (the default) or updated; newest first.")
      ->check(CLI::IsMember({"started", "updated"}));
  arguments
      .add_option("--limit", selection.limit, "At most so many, the newest; 0: all. Default: 100.")
      ->check(whole_number(0, 1'000'000'000));
  arguments.add_flag("--all", selection.all,
                     "Show the runs that workflows make for the tries of an executor, too.");
}

Result<SelectedRuns> select_runs(CheckpointStore& store, const RunSelection& selection) {
  TRIAGE_TRY(query, query_of(selection));
  TRIAGE_TRY(runs, store.runs(query));
  if (!selection.all && std::erase_if(runs, is_of_workflow) > 0 && query.limit > 0) {
    query.limit = 0;  // They have taken the places of others.
    TRIAGE_TRY(whole, store.runs(query));
    runs = std::move(whole);
    std::erase_if(runs, is_of_workflow);
  }
  if (!selection.status.empty()) {
    std::erase_if(runs, [&](const RunInfo& run) { return status_text(run) != selection.status; });
  }
  if (selection.by_update) {
    std::stable_sort(runs.begin(), runs.end(), [](const RunInfo& one, const RunInfo& other) {
      return one.updated > other.updated;
    });
  }
  const bool more = selection.limit > 0 && runs.size() > selection.limit;
  if (more) runs.resize(selection.limit);
  return SelectedRuns{std::move(runs), more};
}

}  // namespace triage::inline v0_1::cli
