// SPDX-License-Identifier: MIT
// triage fork: a new run from a checkpoint of a run of `triage run` or of a workflow.

#include "arguments/key_value.hpp"
#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "programs/run_session.hpp"
#include "supervise/process/child.hpp"
#include "triage/detail/try.hpp"
#include "workflows/workflow_fork.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct ForkArguments {
  SessionArguments session{};
  std::vector<std::string> where{};  // The checkpoint, or the store and the checkpoint.
  std::vector<std::string> command{};
  std::vector<std::string> set{};
  std::string label{};
  std::string run{};
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  bool dry_run = false;
};

// The branch's spec. An adapter chosen by the old program's name does not apply to a new program.
Result<supervise::RunSpec> fork_spec(const StoredStart& origin,
                                     const std::vector<std::string>& command) {
  TRIAGE_TRY(spec, supervise::spec_from_json(origin.task));
  if (command.empty()) return outcome::success(std::move(spec));
  const std::string before = supervise::program_name(spec);
  spec.command = command;
  if (supervise::program_name(spec) != before) spec.adapter.clear();
  return outcome::success(std::move(spec));
}

// Finds the program that the branch is to run.
Result<void> check_program(const RunSession& session, const std::vector<std::string>& command,
                           const RunId& origin) {
  const auto start = stored_start(session.store(), origin);
  const auto spec = start ? supervise::spec_from_json(start.value().task) : start.error();
  if (command.empty() || !spec) return outcome::success();  // branch_off() says what is wrong.
  TRIAGE_TRYV(supervise::find_program(command.front(), spec.value().folder));
  return outcome::success();
}

Result<Json> branch_off(const RunSession& session, const std::vector<std::string>& command,
                        const std::string& checkpoint, ForkOptions& options) {
  const RunId origin = checkpoint.substr(0, checkpoint.find('@'));
  TRIAGE_TRYV(supervised_run(session.store(), origin));
  if (command.empty()) {
    TRIAGE_TRY(agent, session.agent_of(origin));
    return agent.fork(checkpoint, options);
  }
  TRIAGE_TRY(start, stored_start(session.store(), origin));
  TRIAGE_TRY(spec, fork_spec(start, command));
  TRIAGE_TRY(agent, session.agent_for(spec));
  options.task = supervise::to_json(spec);
  options.accept_changed = true;  // A different command was explicitly requested.
  return agent.fork(checkpoint, options);
}

// Empty if it is not a workflow's run.
Result<std::optional<ExitStatus>> fork_workflow_run(const ForkArguments& given) {
  const auto url =
      given.session.store.empty() ? make_default_store() : Result<std::string>(given.session.store);
  if (!url) return url.error();
  TRIAGE_TRY(store, open_store_to_change(url.value()));
  TRIAGE_TRY(checkpoint, in_full(*store, given.where.back()));
  if (!is_workflow_run(*store, checkpoint)) {
    if (!given.dry_run && given.inputs.empty() && given.outputs.empty()) return std::nullopt;
    return Error{Errc::invalid_argument,
                 "--input, --output and --dry-run are for runs of workflows, and \"" +
                     printable(checkpoint) + "\" is of another run"};
  }
  if (!given.command.empty()) {
    return Error{Errc::invalid_argument,
                 "a branch of a workflow runs no CMD: triage workflow run "
                 "FILE --run BRANCH goes on with it"};
  }
  const RunId branch =
      given.run.empty() ? make_run_id(real_clock()->wall_now(), *real_random()) : given.run;
  return std::optional(fork_workflow(store, {.checkpoint = checkpoint,
                                             .run = branch,
                                             .store = given.session.store,
                                             .label = given.label,
                                             .inputs = given.inputs,
                                             .outputs = given.outputs,
                                             .set = given.set,
                                             .dry_run = given.dry_run,
                                             .json = given.session.json}));
}

ExitStatus fork_run(ForkArguments& given) {
  ForkOptions options{.label = given.label};
  if (!given.set.empty()) {
    auto state = object_of("--set", given.set);
    if (!state) return report(state.error());
    options.state = std::move(state).value();
  }
  if (given.where.empty()) {
    return report({Errc::invalid_argument, "CHECKPOINT is missing; --help tells more"});
  }
  if (given.where.size() > 1) {
    if (!given.session.store.empty()) {
      return report({Errc::invalid_argument, "the store is named twice: as STORE and by --store"});
    }
    given.session.store = given.where.front();
  }
  const auto of_workflow = fork_workflow_run(given);
  if (!of_workflow) return report(of_workflow.error());
  if (of_workflow.value()) return *of_workflow.value();
  const auto session = RunSession::open(given.session);
  if (!session) return report(session.error());
  const auto checkpoint = in_full(session.value()->store(), given.where.back());
  if (!checkpoint) return report(checkpoint.error());
  const RunId origin = checkpoint.value().substr(0, checkpoint.value().find('@'));
  if (const auto program = check_program(*session.value(), given.command, origin); !program) {
    return report_no_program(program.error());
  }
  options.run = session.value()->run_options(origin);
  options.run.run_id =
      given.run.empty() ? make_run_id(real_clock()->wall_now(), *real_random()) : given.run;
  const RunId branch = options.run.run_id;
  return session.value()->conclude(
      branch, branch_off(*session.value(), given.command, checkpoint.value(), options));
}

}  // namespace

std::function<ExitStatus()> fork(CLI::App& arguments) {
  auto given = std::make_shared<ForkArguments>();
  declare_session(arguments, given->session);
  const auto keep = [given](const std::string& word) { given->where.push_back(word); };
  arguments.add_option_function<std::string>("STORE", keep, "The same as --store.");
  arguments.add_option_function<std::string>("CHECKPOINT", keep,
                                             "The checkpoint, as RUN@SEQUENCE.");
  // Words after -- arrive like this: see main.cpp.
  arguments
      .add_option(std::string(behind_dashes).substr(0, behind_dashes.size() - 1), given->command,
                  "A word of CMD.")
      ->allow_extra_args(false)
      ->group("");
  arguments.add_option("--set", given->set, "KEY=VALUE over the checkpoint's state; repeatable.")
      ->allow_extra_args(false);
  arguments
      .add_option("--input", given->inputs,
                  "KEY=VALUE over the inputs of a workflow's run; repeatable.")
      ->allow_extra_args(false);
  arguments
      .add_option("--output", given->outputs,
                  "EXECUTOR=VALUE, or EXECUTOR=@FILE: what an executor of a workflow is taken to "
                  "have given; repeatable.")
      ->allow_extra_args(false);
  arguments.add_flag("--dry-run", given->dry_run,
                     "Of a workflow's run: only say what would run again.");
  arguments.add_option("--label", given->label, "A name to find the branch by.");
  arguments.add_option("--run", given->run, "The branch's id.")->check(not_empty());
  arguments.footer(
      "Example: triage fork nightly@12 --set page=7 --label again\n"
      "         triage fork news@12 --output search=@found.json --dry-run\n"
      "         triage fork nightly@12 -- ./by_hand.sh\n\n"
      "The branch runs the command of the run that it leaves, or CMD, in that run's folder, with\n"
      "the state of the checkpoint; effects that the other run has done are not done again. The "
      "other\n"
      "run stays as it is. Of a workflow's run it says what runs again, and makes the branch;\n"
      "triage workflow run FILE --run BRANCH goes on with it.\n\nExit status: as of triage run.");
  return [given] { return fork_run(*given); };
}

}  // namespace triage::inline v0_1::cli
