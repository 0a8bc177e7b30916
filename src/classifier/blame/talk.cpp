// SPDX-License-Identifier: MIT
#include "classifier/blame/talk.hpp"

#include "base/ascii.hpp"
#include "classifier/blame/leader.hpp"
#include "classifier/blame/loops.hpp"
#include "classifier/blame/talk_words.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t first_steps_read = 1024;
constexpr std::size_t last_steps_read = 32;
constexpr std::size_t most_bytes = 4U << 20U;
constexpr std::size_t longest_beginning = 4608;
constexpr std::size_t longest_end = 1536;
constexpr std::size_t least_statement = 40;  // Bytes; shorter words state nothing.
constexpr std::size_t most_leaves = 512;
constexpr int deepest_task = 8;

// The beginning and the end, together at most `room` bytes.
std::string both_ends(std::string_view text, std::size_t room) {
  const std::size_t most = std::min(room, longest_beginning + longest_end);
  if (text.size() <= most) return std::string(text);
  const std::size_t end = most / 4;
  std::string kept(text.substr(0, most - end));
  kept += '\n';
  kept += text.substr(text.size() - end);
  return kept;
}

// Appends a JSON value's texts, numbers and member names.
void say(const Json& value, int depth, std::size_t& leaves, std::string& text) {
  if (leaves == 0 || depth > deepest_task || text.size() > longest_beginning) return;
  --leaves;
  if (value.is_string()) {
    text += std::string_view(value.get_ref<const std::string&>()).substr(0, longest_beginning);
  } else if (value.is_structured()) {
    for (auto it = value.begin(); it != value.end() && leaves > 0; ++it) {
      if (value.is_object()) text += std::string_view(it.key()).substr(0, 64);
      text += ' ';
      say(*it, depth + 1, leaves, text);
    }
  } else if (!value.is_null() && !value.is_binary()) {
    text += value.dump();
  }
  text += ' ';
}

std::string said_by(const Json& value, std::size_t room) {
  if (value.is_string()) return both_ends(value.get_ref<const std::string&>(), room);
  std::string text;
  std::size_t leaves = most_leaves;
  if (!value.is_null()) say(value, 0, leaves, text);
  return both_ends(text, room);
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return same_letters(name, one); });
}

// "Planner (thought)", or a JSON object, with or without a title.
bool is_notes(std::string_view agent, std::string_view text) {
  if (agent.find("(thought") != std::string_view::npos) return true;
  text = trimmed(text.substr(0, 64));
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos && colon < 40) {
    const std::string_view rest = trimmed(text.substr(colon + 1));
    if (text.find_first_of("{\"") > colon && !rest.empty()) text = rest;
  }
  return !text.empty() && text.front() == '{';
}

bool is_giver(std::string_view agent) {
  return is_one_of(agent, {"user", "human", "customer", "client", "caller"});
}

bool calls_tool(const Step& step) { return step.tool_called && !step.tool_called->empty(); }

Part part_of(const Step& step, std::string_view text) {
  if (calls_tool(step)) return step.tool_input.is_null() ? Part::result : Part::call;
  if (is_one_of(agent_of(step), {"system", "developer"})) return Part::rules;
  if (is_giver(agent_of(step))) return Part::giver;
  return is_notes(agent_of(step), text) ? Part::notes : Part::words;
}

}  // namespace

Talk::Talk(const ClassifierInput& input) : bytes_left_(most_bytes) {
  const std::vector<TalkStep> steps = kept_steps(input.trajectory, input.restored_steps);
  find_kind(steps);
  if (!conversation_) return;
  steps_.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t behind = std::min(steps.size() - i, last_steps_read);
    read(steps[i], bytes_left_ - std::min(bytes_left_, (behind - 1) * longest_end));
  }
  task_ = distinct_words(input.task.substr(0, longest_beginning));
  find_idle();
  find_leader();
  find_outputs();
  find_words();
}

std::vector<TalkStep> Talk::kept_steps(const Trajectory& trajectory, std::size_t oldest) {
  std::vector<TalkStep> kept;
  std::size_t index = oldest;
  const std::size_t end = std::min(trajectory.size(), oldest + first_steps_read);
  kept.reserve(std::min(trajectory.size() - oldest, first_steps_read + last_steps_read));
  for (Trajectory::Iterator it(trajectory, oldest); index < end; ++it) {
    kept.push_back({.index = index++, .step = &*it});
  }
  visit_newest_first(trajectory, end, [&](std::size_t newest, const Step& step) {
    kept.push_back({.index = newest, .step = &step});
    return kept.size() < first_steps_read + last_steps_read;
  });
  std::sort(kept.begin(), kept.end(),
            [](const TalkStep& a, const TalkStep& b) { return a.index < b.index; });
  return kept;
}

