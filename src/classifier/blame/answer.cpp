// SPDX-License-Identifier: MIT
// Where the parts of the run's final answer were first said.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"

#include <algorithm>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

// The numbers and marked words of the last statement that has some not given with the task: the
// final answer, rather than the thanks after it.
std::vector<std::uint64_t> final_answer(const Talk& talk,
                                        const std::vector<Candidate>& candidates) {
  constexpr std::size_t most_searched = 8;
  const std::vector<std::uint64_t>& given = talk.steps()[candidates.front().position].words;
  const auto known = [&](std::uint64_t word) {
    return std::binary_search(talk.task().begin(), talk.task().end(), word) ||
           std::binary_search(given.begin(), given.end(), word);
  };
  if (talk.is_led()) {
    const auto& steps = talk.steps();
    for (std::size_t i = steps.size(); i > 0 && steps.size() - i < most_searched; --i) {
      const TalkStep& told = steps[i - 1];
      if (told.part != Part::words && told.part != Part::notes) continue;
      std::vector<std::uint64_t> answer = distinct_words(stated_answer(told.text));
      answer.erase(std::remove_if(answer.begin(), answer.end(), known), answer.end());
      if (!answer.empty()) return answer;
    }
  }
  std::size_t left = most_searched;
  for (auto it = candidates.rbegin(); it != candidates.rend() && left > 0; ++it) {
    const TalkStep& told = talk.steps()[it->position];
    if (told.part != Part::words) continue;
    --left;
    std::vector<std::uint64_t> answer = marked_words(told.text);
    answer.erase(std::remove_if(answer.begin(), answer.end(), known), answer.end());
    if (!answer.empty()) return answer;
  }
  return {};
}

// Half of what a step has goes on to the steps that first said the numbers it reckons with.
void credit_sources(const Talk& talk, std::vector<float>& said) {
  for (std::size_t i = said.size(); i-- > 1;) {
    const TalkStep& told = talk.steps()[i];
    if (said[i] == 0 || told.page) continue;
    std::vector<std::size_t> sources;
    for (const std::uint64_t number : marked_words(told.text)) {
      const auto first = talk.first_with(number);
      if (first && *first < i && talk.steps()[*first].part != Part::giver &&
          !std::binary_search(talk.task().begin(), talk.task().end(), number)) {
        sources.push_back(*first);
      }
    }
    for (const std::size_t source : sources) {
      said[source] += said[i] / 2 / static_cast<float>(sources.size());
    }
  }
}

}  // namespace

void note_answer(const Talk& talk, std::vector<Candidate>& candidates) {
  const std::vector<std::uint64_t> answer = final_answer(talk, candidates);
  if (answer.empty()) return;
  std::vector<float> said(talk.steps().size(), 0);  // Parts first said there, by position.
  for (const std::uint64_t word : answer) {
    if (const auto position = talk.first_with(word)) ++said[*position];
  }
  // The output of a step's code counts for the step that wrote the code.
  for (const Candidate& candidate : candidates) {
    const std::optional<std::size_t>& output = talk.steps()[candidate.position].output;
    if (!output || *output == candidate.position) continue;
    said[candidate.position] += said[*output];
    said[*output] = 0;
  }
  if (talk.is_led()) credit_sources(talk, said);
  const auto all = static_cast<float>(answer.size());
  for (Candidate& candidate : candidates) {
    candidate[Signal::answer] = said[candidate.position] / all;
  }
}

}  // namespace triage::inline v0_1::detail
