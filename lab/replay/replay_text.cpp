// SPDX-License-Identifier: MIT
// The results of a replay, as text and as JSON.
#include "triage/lab/replay.hpp"

#include "triage/detail/counted.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>

namespace triage::inline v0_1::lab {
namespace {

using triage::detail::counted;

constexpr std::array<std::string_view, 8> names{"same",         "other_wait", "other_words",
                                                "other_action", "stops",      "goes_on",
                                                "not_asked",    "unknown"};

// For display, milliseconds are precise enough.
std::string about(Duration wait) {
  using std::chrono::milliseconds;
  if (wait > Duration::max() - milliseconds(1)) return format_duration(wait);
  return format_duration(std::chrono::round<std::chrono::milliseconds>(wait));
}

std::string between(Duration least, Duration most) {
  return least == most ? about(least) : about(least) + " to " + about(most);
}

// The policy's answer; a wait that depends on chance is shown as a range.
std::string answer_of(const ReplayedDecision& one) {
  RecoveryAction action = one.now;
  action.delay = Duration::zero();
  std::string text = describe(action);
  if (one.most_wait > Duration::zero()) {
    text += " after " + between(one.least_wait, one.most_wait);
  }
  return text;
}

std::string line_of(const ReplayedDecision& one) {
  std::string text =
      "attempt " + std::to_string(one.attempt) + " failed: " + std::string(to_string(one.type));
  if (!one.reason.empty()) text += " (" + printable(one.reason) + ")";
  text += "\n      was: " + (one.was ? printable(one.was_text) : std::string("not known"));
  switch (one.comparison) {
    case Comparison::same: return text + "\n      the same";
    case Comparison::not_asked: return text + "\n      no policy was asked";
    default: return text + "\n      now: " + answer_of(one);
  }
}

std::string saving_of(const PolicyReplay& replay) {
  std::string text;
  if (replay.stops_at) {
    const ReplayedDecision& one = replay.decisions[*replay.stops_at];
    text += "After attempt " + std::to_string(one.attempt) +
            " the run would have ended: " + counted(replay.attempts_spared, "attempt") + ", " +
            about(replay.wait_spared) + " of waits and " +
            counted(replay.spared.tokens(), "token") + " saved" +
            (replay.result_lost ? ", and its result lost" : "") + ".\n";
  }
  if (replay.waited > Duration::zero() || replay.most_wait > Duration::zero()) {
    text += "Waits where both go on: " + about(replay.waited) + " then, " +
            between(replay.least_wait, replay.most_wait) + " now.\n";
  }
  return text;
}

}  // namespace

std::string_view to_string(Comparison comparison) noexcept {
  const auto index = static_cast<std::size_t>(comparison);
  return index < names.size() ? names[index] : "unknown";
}

std::string describe(const PolicyReplay& replay) {
  std::string text = "Run " + printable(replay.run) + ": ";
  if (replay.decisions.empty()) return text + "nothing failed, so no policy was asked.\n";
  const auto differing =
      std::count_if(replay.decisions.begin(), replay.decisions.end(), [](const auto& one) {
        return one.comparison != Comparison::same && one.comparison != Comparison::not_asked &&
               one.comparison != Comparison::unknown;
      });
  text += std::to_string(replay.decisions.size()) +
          (replay.decisions.size() == 1 ? " failure" : " failures") + ", " +
          std::to_string(differing) + (differing == 1 ? " other decision\n" : " other decisions\n");
  for (std::size_t i = 0; i < replay.decisions.size(); ++i) {
    if (i == replay.first_difference) text += "  --- the first difference ---\n";
    text += "  " + line_of(replay.decisions[i]) + "\n";
  }
  text += saving_of(replay) + "Assumed:\n";
  for (const std::string_view one : replay_assumptions()) {
    text.append("  - ").append(one).append("\n");
  }
  return text;
}

Json to_json(const PolicyReplay& replay) {
  Json decisions = Json::array();
  for (const ReplayedDecision& one : replay.decisions) {
    Json entry{{"failed_at", one.failed_at},
               {"attempt", one.attempt},
               {"type", to_string(one.type)},
               {"reason", one.reason},
               {"comparison", to_string(one.comparison)},
               {"was", nullptr},
               {"now",
                {{"action", to_string(one.now.kind)},
                 {"text", answer_of(one)},
                 {"least_wait_ns", one.least_wait.count()},
                 {"most_wait_ns", one.most_wait.count()}}}};
    if (one.was) {
      entry["was"] = Json{
          {"action", to_string(*one.was)}, {"text", one.was_text}, {"wait_ns", one.waited.count()}};
    }
    decisions.push_back(std::move(entry));
  }
  Json json{{"run", replay.run},
            {"decisions", std::move(decisions)},
            {"first_difference", nullptr},
            {"stops_at", nullptr},
            {"waits",
             {{"was_ns", replay.waited.count()},
              {"least_ns", replay.least_wait.count()},
              {"most_ns", replay.most_wait.count()}}},
            {"assumed", replay_assumptions()}};
  if (replay.first_difference) json["first_difference"] = *replay.first_difference;
  if (replay.stops_at) {
    json["stops_at"] = *replay.stops_at;
    json["saved"] = Json{{"attempts", replay.attempts_spared},
                         {"wait_ns", replay.wait_spared.count()},
                         {"input_tokens", replay.spared.input_tokens},
                         {"output_tokens", replay.spared.output_tokens},
                         {"cost_usd", replay.spared.cost_usd},
                         {"result_lost", replay.result_lost}};
  }
  return json;
}

}  // namespace triage::inline v0_1::lab
