// SPDX-License-Identifier: MIT
// triage reissue: gives a run that waits for a decision a new token.

#include "arguments/operated_run.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/operations.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

ExitStatus reissue_it(const OperatedRun& given) {
  const auto opened = open_run(given);
  if (!opened) return report(opened.error());
  const RunId& run = opened.value().run.id;
  const auto token = reissue_token(*opened.value().store, run, {.who = given.who});
  if (!token) return report(token.error());
  print_done(given.json, token.value(), {{"run", run}, {"token", token.value()}});
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> reissue(CLI::App& arguments) {
  auto given = std::make_shared<OperatedRun>();
  declare_operated(arguments, *given);
  arguments.footer(
      "Example: triage reissue 01JDZ3K5W8…\n\n"
      "Prints a new token for a run that waits for a decision. The one "
      "before becomes useless.");
  return [given] { return reissue_it(*given); };
}

}  // namespace triage::inline v0_1::cli
