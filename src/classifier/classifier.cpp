// SPDX-License-Identifier: MIT
#include "triage/classifier.hpp"

#include "classifier/blame/critical_step.hpp"
#include "classifier/classify.hpp"
#include "classifier/times/retry_after.hpp"

#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {
namespace {

std::optional<Classification> told_by_caller(const ClassifierInput& input) {
  const Failure& failure = input.failure;
  if (!failure.type) return std::nullopt;
  Classification told;
  told.type = *failure.type;
  told.reason = failure.reason;
  told.confidence = told.type == FailureType::unknown ? 0.0 : 1.0;
  told.evidence.push_back({.source = "caller",
                           .suggests = told.type,
                           .detail = "The agent itself named the type of its failure",
                           .confidence = told.confidence});
  told.retry_after = detail::find_retry_after(failure, told, input.clock).wait;
  return told;
}

}  // namespace

namespace detail {

void add_wait(const ClassifierInput& input, std::optional<Duration> wait_in_text,
              Classification& result) {
  RetryAfter asked = find_retry_after(input.failure, result, input.clock);
  if (!asked.note.empty()) {
    result.evidence.push_back({.source = std::move(asked.source), .detail = std::move(asked.note)});
  }
  result.retry_after = asked.wait ? asked.wait : wait_in_text;
}

std::optional<Classification> settled_by_caller(const ClassifierInput& input,
                                                const RulesOptions& options, Findings& findings) {
  find_facts(input, options, findings);
  find_breaches(input, findings);
  auto told = told_by_caller(input);
  if (!told) return std::nullopt;
  told->critical_step = findings.critical_step;
  told->loop_steps = std::move(findings.loop_steps);
  for (Finding& finding : findings.list) {
    told->evidence.push_back(std::move(finding.evidence));
  }
  add_wait(input, findings.wait_in_text, *told);
  blame_step(input, *told);
  return told;
}

Result<void> check_options(const RulesOptions& options) {
  if (options.loop_window < 2 || options.loop_window > 100) {
    return Error{Errc::invalid_argument,
                 "loop_window is " + std::to_string(options.loop_window) + "; allowed is 2 to 100"};
  }
  if (options.longest_period < 1 || options.longest_period > 64) {
    return Error{
        Errc::invalid_argument,
        "longest_period is " + std::to_string(options.longest_period) + "; allowed is 1 to 64"};
  }
  return outcome::success();
}

}  // namespace detail

namespace {

Classification classify_by_rules(const ClassifierInput& input, const RulesOptions& options) {
  detail::Findings findings;
  if (auto told = detail::settled_by_caller(input, options, findings)) return std::move(*told);
  detail::find_hints(input, findings);
  const std::optional<Duration> wait_in_text = findings.wait_in_text;
  Classification result = detail::decide(std::move(findings));
  detail::add_wait(input, wait_in_text, result);
  detail::blame_step(input, result);
  return result;
}

class NoClassifier final : public Classifier {
 public:
  Classification classify(const ClassifierInput& input) override {
    return told_by_caller(input).value_or(Classification{});
  }
};

}  // namespace

RulesClassifier::RulesClassifier() = default;

Result<std::shared_ptr<RulesClassifier>> RulesClassifier::create(const RulesOptions& options) {
  TRIAGE_TRYV(detail::check_options(options));
  auto classifier = std::make_shared<RulesClassifier>();
  classifier->options_ = options;
  return outcome::success(std::move(classifier));
}

Classification RulesClassifier::classify(const ClassifierInput& input) {
  try {
    return classify_by_rules(input, options_);
  } catch (const std::exception&) {
    return {};  // Most likely out of memory: an unknown type is better than hiding the failure.
  }
}

const std::shared_ptr<Classifier>& no_classifier() {
  static const std::shared_ptr<Classifier> none = std::make_shared<NoClassifier>();
  return none;
}

}  // namespace triage::inline v0_1
