// SPDX-License-Identifier: MIT
// triage workflow run: runs a file's tasks or executors, or continues them.

#include "arguments/key_value.hpp"
#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "arguments/store_place.hpp"
#include "command.hpp"
#include "programs/command_lineage.hpp"
#include "programs/run_session.hpp"
#include "render/output.hpp"
#include "render/waiting.hpp"
#include "run_status.hpp"
#include "supervise/process/signals.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/observer.hpp"
#include "workflows/going_on.hpp"
#include "workflows/told_events.hpp"
#include "workflows/workflow_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

using workflow::TaskStatus;
using workflow::TaskView;

constexpr std::size_t longest_shown_output = 200;

struct WorkflowRunArguments {
  std::string file{};
  std::string store{};
  std::string run{};
  std::vector<std::string> inputs{};
  std::vector<std::string> answers{};
  std::size_t threads = 4;
  std::string redact = "common";
  bool json = false;
  bool check = false;
  bool revive = false;
};

struct Prepared {
  WorkflowFile file{};
  workflow::TaskGraph graph{""};  // If the file has tasks.
  std::optional<workflow::Workflow> workflow{};
  Json inputs{};
  std::shared_ptr<const Redactor> redactor{};
  std::shared_ptr<CommandLineage> lineage{};
  [[nodiscard]] bool has_tasks() const { return file.graph.executors.empty(); }
};

Result<Json> inputs_of(const WorkflowRunArguments& given, const WorkflowFile& file) {
  Json inputs = file.inputs;
  if (given.inputs.empty()) return outcome::success(std::move(inputs));
  TRIAGE_TRY(set, object_of("--input", given.inputs));
  for (auto one = set.begin(); one != set.end(); ++one) {
    if (!inputs.contains(one.key())) {
      const std::string known =
          detail::joined(inputs.items(), [](const auto& input) { return input.key(); });
      return Error{Errc::invalid_argument, "--input " + printable(one.key()) +
                                               " is not an input of the file; allowed are those "
                                               "under \"inputs\": " +
                                               (known.empty() ? "none" : known)};
    }
    inputs[one.key()] = *one;
  }
  return outcome::success(std::move(inputs));
}

