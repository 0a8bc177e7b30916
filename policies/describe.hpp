// SPDX-License-Identifier: MIT
#pragma once
// Builds the description of a strategy and collects problems with its options. Private.

#include "triage/policies/duration.hpp"
#include "triage/policy.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::detail {

// Quoted and escaped, so that different texts never look the same: fingerprints depend on it.
[[nodiscard]] std::string quoted(std::string_view text);
// The shortest text that reads back as the same number.
[[nodiscard]] std::string shortest(double number);
// The escalation of a strategy that has run out: "retry_with_backoff", the failure type, the limit.
[[nodiscard]] RecoveryAction exhausted(std::string_view strategy, const FailureContext& context,
                                       std::string_view limit, int value);

// name(key=value, …); every option is listed, so that equal descriptions mean equal strategies.
class StrategyBuilder {
 public:
  explicit StrategyBuilder(std::string_view name) : text_(std::string(name) + "(") {}

  StrategyBuilder& option(std::string_view key, const std::string& rendered) {
    if (!first_) text_ += ", ";
    first_ = false;
    text_ += std::string(key) + (key.empty() ? "" : "=") + rendered;
    return *this;
  }
  // Keeps only the first problem, because the others often follow from it.
  StrategyBuilder& require(bool holds, std::string_view key, const std::string& value,
                           std::string_view allowed) {
    if (!holds && problem_.empty()) {
      problem_ = std::string(key) + " is " + value + "; allowed is " + std::string(allowed);
    }
    return *this;
  }
  // Options common to most strategies, with their ranges.
  StrategyBuilder& attempts(std::string_view key, int value, int least) {
    return option(key, std::to_string(value))
        .require(value >= least, key, std::to_string(value), std::to_string(least) + " or more");
  }
  StrategyBuilder& delay(std::string_view key, Duration value) {
    return option(key, format_duration(value))
        .require(value >= Duration::zero(), key, format_duration(value), "0s or more");
  }
  StrategyBuilder& text(std::string_view key, std::string_view value) {
    return value.empty() ? *this : option(key, quoted(value));
  }
  StrategyBuilder& problem(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
    return *this;
  }

  [[nodiscard]] Strategy build(Strategy::Function decide, int max_attempts = 0) {
    if (!problem_.empty()) return Strategy::invalid(text_ + ")", std::move(problem_));
    return {text_ + ")", std::move(decide), max_attempts};
  }

 private:
  std::string text_;
  std::string problem_{};
  bool first_ = true;
};

}  // namespace triage::inline v0_1::detail
