// SPDX-License-Identifier: MIT
// triage checkpoint show: a run or one of its checkpoints, in full.

#include "arguments/checkpoint_argument.hpp"
#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "render/waiting.hpp"
#include "run_status.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/detail/own_label.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/detail/try.hpp"
#include "triage/step.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_value = 200;
constexpr std::size_t most_effects = 20;

struct ShowArguments {
  StoreArgument where{};
  std::string store{};
  std::string what{};
  std::string steps = "10";
  bool all = false;
  bool json = false;
};

// What will be printed.
struct Shown {
  const ShowArguments* arguments = nullptr;
  JournalReading reading{};
  Timeline timeline{};
  Checkpoint checkpoint{};
  std::size_t first_step = 0;
  std::shared_ptr<const Redactor> redactor{};  // For runs of `triage run`; else null.

  // Redacted for printing.
  [[nodiscard]] Json clean(Json value) const {
    if (redactor != nullptr) redact(value, *redactor);
    return value;
  }
};

Result<std::size_t> parse_steps(const std::string& text) {
  if (text == "all") return outcome::success(std::numeric_limits<std::size_t>::max());
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size()) return outcome::success(number);
  return Error{Errc::invalid_argument,
               "--steps is \"" + printable(text) + "\"; allowed are a number from 0 up, and all"};
}

// In a single pass: looking a step up by index takes longer the older it is.
template <class F>
void for_each_step(const Shown& shown, F&& f) {
  std::size_t index = 0;
  for (auto step = shown.checkpoint.trajectory.begin(); index < shown.checkpoint.trajectory.size();
       ++step, ++index) {
    if (index >= shown.first_step) f(*step, index);
  }
}

std::string_view status_of(const EffectState& effect) {
  switch (effect.status) {
    case EffectState::Status::intended: return "in doubt";
    case EffectState::Status::completed: return "done";
    case EffectState::Status::absent:
    case EffectState::Status::withdrawn: return "not carried out";
    case EffectState::Status::compensating: return "in doubt whether undone";
    case EffectState::Status::compensated: return "undone";
  }
  return "";
}

void print_as_json(const Shown& shown) {
  const Journal& journal = shown.timeline.journal;
  Json events = Json::array();
  for (const TimelineEvent& one : shown.timeline.events) {
    events.push_back({{"seq", one.seq},
                      {"time", iso_time(one.time)},
                      {"text", one.sentence},
                      {"record", one.fields}});
  }
  Json steps = Json::array();
  for_each_step(
      shown, [&](const Step& step, std::size_t index) { steps.push_back(step_json(step, index)); });
  Json effects = Json::array();
  for (const auto& [key, effect] : journal.effects()) {
    Json entry{{"key", key}, {"status", status_of(effect)}};
    if (effect.result) entry["result"] = shown.clean(*effect.result);
    effects.push_back(std::move(entry));
  }
  const CheckpointInfo& info = shown.checkpoint.info;
  Json document{{"store", without_secrets(shown.arguments->store)},
                {"run", run_json(shown.reading.info)},
                {"task", shown_task(shown.timeline)},
                {"checkpoint",
                 {{"id", to_string(info.id)},
                  {"steps", info.steps},
                  {"attempt", info.attempt},
                  {"label", info.label},
                  {"time", iso_time(info.time)}}},
                {"timeline", std::move(events)},
                {"state", shown.clean(shown.checkpoint.state.json())},
                {"steps", std::move(steps)},
                {"effects", std::move(effects)},
                {"usage",
                 {{"input_tokens", journal.usage().input_tokens},
                  {"output_tokens", journal.usage().output_tokens},
                  {"cost_usd", journal.usage().cost_usd},
                  {"calls", journal.usage().calls}}},
                {"damaged_records", shown.reading.damaged.size()}};
  if (Json waiting = waiting_json(shown.timeline); !waiting.is_null()) {
    document["waiting"] = std::move(waiting);
  }
  if (!journal.finished().is_null()) {
    document["result"] = shown.clean(journal.finished().value("result", Json()));
  }
  print_json(document);
}

std::string describe_output(const Step& step) {
  if (step.error) return "error: " + *step.error;
  if (!step.tool_output.is_null()) return show(step.tool_output);
  return step.llm_output.value_or("");
}

void print_steps(const Shown& shown) {
  const Trajectory& trajectory = shown.checkpoint.trajectory;
  const std::size_t number = trajectory.size() - shown.first_step;
  if (number == 0) return;
  print("\nSteps (" +
        (number == trajectory.size()
             ? "all " + std::to_string(number)
             : "the last " + std::to_string(number) + " of " + std::to_string(trajectory.size())) +
        ", numbered from 0):\n");
  Table table({{"STEP", Cut::never}, "ACTION", "TOOL", {"STATUS", Cut::never}, "INPUT", "OUTPUT"});
  for_each_step(shown, [&](const Step& step, std::size_t index) {
    table.add({std::to_string(index), step.action, step.tool_called.value_or(""),
               step.http_status ? std::to_string(*step.http_status) : "",
               step.tool_input.is_null() ? "" : show(step.tool_input), describe_output(step)});
  });
  print(table.text());
}

