// SPDX-License-Identifier: MIT
// triage signal send: answers a run that waits for a signal.

#include "arguments/operated_run.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/operations.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

struct SignalArguments {
  OperatedRun where{};
  std::string name{};
  std::string value{};
};

ExitStatus send_it(const SignalArguments& given) {
  auto value = optional_json(given.value, "VALUE");
  if (!value) return report(value.error());
  const auto opened = open_run(given.where);
  if (!opened) return report(opened.error());
  const RunId& run = opened.value().run.id;
  const auto sent = send_signal(*opened.value().store, run, given.name, value.value());
  if (!sent) return report(sent.error());
  print_done(given.where.json, "Run " + run + " is sent \"" + printable(given.name) + "\".",
             {{"run", run}, {"signal", given.name}, {"value", value.value()}});
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> signal_send(CLI::App& arguments) {
  auto given = std::make_shared<SignalArguments>();
  declare_operated(arguments, given->where, false);
  arguments.add_option("NAME", given->name, "What the run waits for.")->required();
  arguments.add_option("VALUE", given->value, "JSON that it is given. Default: null.");
  arguments.footer(
      "Example: triage signal send 01JDZ3K5W8… approved true\n\n"
      "A name is answered once. Whoever goes on with the run takes it up: "
      "`triage resume --due`, or the run's\nown program.");
  return [given] { return send_it(*given); };
}

}  // namespace triage::inline v0_1::cli