// Also the keys of the file's endpoints, whatever their variables' names.
std::vector<std::string> secrets_of(const WorkflowFile& file) {
  std::vector<std::string> secrets = supervise::secrets_of_environment();
  for (const auto& [name, agent] : file.agents) {
    if (agent.key_env.empty()) continue;
    const char* key = std::getenv(agent.key_env.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (key != nullptr) secrets.emplace_back(key);
  }
  return secrets;
}

Result<Prepared> prepare(const WorkflowRunArguments& given) {
  Prepared all;
  TRIAGE_TRY(file, read_workflow_file(given.file));
  const auto redactor = std::make_shared<supervise::RunRedactor>(secrets_of(file));
  TRIAGE_TRYV(redactor->set({.redact = given.redact}));
  all.redactor = redactor;
  std::error_code failed;
  const auto folder = std::filesystem::absolute(given.file, failed).parent_path();
  // Without a place for it nothing is run; whoever opens it tells why.
  const auto store = given.store.empty() ? default_store() : Result<std::string>(given.store);
  all.lineage = std::make_shared<CommandLineage>(store ? store_place(store.value()) : "");
  auto works_made = works_of(file, folder.string(), redactor, all.lineage);
  if (!works_made) {
    return Error{works_made.error().code, printable(given.file) + ": " + works_made.error().detail};
  }
  const AgentWorks& works = works_made.value();
  TRIAGE_TRY(inputs, inputs_of(given, file));
  all.file = std::move(file);
  const OnRetry on_retry = [redactor](const std::string& path, const std::string& failure,
                                      Duration wait) {
    tell_retry(path, failure, wait, *redactor);
  };
  if (all.has_tasks()) all.graph = graph_of(all.file, telling_works(works), on_retry);
  auto built = all.has_tasks() ? all.graph.build() : workflow_of(all.file, works, on_retry);
  if (!built) {
    return Error{built.error().code, printable(given.file) + ": " + built.error().detail};
  }
  all.workflow.emplace(std::move(built).value());
  all.inputs = std::move(inputs);
  return outcome::success(std::move(all));
}

void print_tasks(const std::vector<TaskView>& tasks, const RunId& run, const Redactor& redactor,
                 bool as_json) {
  Json json = Json::array();
  Table table({"TASK", "STATUS", "OUTPUT"});
  for (const TaskView& one : tasks) {
    const std::string why = redactor.text(one.why);
    json.push_back(
        {{"id", one.id}, {"status", to_string(one.status)}, {"output", one.output}, {"why", why}});
    const bool done = one.status == TaskStatus::completed;
    table.add({one.id, std::string(to_string(one.status)),
               shorten(done ? show(one.output) : why, longest_shown_output)});
  }
  if (as_json) return print_json({{"run", run}, {"tasks", std::move(json)}});
  print(table.text());
}

// The questions to be answered before the run can continue.
Json requests_json(const std::vector<workflow::PendingRequest>& pending) {
  Json all = Json::array();
  for (const workflow::PendingRequest& one : pending) {
    Json json{{"id", one.id}, {"answer", one.port}, {"asks", one.payload}};
    if (one.expires) json["expires_ms"] = one.expires->time_since_epoch().count();
    all.push_back(std::move(json));
  }
  return all;
}

void print_requests(const std::vector<workflow::PendingRequest>& pending) {
  Table table({"REQUEST", "ANSWER", "ASKS"});
  for (const workflow::PendingRequest& one : pending) {
    table.add({one.id, one.port, shorten(question_in_words(one.payload), longest_shown_output)});
  }
  print(table.text());
}

void print_outputs(const Result<workflow::WorkflowResult>& done, const RunId& run,
                   const std::vector<workflow::PendingRequest>& pending, bool as_json) {
  Json json = Json::array();
  Table table({"EXECUTOR", "OUTPUT"});
  if (done) {
    for (const workflow::Output& one : done.value().outputs) {
      json.push_back({{"executor", one.executor}, {"output", one.value}});
      table.add({one.executor, shorten(show(one.value), longest_shown_output)});
    }
  }
  if (as_json) {
    return print_json(
        {{"run", run}, {"outputs", std::move(json)}, {"requests", requests_json(pending)}});
  }
  if (done) print(table.text());
  if (!pending.empty()) print_requests(pending);
}

using Pending = std::vector<workflow::PendingRequest>;

Pending::const_iterator find_request(const Pending& pending, const std::string& id) {
  return std::find_if(pending.begin(), pending.end(),
                      [&](const workflow::PendingRequest& one) { return one.id == id; });
}

// Without those that were given before: a command that was killed may be repeated.
Result<Json> new_answers(const std::vector<std::string>& given, const workflow::WorkflowRun& run) {
  TRIAGE_TRY(answers, object_of("--answer", given));
  Json fresh = Json::object();
  for (const auto& [request, answer] : answers.items()) {
    TRIAGE_TRY(before, run.answered(request));
    if (before && *before != answer) {
      return Error{Errc::conflict, "request \"" + printable(request) +
                                       "\" has been answered before, with " + show(*before)};
    }
    if (!before) fresh[request] = answer;
  }
  return outcome::success(std::move(fresh));
}

// None of several is taken if one of them answers nothing, comes too late, or is of another type:
// what looks wrong is given first, for the run to refuse.
Result<void> give_answers(const WorkflowRunArguments& given, workflow::WorkflowRun& run) {
  if (given.answers.empty()) return outcome::success();
  TRIAGE_TRY(answers, new_answers(given.answers, run));
  TRIAGE_TRY(pending, run.pending_requests());
  const WallTime now = real_clock()->wall_now();
  const auto fits = [&](const std::string& request, const Json& answer) {
    const auto found = find_request(pending, request);
    return found != pending.end() && fits_answer(answer, found->port) &&
           (!found->expires || now < *found->expires);
  };
  std::string taken;
  for (const bool fitting : {false, true}) {
    for (const auto& [request, answer] : answers.items()) {
      if (fits(request, answer) != fitting) continue;
      if (auto done = run.answer(request, answer); !done) {
        return Error{
            done.error().code,
            done.error().detail + (taken.empty() ? "" : "; taken are the answers" + taken)};
      }
      taken += (taken.empty() ? " to " : ", ") + request;
    }
  }
  return outcome::success();
}

// The first SIGINT or SIGTERM pauses the run: what is at work comes to its end. The second aborts
// it.
class EndBySignal {
 public:
  EndBySignal(const supervise::Signals& signals, workflow::WorkflowRun& run, std::stop_source& end)
      : pause_(signals.no_more(),
               [&run, &end] {
                 warn("begins nothing more; again to end what is at work");
                 if (!run.pause()) end.request_stop();  // It has not begun.
               }),
        abort_(signals.stop_token(), [&run, &end] {
          if (!run.abort("interrupted")) end.request_stop();
        }) {}

 private:
  std::stop_callback<std::function<void()>> pause_;
  std::stop_callback<std::function<void()>> abort_;
};

void print_check(const WorkflowRunArguments& given, const Prepared& prepared) {
  const bool tasks = prepared.has_tasks();
  const char* const what = tasks ? "tasks" : "executors";
  const std::size_t number =
      tasks ? prepared.file.tasks.size() : prepared.file.graph.executors.size();
  if (given.json) return print_json({{"file", given.file}, {"sound", true}, {what, number}});
  print(printable(given.file) + " is sound: " + counted(number, tasks ? "task" : "executor") +
        "\n");
}

// What an executor did wrong, such as a message for nobody, is a failure of the run, not of the
// command that began it.
Error as_of_run(Error error) {
  const bool is_refusal = error.code == Errc::conflict || error.code == Errc::invalid_argument;
  if (is_refusal && error.failure()) error.code = Errc::escalated;
  return error;
}

// What a command said may have several lines.
std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Why the run has not finished, and what can be done about it. That a limit was reached, or that
// the run's process died too often, is not the command's mistake either.
ExitStatus tell_end(const GivenRun& command, const Prepared& prepared, Error error,
                    CheckpointStore& store, const Pending& pending) {
  error = as_of_run(std::move(error));
  const std::string next = how_to_go_on(command, prepared.file, error, store, pending);
  if (!next.empty()) warn(next);
  const bool poisoned = is_poisoned(store, command.run);
  const std::string why = poisoned ? error.detail : said(error);  // Its advice is for programs.
  if (poisoned || error.code == Errc::exhausted) error.code = Errc::escalated;
  return report({error.code, prepared.redactor->text(in_one_line(why))});
}

ExitStatus run_file(const WorkflowRunArguments& given) {
  auto prepared = prepare(given);
  if (!prepared) return report(prepared.error());
  if (given.check) {
    print_check(given, prepared.value());
    return ExitStatus::done;
  }
  const auto where = given.store.empty() ? make_default_store() : Result<std::string>(given.store);
  if (!where) return report(where.error());
  const auto signals = supervise::Signals::take();  // Before there is another thread.
  if (!signals) return report(signals.error());
  signals.value()->finish_at_first();
  std::stop_source end;
  const auto& redactor = prepared.value().redactor;
  auto opened = open_store_for_runs(where.value());
  if (!opened) return report(opened.error());
  const auto store = redacting_around(std::move(opened).value(), redactor);
  if (!store) return report(store.error());
  const RunId id =
      given.run.empty() ? make_run_id(real_clock()->wall_now(), *real_random()) : given.run;
  const auto before = store.value()->run(id);
  if (before && has_died(before.value())) prepared.value().lineage->expect_leftovers(id);
  workflow::WorkflowRun run(
      *prepared.value().workflow,
      {.run_id = id,
       .store = store.value(),
       .threads = given.threads,
       .revive = given.revive,
       .stop_token = end.get_token(),
       .observer = observe(tell_lost_store),
       .on_event = [&redactor, tasks = prepared.value().has_tasks()](const auto& event) {
         tasks ? tell_task(event, *redactor) : tell_event(event, *redactor);
       }});
  const GivenRun command{given.file, given.store, given.redact, given.inputs, id};
  if (auto given_all = give_answers(given, run); !given_all) {
    if (given_all.error().code == Errc::conflict) warn("to go on: " + command_of(command));
    return report(given_all.error());
  }
  const EndBySignal by_signal(*signals.value(), run, end);
  const auto done = run.start_or_resume(prepared.value().inputs);
  const auto asked = run.pending_requests();
  const auto pending = asked ? asked.value() : std::vector<workflow::PendingRequest>();
  if (!prepared.value().has_tasks()) {
    print_outputs(done, id, pending, given.json);
  } else if (const auto tasks = prepared.value().graph.tasks(run)) {
    print_tasks(tasks.value(), id, *redactor, given.json);
  }
  if (done) return ExitStatus::done;
  return tell_end(command, prepared.value(), done.error(), *store.value(), pending);
}

}  // namespace

