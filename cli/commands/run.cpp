// SPDX-License-Identifier: MIT
// triage run: runs any program, supervised, to its end.

#include "arguments/duration_argument.hpp"
#include "arguments/read_adapter.hpp"
#include "arguments/read_policy.hpp"
#include "command.hpp"
#include "documents/contract_json.hpp"
#include "programs/run_session.hpp"
#include "supervise/process/child.hpp"
#include "supervise/workspace/workspace.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct RunArguments {
  SessionArguments session{};
  std::vector<std::string> command{};
  std::string run{};
  std::string label{};
  std::string policy{};
  std::string contract{};
  std::string budget{};
  bool guard = false;
  std::string adapter{};
  std::string own_session = "auto";
  std::string workspace{};
  std::string redact = "common";
  std::vector<std::string> redact_patterns{};
  std::string timeout{};
  std::string idle_timeout{};
  std::string kill_after = "5s";
  int max_attempts = 0;
  int start_ups = 3;
  std::uint64_t memory_mb = 0;
  std::uint64_t cpu_seconds = 0;
  std::uint64_t open_files = 0;
};

// Not given: none.
Result<Duration> duration_of(const std::string& option, const std::string& text) {
  if (text.empty()) return outcome::success(Duration::zero());
  return duration_argument(option, text);
}

Result<supervise::RunSpec> spec_of(const RunArguments& given) {
  supervise::RunSpec spec{.command = given.command};
  TRIAGE_TRY(folder, supervise::current_folder());
  spec.folder = std::move(folder);
  TRIAGE_TRY(timeout, duration_of("--timeout", given.timeout));
  TRIAGE_TRY(idle_timeout, duration_of("--idle-timeout", given.idle_timeout));
  TRIAGE_TRY(kill_after, duration_of("--kill-after", given.kill_after));
  spec.timeout = timeout;
  spec.idle_timeout = idle_timeout;
  spec.kill_after = kill_after;
  spec.max_attempts = given.max_attempts;
  spec.start_ups = given.start_ups;
  spec.limits = {given.memory_mb << 20U, given.cpu_seconds, given.open_files};
  if (!given.policy.empty()) {
    TRIAGE_TRY(text, read_text_file(given.policy));
    const auto document = read_policy(text);
    if (!document) return in_file(given.policy, document.error());
    if (given.timeout.empty()) spec.timeout = document.value().attempt_timeout;
    const BudgetLimits& limits = document.value().budget_limits;
    spec.budget.tokens = limits.max_tokens;
    spec.budget.cost_usd = limits.max_cost_usd;
    spec.budget.calls = limits.max_calls;
    spec.policy = std::move(text);
  }
  if (!given.contract.empty()) {
    TRIAGE_TRY(text, read_text_file(given.contract));
    if (const auto contract = read_contract_text(text); !contract) {
      return Error{contract.error().code,
                   printable(given.contract) + ": " + contract.error().detail};
    }
    spec.contract = std::move(text);
  }
  spec.guard = given.guard;
  const auto budget = supervise::parse_budget(given.budget);
  if (!budget) return Error{budget.error().code, "--budget: " + budget.error().detail};
  spec.budget = supervise::over(budget.value(), spec.budget);
  if (!given.session.max_wait.empty()) {
    TRIAGE_TRY(max_wait, duration_argument("--max-wait", given.session.max_wait));
    spec.max_wait = max_wait;
  }
  TRIAGE_TRY(adapter, adapter_of(given.adapter, given.command.front()));
  spec.adapter = std::move(adapter);
  spec.session = given.own_session;
  spec.redact = given.redact;
  spec.redact_patterns = given.redact_patterns;
  if (!given.workspace.empty()) {
    if (shadow_folder().empty()) {
      return Error{
          Errc::invalid_argument,
          "--workspace keeps files in the state folder, and neither XDG_STATE_HOME nor HOME "
          "says where that is"};
    }
    TRIAGE_TRY(workspace, supervise::check_workspace(given.workspace));
    spec.workspace = std::move(workspace);
  }
  return outcome::success(std::move(spec));
}

// An existing run continues as it began; reports an error for any difference.
Result<void> check_same(const RunSession& session, const RunId& run, const Json& task) {
  CheckpointStore& store = session.store();
  const auto there = store.run(run);
  if (!there && there.error().code == Errc::not_found) return outcome::success();
  TRIAGE_TRYV(supervised_run(store, run));
  TRIAGE_TRY(before, stored_start(store, run));
  const std::string names = detail::joined(supervise::differences(before.task, task));
  if (names.empty()) return outcome::success();
  return Error{Errc::conflict, "run \"" + run + "\" was begun with another " + names + "; " +
                                   session.command("resume " + run) +
                                   " goes on with it as it was begun, another --run begins anew"};
}

