// SPDX-License-Identifier: MIT
// triage suspended: lists suspended runs and what they wait for.

#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "render/waiting.hpp"
#include "triage/detail/joined.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/workflow/inspect.hpp"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

struct SuspendedArguments {
  StoreArgument where{};
  bool json = false;
};

// What a suspended run says; of a workflow, what it asks.
std::string message_of(CheckpointStore& store, const RunId& run, const Json& waiting) {
  if (const auto view = workflow::inspect(store, run)) {
    std::vector<std::string> questions;
    for (const auto& one : view.value().pending) {
      if (std::string asks = question_in_words(one.payload); !asks.empty()) {
        questions.push_back(std::move(asks));
      }
    }
    if (!questions.empty()) return detail::joined(questions);
  }
  const Json message = waiting.value("message", Json(""));
  return message.is_string() ? message.get<std::string>() : "";
}

ExitStatus list_suspended(const SuspendedArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_meant(given.where, meant.value());
  if (!store) return report(store.error());
  const auto runs = store.value()->runs({.status = RunStatus::suspended, .limit = 0});
  if (!runs) return report(runs.error());
  Table table({{"RUN", Cut::middle}, "WAITS FOR", "MESSAGE"});
  Json all = Json::array();
  ExitStatus status = ExitStatus::done;
  for (const RunInfo& run : runs.value()) {
    const auto reading = store.value()->read(run.id, {});
    if (!reading) continue;  // Erased after it was listed.
    const auto told = read_timeline(reading.value(), std::numeric_limits<Sequence>::max());
    if (!told) {
      status = report(told.error());
      continue;
    }
    Json waiting = waiting_json(told.value());
    if (!waiting.is_object()) continue;  // It continued after it was listed.
    if (!given.json) {
      table.add({run.id, waits_for(waiting), message_of(*store.value(), run.id, waiting)});
    }
    waiting["run"] = run.id;
    all.push_back(std::move(waiting));
  }
  if (given.json) {
    print_json(
        Json{{"store", without_secrets(meant.value().store)}, {"suspended", std::move(all)}});
  } else {
    print(all.empty() ? "No run waits.\n" : table.text());
  }
  return status;
}

}  // namespace

std::function<ExitStatus()> suspended(CLI::App& arguments) {
  auto given = std::make_shared<SuspendedArguments>();
  declare_store(arguments, given->where);
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage suspended");
  return [given] { return list_suspended(*given); };
}

}  // namespace triage::inline v0_1::cli
