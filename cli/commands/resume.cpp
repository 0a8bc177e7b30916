// SPDX-License-Identifier: MIT
// triage resume: continues runs of `triage run` whose supervisor died, that were stopped, or that
// are due.

#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "programs/run_session.hpp"
#include "render/output.hpp"

#include <chrono>
#include <memory>
#include <set>

namespace triage::inline v0_1::cli {
namespace {

struct ResumeArguments {
  SessionArguments session{};
  std::string run{};
  bool all = false;
  bool due = false;
  bool accept_changed = false;
  bool revive = false;
};

// The first status other than 0, so that the caller notices problems.
ExitStatus worse(ExitStatus one, ExitStatus other) { return one == ExitStatus::done ? other : one; }

ExitStatus resume_one(const RunSession& session, const ResumeArguments& given) {
  const auto info = supervised_run(session.store(), given.run);
  if (!info) return report(info.error());
  const RunId& run = info.value().id;
  const auto agent = session.agent_of(run);
  if (!agent) return report(agent.error());
  const ResumeOptions options{.accept_changed = given.accept_changed,
                              .run = session.run_options(run),
                              .revive = given.revive};
  return session.conclude(run, agent.value().resume_run(run, options));
}

// The runs that come next are left as they are.
bool is_stopped(const RunSession& session) {
  session.handle_signals();
  return session.run_options().stop_token.stop_requested();
}

ExitStatus resume_due(const RunSession& session) {
  constexpr auto soon = std::chrono::seconds(1);
  const auto due = session.watcher().due(soon);
  if (!due) return report(due.error());
  ExitStatus status = ExitStatus::done;
  for (const DueRun& run : due.value()) {
    if (is_stopped(session)) break;
    const auto agent = session.agent_of(run.run);
    if (!agent) {
      status = worse(status, report(agent.error()));
      continue;
    }
    const auto result = agent.value().resume_due_run(run, {.run = session.run_options(run.run)});
    if (result) status = worse(status, session.conclude(run.run, *result));
  }
  return status;
}

// Runs that never ended and have no owner.
ExitStatus resume_dead(const RunSession& session) {
  ExitStatus status = ExitStatus::done;
  std::set<RunId> tried;
  const auto untried = [&tried](const RunId& run) { return !tried.contains(run); };
  while (!is_stopped(session)) {
    const auto lease = session.claim_orphan(untried);
    if (!lease) return worse(status, report(lease.error()));
    if (!lease.value()) break;
    const RunId run = lease.value()->run;
    tried.insert(run);
    const auto agent = session.agent_of(run);
    if (!agent) {
      static_cast<void>(session.store().release(*lease.value()));
      status = worse(status, report(agent.error()));
      continue;
    }
    const auto result =
        agent.value().resume_claimed(*lease.value(), {.run = session.run_options(run)});
    status = worse(status, session.conclude(run, result));
  }
  return status;
}

ExitStatus resume_runs(const ResumeArguments& given) {
  if ((given.run.empty() ? 0 : 1) + (given.all ? 1 : 0) + (given.due ? 1 : 0) != 1) {
    return report({Errc::invalid_argument, "give a RUN, or --all, or --due"});
  }
  // A timer may ask before anything has run.
  if (given.run.empty() && given.session.store.empty()) {
    if (const auto store = default_store(); store && is_missing(store.value())) {
      return ExitStatus::done;
    }
  }
  const auto session = RunSession::open(given.session, IfMissing::refuse);
  if (!session) return report(session.error());
  if (!given.run.empty()) return resume_one(*session.value(), given);
  const ExitStatus status = given.all ? resume_dead(*session.value()) : ExitStatus::done;
  return worse(status, resume_due(*session.value()));
}

}  // namespace

std::function<ExitStatus()> resume(CLI::App& arguments) {
  auto given = std::make_shared<ResumeArguments>();
  arguments.add_option("RUN", given->run, "The run to go on with.");
  arguments.add_flag("--due", given->due, "Every run that waited for a time that has come.");
  arguments.add_flag("--all", given->all, "Those, and every run whose supervisor is gone.");
  arguments.add_flag("--accept-changed", given->accept_changed,
                     "Go on with RUN although its adapter or the protocol is another one now.");
  arguments.add_flag("--revive", given->revive,
                     "Go on with RUN although it was aborted or poisoned.");
  declare_session(arguments, given->session);
  arguments.footer(
      "Example: triage resume --due\n\n"
      "What is left of a former attempt is ended before the next one starts. The program runs in\n"
      "the folder of its first attempt, with this command's environment.\n\n"
      "Exit status: as of triage run; of several runs the first one that is not 0.");
  return [given] { return resume_runs(*given); };
}

}  // namespace triage::inline v0_1::cli
