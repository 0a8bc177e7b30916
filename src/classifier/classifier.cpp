// SPDX-License-Identifier: MIT
#include "triage/classifier.hpp"

#include "classifier/findings.hpp"
#include "classifier/retry_after.hpp"

#include <utility>

namespace triage::inline v0_1 {
namespace {

using detail::Findings;

std::optional<Classification> told_by_caller(const Failure& failure) {
  if (!failure.type) return std::nullopt;
  Classification told;
  told.type = *failure.type;
  told.reason = failure.reason;
  told.confidence = told.type == FailureType::unknown ? 0.0 : 1.0;
  told.evidence.push_back({.source = "caller",
                           .suggests = told.type,
                           .detail = "The agent itself named the type of its failure",
                           .confidence = told.confidence});
  told.retry_after = failure.retry_after;
  return told;
}

void add_wait(const Failure& failure, Findings& findings, Classification& result) {
  detail::RetryAfter asked = detail::find_retry_after(failure);
  if (!asked.note.empty()) {
    result.evidence.push_back({.source = std::move(asked.source), .detail = std::move(asked.note)});
  }
  result.retry_after = asked.wait ? asked.wait : findings.wait_in_text;
}

Classification classify_by_rules(const ClassifierInput& input, const RulesOptions& options) {
  Findings findings;
  detail::find_facts(input, options, findings);
  detail::find_breaches(input, findings);
  if (auto told = told_by_caller(input.failure)) {
    told->critical_step = findings.critical_step;
    told->loop_steps = std::move(findings.loop_steps);
    for (detail::Finding& finding : findings.list) {
      told->evidence.push_back(std::move(finding.evidence));
    }
    add_wait(input.failure, findings, *told);
    return std::move(*told);
  }
  detail::find_hints(input, findings);
  const std::optional<Duration> wait_in_text = findings.wait_in_text;
  Classification result = detail::decide(std::move(findings));
  findings.wait_in_text = wait_in_text;
  add_wait(input.failure, findings, result);
  return result;
}

class NoClassifier final : public Classifier {
 public:
  Classification classify(const ClassifierInput& input) override {
    return told_by_caller(input.failure).value_or(Classification{});
  }
};

}  // namespace

RulesClassifier::RulesClassifier() = default;

Result<std::shared_ptr<RulesClassifier>> RulesClassifier::create(const RulesOptions& options) {
  if (options.loop_window < 2 || options.loop_window > 100) {
    return Error{Errc::invalid_argument,
                 "loop_window is " + std::to_string(options.loop_window) + "; allowed is 2 to 100"};
  }
  if (options.longest_period < 1 || options.longest_period > 64) {
    return Error{
        Errc::invalid_argument,
        "longest_period is " + std::to_string(options.longest_period) + "; allowed is 1 to 64"};
  }
  auto classifier = std::make_shared<RulesClassifier>();
  classifier->options_ = options;
  return outcome::success(std::move(classifier));
}

Classification RulesClassifier::classify(const ClassifierInput& input) {
  try {
    return classify_by_rules(input, options_);
  } catch (const std::exception&) {
    return {};  // Out of memory, in effect: not knowing is better than hiding the failure.
  }
}

const std::shared_ptr<Classifier>& no_classifier() {
  static const std::shared_ptr<Classifier> none = std::make_shared<NoClassifier>();
  return none;
}

const std::shared_ptr<Classifier>& default_classifier() {
  static const std::shared_ptr<Classifier> rules = std::make_shared<RulesClassifier>();
  return rules;
}

}  // namespace triage::inline v0_1
