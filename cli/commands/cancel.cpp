// SPDX-License-Identifier: MIT
// triage cancel: ends a run that waits, or whose process died.

#include "arguments/operated_run.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/operations.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

ExitStatus cancel_it(const OperatedRun& given) {
  const auto opened = open_run(given);
  if (!opened) return report(opened.error());
  const RunId& run = opened.value().run.id;
  Result<void> done = cancel_run(*opened.value().store, run, {.who = given.who});
  if (!done && done.error().code == Errc::busy) {
    done = Error{Errc::busy, done.error().detail +
                                 "; interrupt the process that is at work on it (SIGTERM): that "
                                 "cancels the run"};
  }
  if (!done) return report(done.error());
  print_done(given.json, "Run " + run + " is cancelled.", {{"run", run}, {"status", "cancelled"}});
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> cancel(CLI::App& arguments) {
  auto given = std::make_shared<OperatedRun>();
  declare_operated(arguments, *given);
  arguments.footer(
      "Example: triage cancel 01JDZ3K5W8…\n\n"
      "Ends a run that waits, or whose process died. No effect is undone; "
      "`triage resume RUN` goes on all the\nsame.");
  return [given] { return cancel_it(*given); };
}

}  // namespace triage::inline v0_1::cli
