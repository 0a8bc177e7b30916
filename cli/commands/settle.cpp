// SPDX-License-Identifier: MIT
// triage settle: records whether an effect in doubt happened.

#include "arguments/operated_run.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "supervise/spec/spec.hpp"
#include "triage/detail/try.hpp"
#include "triage/operations.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct SettleArguments {
  OperatedRun where{};
  std::string key{};
  std::string outcome{};
  std::string result{};
};

// The result that `triage effect` replays. Errors: Errc::invalid_argument.
Result<Json> supervised_result(const Json& value) {
  if (value.is_null() || value.is_string()) {
    return Json{{"status", 0}, {"out", value.is_string() ? value : Json("")}};
  }
  if (value.is_object() && value.size() == 2 && value.contains("status") &&
      value["status"].is_number_unsigned() && value["status"] <= 255 && value.contains("out") &&
      value["out"].is_string()) {
    return value;
  }
  return Error{Errc::invalid_argument,
               "RESULT is nothing that a command leaves behind: give its output as a JSON text, or "
               "'{\"status\": 0, \"out\": \"…\"}'"};
}

Result<Settlement> settlement_of(const SettleArguments& given, const RunInfo& run) {
  if (given.outcome != "done" && given.outcome != "not-done") {
    return Error{Errc::invalid_argument,
                 "OUTCOME is \"" + printable(given.outcome) + "\"; allowed are done and not-done"};
  }
  TRIAGE_TRY(value, optional_json(given.result, "RESULT"));
  Settlement found{.happened = given.outcome == "done", .result = std::move(value)};
  if (found.happened && run.agent == supervise::agent_name) {
    TRIAGE_TRY(result, supervised_result(found.result));
    found.result = std::move(result);
  }
  return outcome::success(std::move(found));
}

ExitStatus settle_it(const SettleArguments& given) {
  const auto opened = open_run(given.where);
  if (!opened) return report(opened.error());
  const RunInfo& run = opened.value().run;
  const auto found = settlement_of(given, run);
  if (!found) return report(found.error());
  Result<void> done = settle_effect(*opened.value().store, run.id, given.key, found.value(),
                                    {.who = given.where.who});
  if (!done && done.error().code == Errc::busy) {
    done = Error{Errc::busy, done.error().detail +
                                 "; it ends by itself when it comes to that effect, or interrupt "
                                 "it (SIGTERM), settle, and go on with `triage resume`"};
  }
  if (!done) return report(done.error());
  print_done(given.where.json,
             "Effect \"" + printable(given.key) + "\" of run " + run.id +
                 " is settled: " + (found.value().happened ? "done." : "not done."),
             {{"run", run.id},
              {"effect", given.key},
              {"done", found.value().happened},
              {"result", found.value().result}});
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> settle(CLI::App& arguments) {
  auto given = std::make_shared<SettleArguments>();
  declare_operated(arguments, given->where);
  arguments.add_option("KEY", given->key, "The effect that is in doubt.")->required();
  arguments.add_option("OUTCOME", given->outcome, "done or not-done.")->required();
  arguments.add_option("RESULT", given->result,
                       "JSON that the effect would have returned; of `triage effect`, its output "
                       "as a JSON text. Default: null.");
  arguments.footer(
      "Example: triage settle 01JDZ3K5W8… charge:42 done '\"R-17\"'\n\n"
      "What is recorded is final and is not checked: find "
      "out first. Of an undoing in doubt it\nsays whether the undoing "
      "happened. Then `triage resume RUN`, or the run's own program, goes "
      "on.");
  return [given] { return settle_it(*given); };
}

}  // namespace triage::inline v0_1::cli