void print_effects(const Shown& shown) {
  const Journal& journal = shown.timeline.journal;
  if (journal.effects().empty()) return;
  print("\nEffects (" + std::to_string(journal.effects().size()) + "):\n");
  Table table({{"STATUS", Cut::never}, {"EFFECT", Cut::middle}, "RESULT"});
  std::size_t left_out = 0;
  std::size_t rows = 0;
  for (const auto& [key, effect] : journal.effects()) {
    // Effects that are not simply completed matter most and are never left out.
    if (effect.status == EffectState::Status::completed && ++rows > most_effects) {
      ++left_out;
      continue;
    }
    table.add({std::string(status_of(effect)), key,
               effect.result ? show(shown.clean(*effect.result)) : ""});
  }
  print(table.text());
  if (left_out > 0) print("and " + std::to_string(left_out) + " more that are done (--json)\n");
}

// Without what a workflow keeps there, which `triage workflow show` tells better.
void print_state(const Shown& shown) {
  print(shown.checkpoint.state.empty() ? "\nState: empty\n" : "\nState:\n");
  std::size_t own = 0;
  if (const auto& values = shown.checkpoint.state.values()) {
    for (const auto& [key, value] : *values) {
      if (!shown.arguments->all && detail::is_reserved(key)) {
        ++own;
        continue;
      }
      const Json one = shown.clean(Json{{key, *value}});
      print("  " + printable(key) + " = " + shorten(show(one.front()), longest_value) + "\n");
    }
  }
  if (own > 0) {
    print("  and " + counted(own, "value") + " of the workflow (triage workflow show, or --all)\n");
  }
}

void print_for_people(const Shown& shown) {
  const RunInfo& run = shown.reading.info;
  const Journal& journal = shown.timeline.journal;
  const CheckpointInfo& info = shown.checkpoint.info;
  print("Run         " + printable(run.id) + "\n");
  print("Agent       " + printable(run.agent) +
        (run.label.empty() ? "" : ", label " + printable(run.label)) +
        (run.parent.empty() ? "" : ", parent " + printable(run.parent)) + "\n");
  print("Status      " + status_text(run) + ", " +
        counted(static_cast<std::size_t>(std::max(journal.attempts(), 0)), "attempt") + ", " +
        counted(run.last, "record") + "\n");
  print("Time (UTC)  " + short_time(run.started) + " to " + short_time(run.updated) + "\n");
  const Json task = shown_task(shown.timeline);
  if (!task.is_null()) {
    print("Task        " + task_in_words(task, longest_value) + "\n");
  }
  print("Checkpoint  " + printable(to_string(info.id)) + ", " + counted(info.steps, "step") +
        (info.label.empty() ? "" : ", label " + printable(info.label)) + "\n");
  print(waiting_text(shown.timeline));
  if (!shown.timeline.events.empty()) print("\nWhat happened:\n");
  for (const TimelineEvent& one : shown.timeline.events) {
    print("  " + time_of_day(one.time) + "  " + one.sentence + "\n");
  }
  print_state(shown);
  print_steps(shown);
  print_effects(shown);
  if (!journal.finished().is_null()) {
    const Json result = shown.clean(journal.finished().value("result", Json()));
    print("\nResult: " + shorten(show(result), longest_value) + "\n");
  }
}

Result<Shown> gather(const ShowArguments& arguments) {
  TRIAGE_TRY(steps, parse_steps(arguments.steps));
  TRIAGE_TRY(store, open_store_to_read(arguments.store));
  TRIAGE_TRY(what, in_full(*store, arguments.what));
  TRIAGE_TRY(id, parse_what(what));
  Shown shown{.arguments = &arguments};
  TRIAGE_TRY(reading, read_run(*store, id.run));
  shown.reading = std::move(reading);
  constexpr Sequence everything = std::numeric_limits<Sequence>::max();
  TRIAGE_TRY(timeline, read_timeline(shown.reading, everything));
  shown.timeline = std::move(timeline);
  shown.redactor = supervise::redactor_of(shown.timeline.journal.start().value("task", Json()));
  TRIAGE_TRY(checkpoint, find_checkpoint(shown.timeline.journal, id));
  shown.checkpoint = std::move(checkpoint);
  CheckpointInfo& info = shown.checkpoint.info;
  if (arguments.all) info.label = detail::stored_label(info);
  if (id.sequence != 0) {  // Later records are not part of this checkpoint.
    TRIAGE_TRY(until, read_timeline(shown.reading, id.sequence));
    shown.timeline = std::move(until);
  }
  const std::size_t size = shown.checkpoint.trajectory.size();
  shown.first_step = size - std::min(size, steps);
  return outcome::success(std::move(shown));
}

}  // namespace

std::function<ExitStatus()> checkpoint_show(CLI::App& arguments) {
  auto given = std::make_shared<ShowArguments>();
  declare_store(arguments, given->where, "A run, or a checkpoint as RUN@SEQUENCE.");
  arguments.add_option("--steps", given->steps, "How many steps to show, the last ones: N or all.")
      ->capture_default_str();
  arguments.add_flag("--all", given->all,
                     "Show labels and values that triage makes for itself, too.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage checkpoint show nightly@12 --steps all");
  return [given] {
    auto meant = meant_run(given->where);
    if (!meant) return report(meant.error());
    given->store = std::move(meant.value().store);
    given->what = std::move(meant.value().run);
    const auto shown = gather(*given);
    if (!shown) return report(shown.error());
    if (given->json) {
      print_as_json(shown.value());
    } else {
      print_for_people(shown.value());
    }
    return warn_of_damage(shown.value().reading);
  };
}

}  // namespace triage::inline v0_1::cli