std::function<ExitStatus()> workflow_run(CLI::App& arguments) {
  auto given = std::make_shared<WorkflowRunArguments>();
  arguments.add_option("FILE", given->file, "The workflow, in YAML or JSON; - for standard input.")
      ->required();
  arguments
      .add_option("--store", given->store,
                  store_help + std::string(" Default: triage/runs.db in the state folder."))
      ->check(not_empty());
  arguments
      .add_option("--run", given->run,
                  "The run's id: one that is stored goes on, and repeats nothing that has "
                  "finished.")
      ->check(not_empty());
  arguments
      .add_option("--input", given->inputs, "KEY=VALUE for {{KEY}} in descriptions; repeatable.")
      ->allow_extra_args(false);
  arguments
      .add_option("--answer", given->answers,
                  "REQUEST=VALUE answers what an executor of the stored run has asked; repeatable.")
      ->allow_extra_args(false);
  arguments.add_option("--threads", given->threads, "How many tasks run at once, 1 to 256.")
      ->check(CLI::Range(1, 256));
  arguments
      .add_option(
          "--redact", given->redact,
          "What is removed from the failures and steps of agents, before they are stored or "
          "told: common (the default, as of triage run), none.")
      ->check(CLI::IsMember({"common", "none"}));
  arguments.add_flag("--revive", given->revive,
                     "Go on with a run that was aborted, or poisoned: whose process died again and "
                     "again.");
  arguments.add_flag("--check", given->check, "Only say whether the file is sound.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage workflow run news.yaml --run today --input topic=tea\n\n"
      "A task's agent is a command, which reads {\"task\", \"description\", \"inputs\", "
      "\"context\",\n"
      "\"run\"} from standard input (inputs: those that its description names) and prints\n"
      "JSON, or an OpenAI-compatible endpoint. See docs/workflows.md.");
  return [given] { return run_file(*given); };
}

}  // namespace triage::inline v0_1::cli