void Talk::read(TalkStep told, std::size_t most) {
  const Step& step = *told.step;
  const std::size_t room = std::min(most, longest_beginning + longest_end);
  if (calls_tool(step)) {
    told.answer = said_by(step.tool_output, room);
    if (step.error && told.answer.empty()) told.answer = both_ends(*step.error, room);
  }
  if (step.llm_output) told.text = both_ends(*step.llm_output, room);
  told.part = part_of(step, told.text);
  bytes_left_ -= std::min(bytes_left_, told.text.size() + told.answer.size());
  const std::string_view words = trimmed(told.text);
  told.brief = told.part != Part::call && words.size() < least_statement;
  told.code = told.text.find("```") != std::string::npos;
  const std::string_view tail = words.size() > 400 ? words.substr(words.size() - 400) : words;
  told.page = told.part == Part::words && shows_page(told.text);
  const bool orders = gives_order(step);
  told.idle = told.part == Part::notes || (told.part == Part::words && orders);
  told.asks = !told.code && told.part == Part::words && (orders || asks_others(tail));
  told.closes = told.part == Part::words && closes_talk(told.text);
  steps_.push_back(std::move(told));
}

void Talk::find_kind(const std::vector<TalkStep>& steps) {
  std::set<std::string_view> speakers;
  std::size_t words = 0;
  std::size_t calls = 0;
  std::size_t givings = 0;
  for (const TalkStep& told : steps) {
    const Step& step = *told.step;
    if (calls_tool(step)) {
      calls += step.tool_input.is_null() ? 0U : 1U;
      continue;
    }
    if (!step.llm_output) continue;
    const std::string_view said = *step.llm_output;
    if (trimmed(said.substr(0, longest_beginning)).empty()) continue;
    ++words;
    givings += is_giver(agent_of(step)) ? 1U : 0U;
    if (step.agent_id && speakers.size() < 2) speakers.insert(*step.agent_id);
  }
  conversation_ = speakers.size() >= 2 && 2 * words >= steps.size() && steps.size() >= 3;
  if (calls > 0 && givings >= 2) kind_ = TalkKind::in_service;
}

void Talk::find_idle() {
  std::set<std::string_view> planners;  // By their names without the bracketed part.
  for (const TalkStep& told : steps_) {
    if (told.part == Part::notes) planners.insert(plain_name(*told.step));
  }
  for (TalkStep& told : steps_) {
    if (told.part != Part::words || told.code) continue;
    told.idle = told.idle || planners.contains(plain_name(*told.step));
  }
}

void Talk::find_leader() {
  const std::optional<std::string_view> leader = is_service() ? std::nullopt : leader_of(steps_);
  if (!leader) return;
  kind_ = TalkKind::under_leader;
  std::optional<std::size_t> order;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    TalkStep& told = steps_[i];
    if (told.part == Part::giver || told.part == Part::rules) continue;
    told.idle = plain_name(*told.step) == *leader;
    if (told.idle) {
      order = i;
    } else {
      told.order = order;
    }
  }
}

void Talk::find_outputs() {
  std::optional<std::size_t> writer;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    TalkStep& told = steps_[i];
    if (told.part == Part::call) told.output = i;
    if (told.part != Part::result) {
      if (told.part != Part::rules && told.part != Part::giver) writer = i;
    } else if (writer && !steps_[*writer].output && !had_nothing_to_do(told.answer)) {
      steps_[*writer].output = i;
    }
    const bool speaks = told.part == Part::words || told.part == Part::notes ||
                        told.part == Part::call || told.part == Part::giver;
    if (speaks && !told.brief) candidates_.push_back(i);
  }
}

void Talk::find_words() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    TalkStep& told = steps_[i];
    told.words = distinct_words(told.answer.empty() ? told.text : told.text + ' ' + told.answer);
    for (const std::uint64_t word : told.words) {
      if (first_with_.try_emplace(word, i).second) ++told.fresh;
    }
    if (task_.empty() && told.part == Part::giver) task_ = told.words;
  }
}

std::optional<std::size_t> Talk::first_with(std::uint64_t word) const {
  const auto found = first_with_.find(word);
  if (found == first_with_.end()) return std::nullopt;
  return found->second;
}

}  // namespace triage::inline v0_1::detail
