// SPDX-License-Identifier: MIT
#include "classifier/blame/leader.hpp"

#include "base/ascii.hpp"
#include "classifier/blame/talk_words.hpp"

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
  std::size_t ran = 0;    // Of these, directly behind another's code, such as its output.
  std::size_t wrote = 0;  // Code.
  std::size_t led = 0;    // Steps of others directly behind its own.
  std::size_t named = 0;  // Of those, by agents that it had named.
  std::set<std::string_view> followers{};
  bool orders = false;  // Its name says so: "Planner (-> Coder)".
};

bool speaks(const TalkStep& told) { return told.part == Part::words || told.part == Part::notes; }

bool is_word_byte(char c) { return is_alnum(c) || c == '_' || static_cast<unsigned char>(c) > 127; }

// Whether the text has the name as a word of its own.
bool names(std::string_view text, std::string_view agent) {
  if (agent.size() < shortest_name || agent.size() > longest_name) return false;
  auto from = text.begin();
  while (true) {
    const auto found = std::search(from, text.end(), agent.begin(), agent.end(),
                                   [](char a, char b) { return lower(a) == lower(b); });
    if (found == text.end()) return false;
    const auto end = found + static_cast<std::ptrdiff_t>(agent.size());
    const bool begins = found == text.begin() || !is_word_byte(*(found - 1));
    if (begins && (end == text.end() || !is_word_byte(*end))) return true;
    from = found + 1;
  }
}

// others: replies of the others.
bool leads(const Speaker& speaker, std::size_t others) {
  if (speaker.orders) return true;
  if (others < least_replies || 4 * speaker.wrote > speaker.spoke) return false;
  const bool names_them = 10 * speaker.led >= 6 * others && 10 * speaker.named >= 6 * speaker.led;
  const bool in_the_middle = 10 * speaker.led >= 9 * others && speaker.followers.size() >= 2;
  return names_them || in_the_middle;
}

// Each who speaks, by the plain name.
std::map<std::string_view, Speaker> speakers_of(const std::vector<TalkStep>& steps) {
  std::map<std::string_view, Speaker> speakers;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TalkStep& told = steps[i];
    if (!speaks(told)) continue;
    const std::string_view name = plain_name(*told.step);
    Speaker& speaker = speakers[name];
    ++speaker.spoke;
    if (i > 0 && steps[i - 1].code && plain_name(*steps[i - 1].step) != name) ++speaker.ran;
    if (told.code) ++speaker.wrote;
    speaker.orders = speaker.orders || gives_order(*told.step);
    if (i + 1 == steps.size() || !speaks(steps[i + 1])) continue;
    const std::string_view next = plain_name(*steps[i + 1].step);
    if (next == name || (told.code && told.part == Part::words)) continue;
    ++speaker.led;
    speaker.followers.insert(next);
    if (names(told.text, next)) ++speaker.named;
  }
  speakers.erase(std::string_view());
  return speakers;
}

}  // namespace

std::string_view agent_of(const Step& step) {
  return step.agent_id ? std::string_view(*step.agent_id) : std::string_view();
}

std::string_view plain_name(const Step& step) {
  const std::string_view agent = agent_of(step);
  return trimmed(agent.substr(0, agent.find('(')));
}

bool gives_order(const Step& step) { return agent_of(step).find("->") != std::string_view::npos; }

std::optional<std::string_view> leader_of(const std::vector<TalkStep>& steps) {
  const std::map<std::string_view, Speaker> speakers = speakers_of(steps);
  std::size_t replies = 0;
  for (const auto& [name, speaker] : speakers) replies += speaker.spoke - speaker.ran;
  std::optional<std::string_view> leader;
  bool orders = false;
  bool equals = false;
  for (const auto& [name, speaker] : speakers) {
    if (!leads(speaker, replies - (speaker.spoke - speaker.ran))) continue;
    if (leader && orders && !speaker.orders) continue;
    equals = leader && orders == speaker.orders;
    leader = name;
    orders = speaker.orders;
  }
  return equals ? std::nullopt : leader;
}

}  // namespace triage::inline v0_1::detail