// No program is executed before its process is in the journal. On a full disk no attempt could
// succeed, and the user should be told only once.
Result<void> check_writable(CheckpointStore& store) {
  constexpr const char* space = "triage-run-probe";  // Those of the library begin with triage/.
  const std::string as_much(65'536, ' ');            // More than the first records of a run.
  const std::string probe = make_run_id(real_clock()->wall_now(), *real_random());
  const auto put = store.put_if(space, probe, 0, as_much);
  if (!put) {
    return Error{put.error().code,
                 "nothing was run, since the store cannot be written: " + put.error().detail};
  }
  static_cast<void>(store.erase_if(space, probe, put.value()));  // Not every key space can.
  return outcome::success();
}

ExitStatus run_command(const RunArguments& given) {
  const auto spec = spec_of(given);
  if (!spec) return report(spec.error());
  const auto program = supervise::find_program(given.command.front(), spec.value().folder);
  if (!program) return report_no_program(program.error());
  const auto session = RunSession::open(given.session);
  if (!session) return report(session.error());
  RunOptions options = session.value()->run_options();
  options.limits = supervise::limits_of(spec.value());
  options.label = given.label;
  const Json task = supervise::to_json(spec.value());
  if (!given.run.empty()) {
    if (const auto same = check_same(*session.value(), given.run, task); !same) {
      return report(same.error());
    }
  }
  const bool there = !given.run.empty() && session.value()->store().run(given.run).has_value();
  const auto agent =
      there ? session.value()->agent_of(given.run) : session.value()->agent_for(spec.value());
  if (!agent) return report(agent.error());
  if (!there) {
    const auto writable = check_writable(session.value()->store());
    if (!writable) return report(writable.error());
  }
  if (!given.run.empty()) {
    return session.value()->conclude(
        given.run, agent.value().run_or_resume(given.run, task, {.run = options}), IfEnded::repeat);
  }
  options.run_id = make_run_id(real_clock()->wall_now(), *real_random());
  return session.value()->conclude(options.run_id, agent.value().run(task, options));
}

void declare_limits(CLI::App& arguments, RunArguments& given) {
  arguments
      .add_option("--timeout", given.timeout,
                  "How long one attempt may take (\"10m\"); then SIGTERM, later SIGKILL. "
                  "Default: no limit.")
      ->check(not_empty());
  arguments
      .add_option(
          "--idle-timeout", given.idle_timeout,
          "How long one attempt may go without output, a report or a heartbeat. Default: no "
          "limit.")
      ->check(not_empty());
  arguments.add_option("--kill-after", given.kill_after, "From SIGTERM to SIGKILL. Default: 5s.")
      ->check(not_empty());
  arguments.add_option("--max-attempts", given.max_attempts, "At most so many attempts in all.")
      ->check(CLI::Range(1, 1'000'000));
  arguments
      .add_option(
          "--start-ups", given.start_ups,
          "At most so many attempts in a row that fail before they print to standard output or "
          "report anything. Default: 3.")
      ->check(CLI::Range(1, 1'000'000));
  arguments.add_option("--memory", given.memory_mb, "Address space of each process, in MB.")
      ->check(whole_number(1, 1'000'000'000));
  arguments
      .add_option("--cpu", given.cpu_seconds,
                  "Processor time of each process, in seconds; then SIGXCPU ends it.")
      ->check(whole_number(1, 1'000'000'000));
  arguments.add_option("--files", given.open_files, "Open files of each process.")
      ->check(whole_number(1, 1'000'000'000));
}

void declare_redaction(CLI::App& arguments, RunArguments& given) {
  arguments
      .add_option("--redact", given.redact,
                  "What is removed from what the program says, before it is stored or told: common "
                  "(the default: tokens, keys, passwords as most look, and secrets of the "
                  "environment), none.")
      ->check(CLI::IsMember({"common", "none"}));
  arguments
      .add_option("--redact-pattern", given.redact_patterns,
                  "Also what this RE2 expression matches, or its first group. May be repeated.")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(not_empty());
}

}  // namespace

std::function<ExitStatus()> run(CLI::App& arguments) {
  auto given = std::make_shared<RunArguments>();
  declare_session(arguments, given->session);
  declare_limits(arguments, *given);
  declare_redaction(arguments, *given);
  arguments
      .add_option("--policy", given->policy,
                  "A policy document, in JSON or YAML. Default: waits for what heals by itself, "
                  "restarts what crashed.")
      ->check(not_empty());
  arguments
      .add_option("--contract", given->contract,
                  "What the program promises, in JSON: tools, constraints, subgoals, "
                  "context_limit. Its steps are checked against it.")
      ->check(not_empty());
  arguments
      .add_option(
          "--budget", given->budget,
          "No attempt starts once one of these is spent: tokens=N,usd=N,calls=N,time=LENGTH, "
          "as far as the program reports its usage.")
      ->check(not_empty());
  arguments.add_flag("--guard", given->guard,
                     "Steps that the program proposes are judged by their risk: allowed, denied, "
                     "or the run waits until somebody decides.");
  arguments
      .add_option("--adapter", given->adapter,
                  "How the program's events are read and its session is continued: a name (claude, "
                  "codex, generic) or a file. Default: by the program's name.")
      ->check(not_empty());
  arguments
      .add_option("--session", given->own_session,
                  "Whether the program goes on with its own session after a failure: auto (the "
                  "default: as its adapter says), resume, fresh.")
      ->check(CLI::IsMember({"auto", "resume", "fresh"}));
  arguments
      .add_option("--workspace", given->workspace,
                  "A folder whose files are kept with every checkpoint, and come back with it "
                  "(needs git).")
      ->check(not_empty());
  arguments.add_option("--label", given->label, "A name to find the run by.");
  arguments
      .add_option(
          "--run", given->run,
          "The run's id. One that exists goes on; one that has finished, or was given up, is not "
          "run again and gives the exit status that it gave then.")
      ->check(not_empty());
  arguments.add_option("CMD", given->command, "The program and its arguments, behind --.")
      ->required();
  arguments.footer(
      "Example: triage run --timeout 10m -- ./nightly.sh --all\n\n"
      "Exit status: the program's own (128 and the signal's number if one ended it); 75 if the\n"
      "run waits for a time or a decision; 126 and 127 if the program cannot be executed or "
      "found;\n9 instead of 0 if what it printed, or the run's end, could not be stored; 5 or 6 if "
      "the run was\ngiven up, and no status of its program is known.");
  return [given] { return run_command(*given); };
}

}  // namespace triage::inline v0_1::cli
