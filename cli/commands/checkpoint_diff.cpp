// SPDX-License-Identifier: MIT
// triage checkpoint diff: the differences of two checkpoints, of one run or of two.

#include "arguments/checkpoint_argument.hpp"
#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_difference = 120;

struct CheckpointDiffArguments {
  std::string store{};
  std::string one{};
  std::string other{};
  bool json = false;
};

struct Side {
  std::string id{};
  Json state{};
  Json steps{};
};

Result<Side> read_side(CheckpointStore& store, const std::string& text) {
  TRIAGE_TRY(name, in_full(store, text));
  TRIAGE_TRY(id, parse_what(name));
  TRIAGE_TRY(reading, read_run(store, id.run));
  TRIAGE_TRY(journal, Journal::fold(reading));
  TRIAGE_TRY(checkpoint, find_checkpoint(journal, id));
  Side side{.id = to_string(checkpoint.info.id), .state = checkpoint.state.json()};
  if (const auto redactor = supervise::redactor_of(journal.start().value("task", Json()))) {
    redact(side.state, *redactor);
  }
  side.steps = Json::array();
  for (const Step& step : checkpoint.trajectory) {
    side.steps.push_back(step_json(step, side.steps.size()));
  }
  return outcome::success(std::move(side));
}

// {KEY: {"a": …, "b": …}}; a side without the key is left out.
Json state_differences(const Json& a, const Json& b) {
  std::set<std::string> keys;
  for (const Json* side : {&a, &b}) {
    for (const auto& [key, value] : side->items()) keys.insert(key);
  }
  Json found = Json::object();
  for (const std::string& key : keys) {
    const bool in_a = a.contains(key);
    const bool in_b = b.contains(key);
    if (in_a && in_b && a[key] == b[key]) continue;
    if (in_a) found[key]["a"] = a[key];
    if (in_b) found[key]["b"] = b[key];
  }
  return found;
}

Json steps_from(const Json& steps, std::size_t first) {
  Json rest = Json::array();
  for (std::size_t i = first; i < steps.size(); ++i) rest.push_back(steps[i]);
  return rest;
}

void print_step_difference(const char* mark, const Json& steps) {
  for (const Json& step : steps) {
    std::string line = mark + std::string("step ") + show(step["index"]) + ": " +
                       step.value("action", std::string());
    if (step.contains("tool_called")) line += " [" + step.value("tool_called", "") + "]";
    if (step.contains("tool_input")) line += " " + show(step["tool_input"]);
    print(shorten(line, longest_difference) + "\n");
  }
}

ExitStatus print_difference(const Side& a, const Side& b, bool json) {
  const Json state = state_differences(a.state, b.state);
  const std::size_t shorter = std::min(a.steps.size(), b.steps.size());
  std::size_t common = 0;
  while (common < shorter && a.steps[common] == b.steps[common]) ++common;
  const Json only_a = steps_from(a.steps, common);
  const Json only_b = steps_from(b.steps, common);
  if (json) {
    print_json(Json{{"a", a.id},
                    {"b", b.id},
                    {"state", state},
                    {"steps", {{"common", common}, {"a", only_a}, {"b", only_b}}}});
    return ExitStatus::done;
  }
  print("- " + printable(a.id) + "\n+ " + printable(b.id) + "\n");
  if (state.empty() && only_a.empty() && only_b.empty()) print("The same state and steps.\n");
  for (const auto& [key, sides] : state.items()) {
    for (const auto& [side, mark] : {std::pair{"a", "- "}, std::pair{"b", "+ "}}) {
      if (!sides.contains(side)) continue;
      print(shorten(mark + key + " = " + show(sides[side]), longest_difference) + "\n");
    }
  }
  if (!only_a.empty() || !only_b.empty()) print(counted(common, "step") + " in common\n");
  print_step_difference("- ", only_a);
  print_step_difference("+ ", only_b);
  return ExitStatus::done;
}

ExitStatus compare(const CheckpointDiffArguments& given) {
  const auto url = store_or_default(given.store);
  if (!url) return report(url.error());
  const auto store = open_store_to_read(url.value());
  if (!store) return report(store.error());
  const auto a = read_side(*store.value(), given.one);
  if (!a) return report(a.error());
  const auto b = read_side(*store.value(), given.other);
  if (!b) return report(b.error());
  return print_difference(a.value(), b.value(), given.json);
}

}  // namespace

std::function<ExitStatus()> checkpoint_diff(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointDiffArguments>();
  arguments.add_option("A", given->one, "A run, or a checkpoint as RUN@SEQUENCE.")->required();
  arguments.add_option("B", given->other, "The one that it is compared with.")->required();
  arguments
      .add_option("--store", given->store,
                  store_help + std::string(" Default: triage/runs.db in the state folder."))
      ->check(not_empty());
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage checkpoint diff nightly@12 nightly");
  return [given] { return compare(*given); };
}

}  // namespace triage::inline v0_1::cli
