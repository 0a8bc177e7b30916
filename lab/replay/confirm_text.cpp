// SPDX-License-Identifier: MIT
// What re-runs showed about a step, as text and as JSON.
#include "triage/lab/confirm.hpp"

#include <cstdio>

namespace triage::inline v0_1::lab {
namespace {

constexpr std::array<std::string_view, 4> verdict_names{"cause", "not_shown", "worse", "undecided"};

constexpr std::size_t longest_action = 80;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string points(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f", share * 100);
  return text;
}

std::string line_of(const char* kind, const Reruns& reruns, int times) {
  std::string text = std::string("  ") + kind + ": " + std::to_string(reruns.finished) + " of " +
                     std::to_string(times) + " finished, " +
                     percent(static_cast<double>(reruns.finished) / times) + " (" +
                     percent(reruns.interval.low) + " to " + percent(reruns.interval.high) + ")";
  if (reruns.failed_alike > 0) text += "; " + std::to_string(reruns.failed_alike) + " failed alike";
  if (reruns.failed_otherwise > 0) {
    text += "; " + std::to_string(reruns.failed_otherwise) + " failed otherwise";
  }
  if (reruns.undecided > 0) text += "; " + std::to_string(reruns.undecided) + " undecided";
  return text + "\n";
}

// Counted from 0, as everywhere else in what is told about a run.
std::string step_of(const Confirmation& one) {
  if (!one.blame.step) return "where " + one.blame.checkpoint + " stands";
  return "step " + std::to_string(*one.blame.step) + " (" +
         printable(one.blame.action.substr(0, longest_action)) + ")";
}

std::string finding_of(const Confirmation& one) {
  const int failed_unchanged = one.unchanged.failed_alike + one.unchanged.failed_otherwise;
  switch (one.finding) {
    case Finding::cause: {
      std::string text = "The cause is at " + step_of(one) + ": with the change more finish.";
      const int failed = one.times - one.changed.finished;
      if (failed > 0) {
        text += " It is not the only one: " + std::to_string(failed) + " failed with it, too.";
      }
      return text;
    }
    case Finding::worse: return "With the change fewer finish: it repairs nothing.";
    case Finding::undecided: {
      std::string text = "Undecided: some re-runs ended because they would have acted or waited.";
      for (const std::string& key : one.refused) {
        text += "\n  effect \"" + printable(key) + "\" was refused; say what it would return";
      }
      return text;
    }
    case Finding::not_shown: break;
  }
  if (failed_unchanged == 0) {
    return "Not shown: unchanged, nothing failed either, so the failure does not come by itself "
           "from there.";
  }
  return "Not shown that " + step_of(one) + " was the cause, as far as this change repairs it.";
}

Json json_of(const Reruns& reruns) {
  return Json{{"finished", reruns.finished},
              {"failed_alike", reruns.failed_alike},
              {"failed_otherwise", reruns.failed_otherwise},
              {"undecided", reruns.undecided},
              {"interval", {reruns.interval.low, reruns.interval.high}}};
}

}  // namespace

std::string_view to_string(Finding finding) noexcept {
  const auto index = static_cast<std::size_t>(finding);
  return index < verdict_names.size() ? verdict_names[index] : "undecided";
}

const std::array<std::string_view, 5>& confirm_assumptions() noexcept {
  static constexpr std::array<std::string_view, 5> all{
      "Each re-run is one attempt that begins at that checkpoint, with its state and steps.",
      "Effects that the run recorded, at any time, give their recorded results; those that were "
      "given here give these; no other is carried out.",
      "What the agent does outside of effects, and what it asks of others, happens for real each "
      "time.",
      "Nothing but the change tells the two kinds apart: they alternate, and the world is the one "
      "of now, not of then.",
      "Intervals are of 95 %: Wilson's for the shares, that of Agresti and Min for the difference "
      "in pairs."};
  return all;
}

std::string describe(const Confirmation& one) {
  std::string text = "Run " + printable(one.run) + ": attempt " +
                     std::to_string(one.blame.attempt) +
                     " failed: " + std::string(to_string(one.blame.type));
  if (!one.blame.reason.empty()) text += " (" + printable(one.blame.reason) + ")";
  if (one.blame.step) text += "; " + step_of(one) + " is blamed";
  text += "\nRe-runs from " + printable(one.blame.checkpoint) + ":\n" +
          line_of("unchanged", one.unchanged, one.times) + "  changed is: " + one.change + "\n" +
          line_of("changed", one.changed, one.times) + "  difference: " + points(one.difference) +
          " points (" + points(one.interval.low) + " to " + points(one.interval.high) +
          "), in pairs\n" + finding_of(one) + "\nAssumed:\n";
  for (const std::string_view assumption : confirm_assumptions()) {
    text.append("  - ").append(assumption).append("\n");
  }
  return text;
}

Json to_json(const Confirmation& one) {
  Json json{{"run", one.run},
            {"attempt", one.blame.attempt},
            {"type", to_string(one.blame.type)},
            {"reason", one.blame.reason},
            {"step", nullptr},
            {"checkpoint", one.blame.checkpoint},
            {"change", one.change},
            {"times", one.times},
            {"unchanged", json_of(one.unchanged)},
            {"changed", json_of(one.changed)},
            {"difference", one.difference},
            {"interval", {one.interval.low, one.interval.high}},
            {"finding", to_string(one.finding)},
            {"refused_effects", one.refused},
            {"assumed", confirm_assumptions()}};
  if (one.blame.step) {
    json["step"] = Json{{"index", *one.blame.step}, {"action", one.blame.action}};
  }
  return json;
}

}  // namespace triage::inline v0_1::lab
