// SPDX-License-Identifier: MIT
// triage signal send, cancel, settle, reissue: operator actions on a run.

#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "supervise/protocol/protocol_records.hpp"
#include "supervise/spec/spec.hpp"
#include "triage/detail/try.hpp"
#include "triage/operations.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct OperateArguments {
  std::string store{};
  std::string run{};
  std::string name{};  // A signal's name, or an effect's key.
  std::string outcome{};
  std::string value{};
  std::string who{};
  bool json = false;
};

// A run in a store opened for changes.
struct Meant {
  std::shared_ptr<CheckpointStore> store{};
  RunInfo run{};
};

Result<Meant> find(const OperateArguments& given) {
  TRIAGE_TRY(where, store_or_default(given.store));
  TRIAGE_TRY(store, open_store_to_change(where));
  TRIAGE_TRY(run, run_info(*store, given.run));
  return Meant{std::move(store), std::move(run)};
}

void declare(CLI::App& arguments, OperateArguments& given, bool records_who = true) {
  arguments
      .add_option("--store", given.store,
                  store_help + std::string(" Default: triage/runs.db in the state folder."))
      ->check(not_empty());
  arguments.add_option("RUN", given.run, "The run.")->required();
  arguments.add_flag("--json", given.json, "Print one JSON document.");
  if (!records_who) return;
  const char* user = std::getenv("USER");
  given.who = user == nullptr ? "" : user;
  arguments.add_option("--who", given.who, "Who does it; recorded. Default: $USER.");
}

// Null if nothing was given.
Result<Json> signal_value(const OperateArguments& given, const char* what) {
  if (given.value.empty()) return Json();
  Json value = Json::parse(given.value, nullptr, false);
  if (!value.is_discarded()) {
    const auto number = supervise::integer_beyond_64_bits(given.value);
    if (!number.empty()) return supervise::too_large(number);
    return value;
  }
  return Error{Errc::invalid_argument, std::string(what) +
                                           " is not JSON: " + shorten(given.value, 60) +
                                           "; a text stands in quotes: '\"yes\"'"};
}

// Reports success as a sentence or as JSON.
ExitStatus tell_done(const OperateArguments& given, const Result<void>& done,
                     const std::string& sentence, const Json& facts) {
  if (!done) return report(done.error());
  if (given.json) {
    print_json(facts);
  } else {
    print(sentence + "\n");
  }
  return ExitStatus::done;
}

ExitStatus send(const OperateArguments& given) {
  auto value = signal_value(given, "VALUE");
  if (!value) return report(value.error());
  const auto meant = find(given);
  if (!meant) return report(meant.error());
  const RunId& run = meant.value().run.id;
  return tell_done(given, send_signal(*meant.value().store, run, given.name, value.value()),
                   "Run " + run + " is sent \"" + printable(given.name) + "\".",
                   {{"run", run}, {"signal", given.name}, {"value", value.value()}});
}

ExitStatus cancel_it(const OperateArguments& given) {
  const auto meant = find(given);
  if (!meant) return report(meant.error());
  const RunId& run = meant.value().run.id;
  Result<void> done = cancel_run(*meant.value().store, run, {.who = given.who});
  if (!done && done.error().code == Errc::busy) {
    done = Error{Errc::busy, done.error().detail +
                                 "; interrupt the process that is at work on it (SIGTERM): that "
                                 "cancels the run"};
  }
  return tell_done(given, done, "Run " + run + " is cancelled.",
                   {{"run", run}, {"status", "cancelled"}});
}

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

Result<Settlement> settlement_of(const OperateArguments& given, const RunInfo& run) {
  if (given.outcome != "done" && given.outcome != "not-done") {
    return Error{Errc::invalid_argument,
                 "OUTCOME is \"" + printable(given.outcome) + "\"; allowed are done and not-done"};
  }
  TRIAGE_TRY(value, signal_value(given, "RESULT"));
  Settlement found{.happened = given.outcome == "done", .result = std::move(value)};
  if (found.happened && run.agent == supervise::agent_name) {
    TRIAGE_TRY(result, supervised_result(found.result));
    found.result = std::move(result);
  }
  return outcome::success(std::move(found));
}

ExitStatus settle_it(const OperateArguments& given) {
  const auto meant = find(given);
  if (!meant) return report(meant.error());
  const RunInfo& run = meant.value().run;
  const auto found = settlement_of(given, run);
  if (!found) return report(found.error());
  Result<void> done =
      settle_effect(*meant.value().store, run.id, given.name, found.value(), {.who = given.who});
  if (!done && done.error().code == Errc::busy) {
    done = Error{Errc::busy, done.error().detail +
                                 "; it ends by itself when it comes to that effect, or interrupt "
                                 "it (SIGTERM), settle, and go on with `triage resume`"};
  }
  return tell_done(given, done,
                   "Effect \"" + printable(given.name) + "\" of run " + run.id +
                       " is settled: " + (found.value().happened ? "done." : "not done."),
                   {{"run", run.id},
                    {"effect", given.name},
                    {"done", found.value().happened},
                    {"result", found.value().result}});
}

ExitStatus reissue_it(const OperateArguments& given) {
  const auto meant = find(given);
  if (!meant) return report(meant.error());
  const RunId& run = meant.value().run.id;
  const auto token = reissue_token(*meant.value().store, run, {.who = given.who});
  if (!token) return report(token.error());
  return tell_done(given, outcome::success(), token.value(),
                   {{"run", run}, {"token", token.value()}});
}

}  // namespace

std::function<ExitStatus()> signal_send(CLI::App& arguments) {
  auto given = std::make_shared<OperateArguments>();
  declare(arguments, *given, false);
  arguments.add_option("NAME", given->name, "What the run waits for.")->required();
  arguments.add_option("VALUE", given->value, "JSON that it is given. Default: null.");
  arguments.footer(
      "Example: triage signal send 01JDZ3K5W8… approved true\n\n"
      "A name is answered once. Whoever goes on with the run takes it up: "
      "`triage resume --due`, or the run's\nown program.");
  return [given] { return send(*given); };
}

std::function<ExitStatus()> cancel(CLI::App& arguments) {
  auto given = std::make_shared<OperateArguments>();
  declare(arguments, *given);
  arguments.footer(
      "Example: triage cancel 01JDZ3K5W8…\n\n"
      "Ends a run that waits, or whose process died. No effect is undone; "
      "`triage resume RUN` goes on all the\nsame.");
  return [given] { return cancel_it(*given); };
}

std::function<ExitStatus()> settle(CLI::App& arguments) {
  auto given = std::make_shared<OperateArguments>();
  declare(arguments, *given);
  arguments.add_option("KEY", given->name, "The effect that is in doubt.")->required();
  arguments.add_option("OUTCOME", given->outcome, "done or not-done.")->required();
  arguments.add_option("RESULT", given->value,
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

std::function<ExitStatus()> reissue(CLI::App& arguments) {
  auto given = std::make_shared<OperateArguments>();
  declare(arguments, *given);
  arguments.footer(
      "Example: triage reissue 01JDZ3K5W8…\n\n"
      "Prints a new token for a run that waits for a decision. The one "
      "before becomes useless.");
  return [given] { return reissue_it(*given); };
}

}  // namespace triage::inline v0_1::cli
