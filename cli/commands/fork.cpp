// SPDX-License-Identifier: MIT
// triage fork: a new run of `triage run` that begins at a checkpoint of another one.

#include "command.hpp"
#include "key_value.hpp"
#include "open_store.hpp"
#include "run_session.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

struct Arguments {
  SessionArguments session{};
  std::vector<std::string> where{};
  std::vector<std::string> set{};
  std::string label{};
  std::string run{};
};

ExitStatus fork_run(Arguments& given) {
  ForkOptions options{.label = given.label};
  if (!given.set.empty()) {
    auto state = object_of(given.set);
    if (!state) return report(state.error());
    options.state = std::move(state).value();
  }
  if (given.where.size() > 1) {
    if (!given.session.store.empty()) {
      return report({Errc::invalid_argument, "the store is named twice: as STORE and by --store"});
    }
    given.session.store = given.where.front();
  }
  const auto session = RunSession::open(given.session);
  if (!session) return report(session.error());
  const auto checkpoint = in_full(session.value()->store(), given.where.back());
  if (!checkpoint) return report(checkpoint.error());
  const RunId origin = checkpoint.value().substr(0, checkpoint.value().find('@'));
  if (const auto info = supervised_run(session.value()->store(), origin); !info) {
    return report(info.error());
  }
  options.run = session.value()->run_options();
  options.run.run_id =
      given.run.empty() ? make_run_id(real_clock()->wall_now(), *real_random()) : given.run;
  const RunId branch = options.run.run_id;
  const auto agent = session.value()->agent_of(origin);
  if (!agent) return report(agent.error());
  return session.value()->conclude(branch, agent.value().fork(checkpoint.value(), options));
}

}  // namespace

std::function<ExitStatus()> fork(CLI::App& arguments) {
  auto given = std::make_shared<Arguments>();
  declare_session(arguments, given->session);
  arguments
      .add_option("[STORE] CHECKPOINT", given->where,
                  "The checkpoint, as RUN@SEQUENCE, behind its store if that is not "
                  "the default one.")
      ->required()
      ->expected(1, 2);
  arguments.add_option("--set", given->set, "KEY=VALUE over the checkpoint's state; repeatable.")
      ->allow_extra_args(false);
  arguments.add_option("--label", given->label, "A name to find the branch by.");
  arguments.add_option("--run", given->run, "The branch's id.");
  arguments.footer(
      "Example: triage fork nightly@12 --set page=7 --label again\n\n"
      "The branch runs the command of the run that it leaves, in its folder, with the state of "
      "the\n"
      "checkpoint; effects that were done before it are not done again. The other run stays as it\n"
      "is.\n\nExit status: as of triage run.");
  return [given] { return fork_run(*given); };
}

}  // namespace triage::inline v0_1::cli
