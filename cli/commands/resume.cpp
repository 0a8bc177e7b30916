// SPDX-License-Identifier: MIT
// triage resume: goes on with runs of `triage run` whose supervisor died, that were stopped, or
// whose time has come.

#include "command.hpp"
#include "render/output.hpp"
#include "run_session.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

struct Arguments {
  SessionArguments session{};
  std::string run{};
  bool all = false;
  bool due = false;
};

// The first one that is not 0: the caller learns that something needs a look.
ExitStatus worse(ExitStatus one, ExitStatus other) { return one == ExitStatus::done ? other : one; }

ExitStatus resume_one(const RunSession& session, const RunId& given) {
  const auto info = supervised_run(session.store(), given);
  if (!info) return report(info.error());
  const RunId& run = info.value().id;
  const auto agent = session.agent_of(run);
  if (!agent) return report(agent.error());
  const ResumeOptions options{.run = session.run_options()};
  return session.conclude(run, agent.value().resume_run(run, options));
}

// If nobody else has taken it meanwhile, and it has not ended.
ExitStatus take_up(const RunSession& session, const RunId& run) {
  const auto agent = session.agent_of(run);
  if (!agent) return report(agent.error());
  const RunId before = session.newest_run();
  const auto result = agent.value().run_or_resume(run, Json(), {.run = session.run_options()});
  const bool passed =
      !result && (result.error().code == Errc::busy || result.error().code == Errc::not_found);
  return passed ? ExitStatus::done : session.conclude(run, result);
}

ExitStatus resume_due(const RunSession& session) {
  const auto due = session.watcher().due();
  if (!due) return report(due.error());
  ExitStatus status = ExitStatus::done;
  for (const DueRun& run : due.value()) {
    if (session.run_options().stop_token.stop_requested()) break;
    status = worse(status, take_up(session, run.run));
  }
  return status;
}

// Runs that nobody works on any more although they never ended.
ExitStatus resume_dead(const RunSession& session) {
  const auto runs = session.store().runs(
      {.agent = supervise::agent_name, .status = RunStatus::running, .limit = 0});
  if (!runs) return report(runs.error());
  ExitStatus status = ExitStatus::done;
  for (const RunInfo& run : runs.value()) {
    if (run.owned || session.run_options().stop_token.stop_requested()) continue;
    status = worse(status, resume_one(session, run.id));
  }
  return status;
}

ExitStatus resume_runs(const Arguments& given) {
  if ((given.run.empty() ? 0 : 1) + (given.all ? 1 : 0) + (given.due ? 1 : 0) != 1) {
    return report({Errc::invalid_argument, "give a RUN, or --all, or --due"});
  }
  const auto session = RunSession::open(given.session);
  if (!session) return report(session.error());
  if (!given.run.empty()) return resume_one(*session.value(), given.run);
  const ExitStatus status = given.all ? resume_dead(*session.value()) : ExitStatus::done;
  return worse(status, resume_due(*session.value()));
}

}  // namespace

std::function<ExitStatus()> resume(CLI::App& arguments) {
  auto given = std::make_shared<Arguments>();
  arguments.add_option("RUN", given->run, "The run to go on with.");
  arguments.add_flag("--due", given->due, "Every run that waited for a time that has come.");
  arguments.add_flag("--all", given->all, "Those, and every run whose supervisor is gone.");
  declare_session(arguments, given->session);
  arguments.footer(
      "Example: triage resume --due\n\n"
      "What is left of a former attempt is ended before the next one starts. The program runs in\n"
      "the folder of its first attempt, with this command's environment.\n\n"
      "Exit status: as of triage run; of several runs the first one that is not 0.");
  return [given] { return resume_runs(*given); };
}

}  // namespace triage::inline v0_1::cli
