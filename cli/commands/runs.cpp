// SPDX-License-Identifier: MIT
// triage runs: lists past and current runs, and follows them.

#include "arguments/run_selection.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "render/waiting.hpp"
#include "run_status.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/stores/open_store.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_command = 60;
constexpr auto follow_every = std::chrono::milliseconds(500);

struct RunsArguments {
  StoreArgument where{};
  RunSelection selection{};
  bool follow = false;
  bool json = false;
};

// The program of a run of `triage run`, from its first record; for other runs, the agent's name.
std::string program_of(CheckpointStore& store, const RunInfo& run) {
  const auto reading = store.read(run.id, {1, 1});
  if (!reading || reading.value().records.empty()) return run.agent;
  const auto body = reading.value().records.front().body();
  if (!body || !body.value().is_object()) return run.agent;
  const auto task = body.value().find("task");
  if (task == body.value().end() || !task->is_object() || !task->contains("command")) {
    return run.agent;
  }
  std::vector<std::string> words;
  for (const Json& word : (*task)["command"]) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  if (const auto redactor = supervise::redactor_of(*task)) {
    words = supervise::without_secrets(words, *redactor);
  }
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return shorten(line, longest_command);
}

// Null unless it is suspended.
Json waiting(CheckpointStore& store, const RunInfo& run) {
  return run.status == RunStatus::suspended ? waiting_of(store, run.id) : Json();
}

// What a run is, and first what it waits for.
std::string what(CheckpointStore& store, const RunInfo& run) {
  const Json body = waiting(store, run);
  return (body.is_null() ? "" : waits_in_words(body) + ": ") + program_of(store, run);
}

Json line_of(CheckpointStore& store, const RunInfo& run) {
  Json line = run_json(run);
  line["what"] = program_of(store, run);
  if (const Json body = waiting(store, run); !body.is_null()) line["waits_for"] = waits_for(body);
  return line;
}

void print_table(CheckpointStore& store, const std::vector<RunInfo>& runs) {
  Table table({{"RUN", Cut::middle},
               {"STATUS", Cut::never},
               {"UPDATED (UTC)", Cut::never},
               "LABEL",
               "WHAT"});
  for (const RunInfo& run : runs) {
    table.add({run.id, status_text(run), short_time(run.updated), run.label, what(store, run)});
  }
  print(table.text());
}

// Prints a line for each new or changed run until interrupted.
ExitStatus follow(CheckpointStore& store, const RunsArguments& given) {
  std::map<RunId, std::pair<std::string, Sequence>> seen;
  for (;;) {
    const auto found = select_runs(store, given.selection);
    if (!found) return report(found.error());
    const std::vector<RunInfo>& runs = found.value().runs;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      std::pair<std::string, Sequence> now{status_text(*run), run->last};
      auto& before = seen[run->id];
      if (before == now) continue;
      before = std::move(now);
      print(given.json ? show(line_of(store, *run)) + "\n"
                       : short_time(run->updated) + "  " + run->id + "  " + before.first + "  " +
                             what(store, *run) + "\n");
    }
    if (!flush_output()) return ExitStatus::failed;  // main() says why.
    std::this_thread::sleep_for(follow_every);
  }
}

ExitStatus list_runs(const RunsArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_meant(given.where, meant.value());
  if (!store) return report(store.error());
  if (given.follow) return follow(*store.value(), given);
  const auto found = select_runs(*store.value(), given.selection);
  if (!found) return report(found.error());
  const auto& [runs, more] = found.value();
  if (given.json) {
    Json all = Json::array();
    for (const RunInfo& run : runs) all.push_back(line_of(*store.value(), run));
    print_json(Json{
        {"store", without_secrets(meant.value().store)}, {"runs", std::move(all)}, {"more", more}});
    return warn_of_damaged_runs(runs);
  }
  if (runs.empty()) {
    print(no_runs(is_narrow(given.selection)));
    return ExitStatus::done;
  }
  print_table(*store.value(), runs);
  if (more) warn_of_more(given.selection.limit, "run");
  return warn_of_damaged_runs(runs);
}

}  // namespace

std::function<ExitStatus()> runs(CLI::App& arguments) {
  auto given = std::make_shared<RunsArguments>();
  declare_store(arguments, given->where);
  declare_selection(arguments, given->selection);
  arguments.add_flag("--follow", given->follow, "Go on with a line for each run that changes.");
  arguments.add_flag("--json", given->json, "One JSON document; with --follow JSON Lines.");
  arguments.footer("Example: triage runs --status died");
  return [given] { return list_runs(*given); };
}

}  // namespace triage::inline v0_1::cli
