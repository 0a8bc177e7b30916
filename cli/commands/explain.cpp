// SPDX-License-Identifier: MIT
// triage explain: why a run went as it did, every decision with its evidence, in sentences.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "render/waiting.hpp"
#include "run_status.hpp"
#include "triage/detail/stored_field.hpp"

#include <cstdio>
#include <limits>
#include <memory>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_detail = 160;

struct ExplainArguments {
  StoreArgument where{};
  bool json = false;
};

using detail::text_field;

// "    - http_status: 429 asks to come back later (0.98)", one line a finding.
std::string evidence_lines(const Json& fields) {
  std::string lines;
  const auto evidence = fields.find("evidence");
  if (evidence == fields.end() || !evidence->is_array()) return lines;
  for (const Json& one : *evidence) {
    if (!one.is_object()) continue;
    lines += "    - " + shorten(text_field(one, "source"), 40) + ": " +
             shorten(text_field(one, "detail"), longest_detail);
    if (const auto sure = one.find("confidence"); sure != one.end() && sure->is_number()) {
      char number[32];
      std::snprintf(number, sizeof number, " (%.2f)", sure->get<double>());
      lines += number;
    }
    lines += "\n";
  }
  return lines;
}

void print_explanation(const JournalReading& reading, const Timeline& told) {
  print("Run " + reading.info.id + " (" + status_text(reading.info) + ", " +
        counted(static_cast<std::size_t>(told.journal.attempts()), "attempt") +
        "): " + task_in_words(shown_task(told), longest_detail) + "\n");
  for (const TimelineEvent& one : told.events) {
    print("  " + time_of_day(one.time) + "  " + one.sentence + "\n" + evidence_lines(one.fields));
  }
  if (told.events.empty()) print("  Nothing has gone wrong so far.\n");
  print(waiting_text(told));
}

void print_explanation_json(const JournalReading& reading, const Timeline& told) {
  Json all = Json::array();
  for (const TimelineEvent& one : told.events) {
    all.push_back({{"sequence", one.seq},
                   {"time", iso_time(one.time)},
                   {"sentence", one.sentence},
                   {"record", one.fields}});
  }
  print_json(Json{{"run", run_json(reading.info)},
                  {"task", shown_task(told)},
                  {"attempts", told.journal.attempts()},
                  {"timeline", std::move(all)},
                  {"waiting", waiting_json(told)}});
}

ExitStatus explain_run(const ExplainArguments& given) {
  const auto reading = meant_reading(given.where);
  if (!reading) return report(reading.error());
  const auto told = read_timeline(reading.value(), std::numeric_limits<Sequence>::max());
  if (!told) return report(told.error());
  if (given.json) {
    print_explanation_json(reading.value(), told.value());
  } else {
    print_explanation(reading.value(), told.value());
  }
  return warn_of_damage(reading.value());
}

}  // namespace

std::function<ExitStatus()> explain(CLI::App& arguments) {
  auto given = std::make_shared<ExplainArguments>();
  declare_store(arguments, given->where, "The run.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer("Example: triage explain 01JDZ3K5W8…");
  return [given] { return explain_run(*given); };
}

}  // namespace triage::inline v0_1::cli
