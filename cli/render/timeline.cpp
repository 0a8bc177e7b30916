// SPDX-License-Identifier: MIT
#include "render/timeline.hpp"

#include "render/output.hpp"
#include "render/telling_line.hpp"
#include "run_status.hpp"
#include "supervise/spec/redaction.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/repair.hpp"
#include "triage/step.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_message_quote = 200;

using detail::field;
using detail::text_field;

std::string sentence_end(std::string text) {
  if (!text.empty() && std::string_view(".?!").find(text.back()) == std::string_view::npos) {
    text += '.';
  }
  return text;
}

std::string describe_step(const Trajectory& trajectory, std::size_t index) {
  std::string text = "step " + std::to_string(index);
  if (index >= trajectory.size()) return text;
  const Step& step = trajectory[index];
  const std::string name = !step.action.empty() ? step.action : step.tool_called.value_or("");
  return name.empty() ? text : text + " (" + shorten(name, 60) + ")";
}

// " Why: …", from the decisive evidence.
std::string describe_evidence(const Json& body) {
  const auto evidence = body.find("evidence");
  if (evidence == body.end() || !evidence->is_array() || evidence->empty()) return {};
  const Json& first = evidence->front();
  if (!first.is_object()) return {};
  if (text_field(first, "source") == "reported") return {};  // It only says that it was named.
  const std::string detail = text_field(first, "detail");
  return sentence_end(" Why: " + shorten(detail.empty() ? text_field(first, "source") : detail,
                                         longest_message_quote));
}

std::string describe_failure(const Json& body, const Journal& journal) {
  std::string text = field(body, "refused", false)
                         ? std::string("No attempt was made")
                         : "Attempt " + std::to_string(journal.attempts()) + " failed";
  if (const auto step = detail::find_field<std::size_t>(body, "critical_step")) {
    text += " at " + describe_step(journal.trajectory(), *step);
  }
  text += ": " + text_field(body, "type");
  if (const std::string reason = text_field(body, "reason"); !reason.empty()) text += ", " + reason;
  text += "." + describe_evidence(body);
  if (const std::string said = text_field(body, "text"); !said.empty()) {
    text += " It said: \"" + quote(said, longest_message_quote) + "\".";
  }
  if (const auto delay = field<std::int64_t>(body, "retry_after_ns", 0); delay > 0) {
    char wait[64];
    std::snprintf(wait, sizeof wait, " The other side asked for a wait of %.3g s.",
                  static_cast<double>(delay) / 1e9);
    text += wait;
  }
  const auto notes = body.find("notes");
  if (notes != body.end() && notes->is_array()) {
    for (const Json& note : *notes) {
      if (note.is_string()) {
        text += " Note: " + sentence_end(shorten(note.get<std::string>(), longest_message_quote));
      }
    }
  }
  return text;
}

std::string describe_place(const Json& body, const Journal& journal, const char* nothing) {
  const auto to = field<Sequence>(body, "to", 0);
  return to == 0 ? nothing : "checkpoint " + to_string(CheckpointId{journal.run(), to});
}

// ", by ops".
std::string by_whom(const Json& body, const char* name) {
  const std::string who = text_field(body, name);
  return who.empty() ? "" : ", by " + shorten(who, 80);
}

// ": retry, by ops".
std::string decision_text(const Json& body) {
  const std::string action = text_field(body, "action");
  return (action.empty() ? "" : ": " + action) + by_whom(body, "by");
}

// Empty for records that are not events. The journal holds what happened before.
std::string tell(RecordKind kind, const Json& body, const Journal& journal) {
  switch (kind) {
    case RecordKind::failure_classified: return describe_failure(body, journal);
    case RecordKind::action_taken:
      return sentence_end("The answer was: " +
                          shorten(text_field(body, "text"), 2 * longest_message_quote));
    case RecordKind::rolled_back:
      return "Rolled back to " + describe_place(body, journal, "the start of the run") + ".";
    case RecordKind::resumed:
      return "Resumed from " + describe_place(body, journal, "where it stood") + " (" +
             text_field(body, "reason") + decision_text(body) + ").";
    case RecordKind::suspended:
      if (body.contains("decided_by")) {
        return "Decided, for its program to carry out: " +
               text_field(body.value("then", Json()), "kind") + by_whom(body, "decided_by") + ".";
      }
      // Somebody has asked for another token.
      if (!journal.suspended().is_null()) return "It got a new token.";
      return sentence_end("Suspended: " +
                          shorten(text_field(body, "message"), longest_message_quote));
    case RecordKind::gap:
      if (body.contains("compacted")) return {};
      if (const auto repaired = body.find("repaired"); repaired != body.end()) {
        return "A repair set " + counted(repaired->size(), "lost place") + " aside.";
      }
      return "The store was away: records " + std::to_string(field<Sequence>(body, "first", 0)) +
             " to " + std::to_string(field<Sequence>(body, "last", 0)) + " were lost.";
    case RecordKind::stopped:
      return sentence_end("The run ended as " + text_field(body, "status") + ": " +
                          shorten(text_field(body, "detail"), longest_message_quote));
    case RecordKind::finished:
      return field(body, "degraded", false)
                 ? "The run finished with a substitute answer (degraded)."
                 : "The run finished with a result.";
    case RecordKind::effect_withdrawn:
      return sentence_end(
          "Effect \"" + shorten(text_field(body, "key"), 80) +
          "\" was not carried out: " + shorten(text_field(body, "cause"), longest_message_quote));
    case RecordKind::effect_completed:
      if (!field(body, "reconciled", false)) break;
      return "Effect \"" + shorten(text_field(body, "key"), 80) + "\" was in doubt and did happen" +
             by_whom(body, "by") + ".";
    case RecordKind::forked: {
      const std::string who = text_field(body, "who");
      return sentence_end("Forked from checkpoint " + text_field(body, "parent") +
                          (who.empty() ? "" : " by " + shorten(who, 80)));
    }
    case RecordKind::signal_received:
      return body.contains("value")
                 ? "Signal \"" + text_field(body, "name") + "\" came."
                 : "Signal \"" + text_field(body, "name") + "\" did not come before its deadline.";
    case RecordKind::compensation_completed:
      return "Effect \"" + shorten(text_field(body, "key"), 80) + "\" was undone.";
    case RecordKind::compensation_withdrawn:
      return sentence_end(
          "Effect \"" + shorten(text_field(body, "key"), 80) +
          "\" could not be undone: " + shorten(text_field(body, "cause"), longest_message_quote));
    case RecordKind::run_started:
    case RecordKind::attempt_started:
    case RecordKind::step:
    case RecordKind::state_changed:
    case RecordKind::state_removed:
    case RecordKind::state_snapshot:
    case RecordKind::usage:
    case RecordKind::checkpoint_labelled:
    case RecordKind::effect_intended:
    case RecordKind::compensation_intended:
    case RecordKind::sleep_begun: break;
  }
  return {};
}

