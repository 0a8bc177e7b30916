// SPDX-License-Identifier: MIT
// triage decide: continues a run that waits for a decision, or leaves that to its own program.

#include "command.hpp"
#include "programs/run_session.hpp"
#include "render/output.hpp"
#include "supervise/spec/spec.hpp"
#include "triage/operations.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct DecideArguments {
  SessionArguments session{};
  std::string token{};
  std::string action{};
  std::string text{};
  std::string who{};
};

Result<RecoveryAction> action_of(const DecideArguments& given) {
  if (given.action == "retry") return RecoveryAction::retry(given.text);
  if (given.action == "replan") return RecoveryAction::replan(given.text);
  if (given.action == "rollback") return RecoveryAction::rollback({.or_start = true});
  if (given.action == "resume") return RecoveryAction::resume("", given.text);
  if (given.action == "escalate") return RecoveryAction::escalate(given.text);
  if (given.action == "abort") return RecoveryAction::abort(given.text);
  return Error{Errc::invalid_argument,
               "ACTION is \"" + printable(given.action) +
                   "\"; allowed are retry, replan, rollback, resume, escalate and abort"};
}

// Only its own program can continue the run.
ExitStatus record_for_program(CheckpointStore& store, const DecideArguments& given,
                              const RecoveryAction& action) {
  const auto run = record_decision(store, given.token, action, {.who = given.who});
  if (!run) return report(run.error());
  const auto info = store.run(run.value());
  if (!info) return report(info.error());
  const bool ended = info.value().status == RunStatus::aborted;
  if (given.session.json) {
    print_json({{"run", run.value()},
                {"action", to_string(action.kind)},
                {"status", to_string(info.value().status)}});
  } else if (ended) {
    print("Run " + run.value() + " is aborted.\n");
  } else {
    print("Run " + run.value() + ": the decision is recorded. Its program, agent \"" +
          printable(info.value().agent) +
          "\", carries it out at its next resume_due, run_or_resume or work.\n");
  }
  return ExitStatus::done;
}

ExitStatus decide_run(const DecideArguments& given) {
  const auto action = action_of(given);
  if (!action) return report(action.error());
  const auto session = RunSession::open(given.session, IfMissing::refuse);
  if (!session) return report(session.error());
  const auto run = run_of_token(session.value()->store(), given.token);
  if (!run && run.error().code == Errc::not_found) {
    return report({Errc::not_found,
                   "no run in this store waits for this token; a token works once, and `triage "
                   "reissue RUN` makes a new one"});
  }
  if (!run) return report(run.error());
  const auto info = session.value()->store().run(run.value());
  if (!info) return report(info.error());
  if (info.value().agent != supervise::agent_name) {
    return record_for_program(session.value()->store(), given, action.value());
  }
  const auto agent = session.value()->agent_of(run.value());
  if (!agent) return report(agent.error());
  return session.value()->conclude(
      run.value(),
      agent.value().decide(given.token, action.value(),
                           {.who = given.who, .run = session.value()->run_options(run.value())}));
}

}  // namespace

std::function<ExitStatus()> decide(CLI::App& arguments) {
  auto given = std::make_shared<DecideArguments>();
  const char* user = std::getenv("USER");
  given->who = user == nullptr ? "" : user;
  arguments.add_option("TOKEN", given->token, "What the suspended run printed.")->required();
  arguments
      .add_option("ACTION", given->action, "retry, replan, rollback, resume, escalate or abort.")
      ->required();
  arguments.add_option("TEXT", given->text, "The hint for the next attempt, or the reason.");
  arguments.add_option("--who", given->who, "Who decides; recorded. Default: $USER.");
  declare_session(arguments, given->session);
  arguments.footer(
      "Example: triage decide 4f1c… retry \"The quota is raised.\"\n\n"
      "A token works once. Exit status: as of triage run. The decision about a run of your own\n"
      "program is recorded, with status 0; that program carries it out when it next looks.");
  return [given] { return decide_run(*given); };
}

}  // namespace triage::inline v0_1::cli
