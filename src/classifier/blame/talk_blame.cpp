// SPDX-License-Identifier: MIT
#include "classifier/blame/talk_blame.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace triage::inline v0_1::detail {
namespace {

// Below this the candidates are indistinguishable; of many, less is enough.
constexpr double least_confidence = 0.12;
constexpr double least_advantage = 2.5;  // Over a candidate at random.
constexpr std::size_t most_others = 2;

std::string_view reason_for(Signal signal) {
  switch (signal) {
    case Signal::off_task: return "it hands over something else than the task";
    case Signal::raised:
    case Signal::first_raised: return "what it wrote raised an error";
    case Signal::assumes: return "it goes on with what is assumed or made up";
    case Signal::by_hand: return "it wants done by hand what a tool should do";
    case Signal::claims: return "it states something that nothing was run for";
    case Signal::answer: return "what the run answers was said here first";
    case Signal::first_change: return "it is the first call that changes something";
    case Signal::states: return "it reports a result in its own words";
    case Signal::searches: return "it shows what a search found instead of opening it";
    case Signal::futile: return "its order left nothing to do";
    default: return "it stands where such runs most often go wrong";
  }
}

std::string_view main_reason(const Candidate& candidate,
                             const std::array<float, signal_count>& weights) {
  std::size_t best = 0;
  float most = 0;
  for (std::size_t i = 0; i < signal_count; ++i) {
    const auto signal = static_cast<Signal>(i);
    if (signal == Signal::order || signal == Signal::raised_before) continue;  // Mere position.
    const float part = candidate.signals[i] * weights[i];
    if (part <= most) continue;
    most = part;
    best = i;
  }
  return most > 0 ? reason_for(static_cast<Signal>(best)) : reason_for(Signal::order);
}

}  // namespace

std::vector<Candidate> weigh_candidates(const Talk& talk, const AgentContract* contract) {
  std::vector<Candidate> candidates;
  candidates.reserve(talk.candidates().size());
  for (const std::size_t position : talk.candidates()) {
    const bool giver = talk.steps()[position].part == Part::giver;
    if (giver && !talk.is_service()) continue;  // The task itself.
    candidates.push_back({.position = position});
  }
  if (candidates.empty()) return candidates;
  note_handover(talk, candidates);
  note_outputs(talk, candidates);
  note_wording(talk, candidates);
  note_claims(talk, candidates);
  note_answer(talk, candidates);
  note_orders(talk, candidates);
  note_changes(talk, contract, candidates);
  return candidates;
}

std::vector<double> likelihoods(const std::vector<Candidate>& candidates,
                                const std::array<float, signal_count>& weights, double sharpness) {
  std::vector<double> scores;
  scores.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    scores.push_back(sharpness * std::inner_product(candidate.signals.begin(),
                                                    candidate.signals.end(), weights.begin(), 0.0));
  }
  const double most = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - most);
  for (double& score : scores) score /= total;
  return scores;
}

std::optional<TalkGuess> guess_in_talk(const ClassifierInput& input) {
  const Talk talk(input);
  if (!talk.is_conversation()) return std::nullopt;
  const std::vector<Candidate> candidates = weigh_candidates(talk, input.contract);
  if (candidates.empty()) return std::nullopt;
  const TalkWeights& learnt = built_in_talk_weights(talk.kind());
  const std::vector<double> likely = likelihoods(candidates, learnt.of, learnt.sharpness);
  std::vector<std::size_t> ranked(candidates.size());
  std::iota(ranked.begin(), ranked.end(), std::size_t{0});
  const std::size_t kept = std::min(ranked.size(), most_others + 1);
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                    ranked.end(), [&](std::size_t a, std::size_t b) {
                      return likely[a] != likely[b] ? likely[a] > likely[b] : a < b;
                    });
  const double at_random = 1.0 / static_cast<double>(candidates.size());
  if (likely[ranked.front()] < std::min(least_confidence, least_advantage * at_random)) {
    return std::nullopt;
  }
  const auto step_of = [&](std::size_t i) {
    return talk.steps()[candidates[ranked[i]].position].index;
  };
  TalkGuess guess{.step = step_of(0),
                  .confidence = likely[ranked.front()],
                  .why = main_reason(candidates[ranked.front()], learnt.of)};
  for (std::size_t i = 1; i < kept; ++i) guess.others.push_back(step_of(i));
  return guess;
}

bool guess_step(const ClassifierInput& input, Classification& result) {
  const std::optional<TalkGuess> guess = guess_in_talk(input);
  if (!guess) return false;
  result.critical_step = guess->step;
  result.critical_step_confidence = guess->confidence;
  Evidence told{.source = "critical_step",
                .detail = "Step " + std::to_string(guess->step) +
                          " may be to blame: " + std::string(guess->why),
                .confidence = guess->confidence,
                .step = guess->step};
  for (const std::size_t other : guess->others) {
    told.facts.emplace_back("else", std::to_string(other));
  }
  result.evidence.push_back(std::move(told));
  return true;
}

}  // namespace triage::inline v0_1::detail