// Values of signals, results of effects and edits are stored as they are.
void redact_events(Timeline& timeline) {
  const auto redactor = supervise::redactor_of(timeline.journal.start().value("task", Json()));
  if (redactor == nullptr) return;
  for (TimelineEvent& one : timeline.events) {
    one.sentence = redactor->text(one.sentence);
    redact(one.fields, *redactor);
  }
}

}  // namespace

Json run_json(const RunInfo& run) {
  return Json{{"id", run.id},
              {"agent", run.agent},
              {"label", run.label},
              {"parent", run.parent},
              {"status", status_text(run)},
              {"owned", run.owned},
              {"started", iso_time(run.started)},
              {"updated", iso_time(run.updated)},
              {"records", run.last}};
}

const char* no_runs(bool some) noexcept { return some ? "No runs that fit.\n" : "No runs.\n"; }

void warn_of_more(std::size_t limit, const char* what) {
  warn("only the newest " +
       (limit == 1 ? what + std::string(" is") : counted(limit, what) + " are") +
       " shown; --limit N shows more, 0 all");
}

ExitStatus warn_of_damaged_runs(const std::vector<RunInfo>& runs) {
  const auto damaged =
      std::count_if(runs.begin(), runs.end(), [](const RunInfo& run) { return run.damaged; });
  if (damaged == 0) return ExitStatus::done;
  warn(counted(static_cast<std::size_t>(damaged), "run") +
       " shown here does not match its checksum; `triage checkpoint verify` tells more");
  return ExitStatus::unreadable;
}

Result<Timeline> read_timeline(const JournalReading& reading, Sequence until) {
  Timeline told;
  told.journal = Journal(reading.info.id);
  for (const Record& record : reading.records) {
    if (record.seq() > until) break;
    if (record.kind() != RecordKind::step && record.kind() != RecordKind::state_changed) {
      const auto body = record.body();
      if (body && body.value().is_object()) {
        // Quoted text comes from the file and must not control the terminal.
        std::string sentence = printable(tell(record.kind(), body.value(), told.journal));
        if (!sentence.empty()) {
          Json fields = body.value();
          fields["kind"] = to_string(record.kind());
          told.events.push_back(
              {record.seq(), record.time(), std::move(sentence), std::move(fields)});
        }
      }
    }
    told.journal.apply(record);
  }
  if (!told.journal.started()) {
    return Error{Errc::corrupt, "the first record of run \"" + reading.info.id +
                                    "\" is damaged or missing, so nothing of it can be shown"};
  }
  redact_events(told);
  return outcome::success(std::move(told));
}

ExitStatus warn_of_damage(const JournalReading& reading) {
  ExitStatus status = ExitStatus::done;
  const auto problem = [&](const std::string& text) {
    warn("run \"" + reading.info.id + "\" " + text);
    status = ExitStatus::unreadable;
  };
  std::size_t number = 0;
  const LostRecords* first = nullptr;
  const std::vector<LostRecords> lost = lost_records(reading);
  for (const LostRecords& one : lost) {
    if (one.set_aside) continue;
    if (first == nullptr) first = &one;
    number += static_cast<std::size_t>(one.last - one.first + 1);
  }
  if (first != nullptr) {
    problem("has " + counted(number, "damaged record") + ", the first with sequence " +
            std::to_string(first->first) + ": " + first->why + "; what depends on it is left out");
  }
  if (reading.info.damaged) {
    problem("does not match the checksum of its entry: its status, for example, may be wrong");
  }
  return status;
}

}  // namespace triage::inline v0_1::cli
