// SPDX-License-Identifier: MIT
#include "triage/hybrid_classifier.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

namespace triage::inline v0_1 {
namespace {

constexpr double most_trusted = 0.9;      // Second opinions are not trusted beyond this.
constexpr double highest_opinion = 0.98;  // Opinions are never certain.

Result<void> check_share(const char* name, double value, double least) {
  // Also refuses NaN.
  if (value >= least && value <= 1) return outcome::success();
  return Error{Errc::invalid_argument, std::string("band.") + name + " is " +
                                           std::to_string(value) + "; allowed is " +
                                           (least > 0 ? "0.5" : "0") + " to 1"};
}

// Bayes' rule: the base's probability updated by a witness that is equally reliable either way.
double combined(double leaning, double agreement) {
  const double believed = std::min(agreement, most_trusted);
  const double both = leaning * believed;
  const double neither = (1 - leaning) * (1 - believed);
  return both + neither > 0 ? std::min(both / (both + neither), highest_opinion) : 0;
}

Classification ask(Classifier& second, const ClassifierInput& input) {
  std::string problem = "the second opinion threw no std::exception";
  try {
    return second.classify(input);
  } catch (const std::exception& error) {
    problem = std::string("the second opinion threw: ") + error.what();
  } catch (...) {
    // The base's answer stands.
  }
  return {.evidence = {{.source = "hybrid", .detail = std::move(problem)}}};
}

std::string named(FailureType type) { return std::string(to_string(type)); }

}  // namespace

Result<std::shared_ptr<HybridClassifier>> HybridClassifier::create(
    std::shared_ptr<Classifier> base, std::shared_ptr<Classifier> second, const HybridBand& band) {
  if (base == nullptr || second == nullptr) {
    return Error{Errc::invalid_argument, std::string(base == nullptr ? "base" : "second") +
                                             " is null; allowed is a classifier"};
  }
  TRIAGE_TRYV(check_share("least_leaning", band.least_leaning, 0.5));
  TRIAGE_TRYV(check_share("least_agreement", band.least_agreement, 0));
  return outcome::success(std::shared_ptr<HybridClassifier>(
      new HybridClassifier(std::move(base), std::move(second), band)));
}

Classification HybridClassifier::classify(const ClassifierInput& input) {
  Classification result = base_->classify(input);
  const Leaning& leaning = result.leaning;
  if (result.type != FailureType::unknown || leaning.type == FailureType::unknown ||
      leaning.confidence < band_.least_leaning) {
    return result;
  }
  Classification opinion = ask(*second_, input);
  auto& evidence = result.evidence;
  const auto add_said = [&](auto place) {
    evidence.insert(place, std::make_move_iterator(opinion.evidence.begin()),
                    std::make_move_iterator(opinion.evidence.end()));
  };
  if (opinion.type == leaning.type && opinion.confidence >= band_.least_agreement) {
    result.type = leaning.type;
    result.reason = leaning.reason;
    result.confidence = combined(leaning.confidence, opinion.confidence);
    result.leaning = {};
    add_said(evidence.begin());  // It decided.
    return result;
  }
  add_said(evidence.end());
  if (opinion.type != FailureType::unknown) {
    evidence.push_back({.source = "hybrid",
                        .detail = "The second opinion is " + named(opinion.type) +
                                  ", the evidence leans to " + named(leaning.type) +
                                  ": not surely enough the same, so neither is taken"});
  }
  return result;
}

}  // namespace triage::inline v0_1
