// SPDX-License-Identifier: MIT
// triage runs, triage suspended: lists runs, or those that wait.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "render/waiting.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/detail/joined.hpp"
#include "triage/workflow/inspect.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <thread>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_command = 60;
constexpr auto follow_every = std::chrono::milliseconds(500);

struct RunsArguments {
  StoreArgument where{};
  std::string status{};
  std::string agent{};
  std::string label{};
  std::string sort = "started";
  std::size_t limit = 100;
  bool all = false;
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

Result<std::vector<RunInfo>> find_runs(CheckpointStore& store, const RunsArguments& given) {
  RunQuery query{.agent = given.agent, .label = given.label, .limit = given.limit};
  if (!given.status.empty()) {
    const bool died = given.status == "died";
    query.status = died ? RunStatus::running : parse_run_status(given.status);
    if (!query.status) {
      return Error{Errc::invalid_argument,
                   "--status is \"" + printable(given.status) +
                       "\"; allowed are running, died, finished, escalated, aborted, cancelled, "
                       "suspended, failed and poisoned"};
    }
    if (query.status == RunStatus::running) query.limit = 0;  // Whether it died is found later.
  }
  if (given.sort == "updated") query.limit = 0;
  auto found = store.runs(query);
  if (!found) return found;
  if (hide_those_of_workflows(found.value(), given.all) > 0 && query.limit > 0) {
    query.limit = 0;  // They have taken the places of others.
    found = store.runs(query);
    if (!found) return found;
    hide_those_of_workflows(found.value(), given.all);
  }
  std::vector<RunInfo>& runs = found.value();
  if (!given.status.empty()) {
    std::erase_if(runs, [&](const RunInfo& run) { return status_text(run) != given.status; });
  }
  if (given.sort == "updated") {
    std::stable_sort(runs.begin(), runs.end(), [](const RunInfo& one, const RunInfo& other) {
      return one.updated > other.updated;
    });
  }
  if (given.limit > 0 && runs.size() > given.limit) runs.resize(given.limit);
  return found;
}

// What a suspended run says; of a workflow, what it asks.
std::string message_of(CheckpointStore& store, const RunId& run, const Json& waiting) {
  if (const auto view = workflow::inspect(store, run)) {
    const std::string questions = detail::joined(
        view.value().pending, [](const auto& one) { return question_in_words(one.payload); });
    if (!questions.empty()) return questions;
  }
  const Json message = waiting.value("message", Json(""));
  return message.is_string() ? message.get<std::string>() : "";
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
  if (runs.empty()) return print("No runs.\n");
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
    const auto runs = find_runs(store, given);
    if (!runs) return report(runs.error());
    for (auto run = runs.value().rbegin(); run != runs.value().rend(); ++run) {
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
  const auto runs = find_runs(*store.value(), given);
  if (!runs) return report(runs.error());
  if (!given.json) {
    print_table(*store.value(), runs.value());
    return ExitStatus::done;
  }
  Json all = Json::array();
  for (const RunInfo& run : runs.value()) all.push_back(line_of(*store.value(), run));
  print_json(Json{{"store", without_secrets(meant.value().store)}, {"runs", std::move(all)}});
  return ExitStatus::done;
}

ExitStatus list_suspended(const RunsArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_meant(given.where, meant.value());
  if (!store) return report(store.error());
  const auto runs = store.value()->runs({.status = RunStatus::suspended, .limit = 0});
  if (!runs) return report(runs.error());
  Table table({{"RUN", Cut::middle}, "WAITS FOR", "MESSAGE"});
  Json all = Json::array();
  ExitStatus status = ExitStatus::done;
  for (const RunInfo& run : runs.value()) {
    const auto reading = store.value()->read(run.id, {});
    if (!reading) continue;  // Erased after it was listed.
    const auto told = read_timeline(reading.value(), std::numeric_limits<Sequence>::max());
    if (!told) {
      status = report(told.error());
      continue;
    }
    Json waiting = waiting_json(told.value());
    if (!waiting.is_object()) continue;  // It continued after it was listed.
    if (!given.json) {
      table.add({run.id, waits_for(waiting), message_of(*store.value(), run.id, waiting)});
    }
    waiting["run"] = run.id;
    all.push_back(std::move(waiting));
  }
  if (given.json) {
    print_json(
        Json{{"store", without_secrets(meant.value().store)}, {"suspended", std::move(all)}});
  } else {
    print(all.empty() ? "No run waits.\n" : table.text());
  }
  return status;
}

}  // namespace

std::function<ExitStatus()> runs(CLI::App& arguments) {
  auto given = std::make_shared<RunsArguments>();
  declare_store(arguments, given->where);
  arguments
      .add_option("--status", given->status,
                  "Only runs with this status: running, died, finished, escalated, aborted, "
                  "cancelled, suspended, failed or poisoned.")
      ->check(not_empty());
  arguments.add_option("--agent", given->agent, "Only runs of this agent (triage-run).")
      ->check(not_empty());
  arguments.add_option("--label", given->label, "Only runs with this label.")->check(not_empty());
  arguments.add_option("--sort", given->sort, "started (the default) or updated; newest first.")
      ->check(CLI::IsMember({"started", "updated"}));
  arguments.add_option("--limit", given->limit, "At most so many; 0: all. Default: 100.")
      ->check(whole_number(0, 1'000'000'000));
  arguments.add_flag("--all", given->all,
                     "Show the runs that workflows make for the tries of an executor, too.");
  arguments.add_flag("--follow", given->follow, "Go on with a line for each run that changes.");
  arguments.add_flag("--json", given->json, "One JSON document; with --follow JSON Lines.");
  arguments.footer("Example: triage runs --status died");
  return [given] { return list_runs(*given); };
}

std::function<ExitStatus()> suspended(CLI::App& arguments) {
  auto given = std::make_shared<RunsArguments>();
  declare_store(arguments, given->where);
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage suspended");
  return [given] { return list_suspended(*given); };
}

}  // namespace triage::inline v0_1::cli
