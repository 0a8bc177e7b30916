// SPDX-License-Identifier: MIT
#include "classifier/blame/leader.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t least_replies = 4;  // Fewer show no pattern.
constexpr std::size_t shortest_name = 3;
constexpr std::size_t longest_name = 64;  // Bounds the search.

struct Speaker {
  std::size_t spoke = 0;
  std::size_t wrote = 0;  // Code.
  std::size_t led = 0;    // Steps of others directly behind its own.
  std::size_t named = 0;  // Of those, by agents that it had named.
  std::set<std::string_view> followers{};
  bool orders = false;  // Its name says so: "Planner (-> Coder)".
};

bool speaks(const TalkStep& told) { return told.part == Part::words || told.part == Part::notes; }

bool names(std::string_view text, std::string_view agent) {
  if (agent.size() < shortest_name || agent.size() > longest_name) return false;
  const auto found = std::search(text.begin(), text.end(), agent.begin(), agent.end(),
                                 [](char a, char b) { return lower(a) == lower(b); });
  return found != text.end();
}

bool leads(const Speaker& speaker, std::size_t replies) {
  if (speaker.orders) return true;
  const std::size_t others = replies - std::min(replies, speaker.spoke);
  if (others < least_replies || 4 * speaker.wrote > speaker.spoke) return false;
  const bool names_them = 10 * speaker.led >= 6 * others && 10 * speaker.named >= 6 * speaker.led;
  const bool in_the_middle = 10 * speaker.led >= 9 * others && speaker.followers.size() >= 2;
  return names_them || in_the_middle;
}

}  // namespace

std::string_view agent_of(const Step& step) {
  return step.agent_id ? std::string_view(*step.agent_id) : std::string_view();
}

std::string_view plain_name(const Step& step) {
  const std::string_view agent = agent_of(step);
  std::string_view name = agent.substr(0, agent.find('('));
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  return name;
}

std::optional<std::string_view> leader_of(const std::vector<TalkStep>& steps) {
  std::map<std::string_view, Speaker> speakers;
  std::size_t replies = 0;  // All words but the output of code.
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TalkStep& told = steps[i];
    if (!speaks(told)) continue;
    if (i == 0 || !steps[i - 1].code) ++replies;
    const std::string_view name = plain_name(*told.step);
    Speaker& speaker = speakers[name];
    ++speaker.spoke;
    if (told.code) ++speaker.wrote;
    speaker.orders = speaker.orders || agent_of(*told.step).find("->") != std::string_view::npos;
    if (i + 1 == steps.size() || !speaks(steps[i + 1])) continue;
    const std::string_view next = plain_name(*steps[i + 1].step);
    if (next == name || (told.code && told.part == Part::words)) continue;
    ++speaker.led;
    speaker.followers.insert(next);
    if (names(told.text, next)) ++speaker.named;
  }
  for (const auto& [name, speaker] : speakers) {
    if (!name.empty() && leads(speaker, replies)) return name;
  }
  return std::nullopt;
}

}  // namespace triage::inline v0_1::detail
