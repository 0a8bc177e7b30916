// SPDX-License-Identifier: MIT
#include "triage/testing/decision_table.hpp"

#include "triage/json.hpp"

#include "duration_text.hpp"

#include <exception>
#include <utility>

namespace triage::inline v0_1::testing {
namespace {

std::string quoted(const std::string& text) { return "\"" + printable(text) + "\""; }

std::string target_name(RollbackTarget::Kind kind) {
  return describe(RecoveryAction::rollback({.kind = kind}));
}

// Describes every way in which the action differs from the expected one; empty if it does not.
std::string differences(const ExpectedDecision& expected, const RecoveryAction& action) {
  std::string text;
  const auto differs = [&](const std::string& wanted) {
    text += (text.empty() ? "" : ", ") + wanted;
  };
  const auto lacks = [](const std::string& whole, const std::string& part) {
    return whole.find(part) == std::string::npos;
  };
  if (action.kind != expected.action) differs("action " + std::string(to_string(expected.action)));
  if (expected.delay && action.delay != *expected.delay)
    differs("delay " + seconds(*expected.delay));
  if (expected.delay_at_least && action.delay < *expected.delay_at_least) {
    differs("delay of at least " + seconds(*expected.delay_at_least));
  }
  if (expected.delay_at_most && action.delay > *expected.delay_at_most) {
    differs("delay of at most " + seconds(*expected.delay_at_most));
  }
  if (lacks(action.hint, expected.hint_has)) differs("hint with " + quoted(expected.hint_has));
  if (lacks(action.message, expected.message_has)) {
    differs("message with " + quoted(expected.message_has));
  }
  if (!expected.subgoal.empty() && action.subgoal != expected.subgoal) {
    differs("subgoal " + quoted(expected.subgoal));
  }
  if (expected.target && action.target.kind != *expected.target)
    differs(target_name(*expected.target));
  return text;
}

std::string context_summary(const FailureContext& context) {
  return std::string(to_string(context.type())) + ", failure " +
         std::to_string(context.occurrence()) + " of its type, attempt " +
         std::to_string(context.attempt_number);
}

// The line of one row; empty if it holds.
std::string mismatch(const DecisionRow& row, const FailurePolicy& policy) {
  const std::string where = quoted(row.name) + " (" + context_summary(row.given) + "): ";
  try {
    const RecoveryAction action = policy.decide(row.given);
    const std::string wanted = differences(row.expect, action);
    if (wanted.empty()) return {};
    return where + "expected " + wanted + "; got " + describe(action);
  } catch (const std::exception& e) {
    return where + "expected " + std::string(to_string(row.expect.action)) +
           "; got an exception: " + printable(e.what());
  } catch (...) {
    return where + "expected " + std::string(to_string(row.expect.action)) +
           "; got an exception that is not a std::exception";
  }
}

}  // namespace

DecisionTable& DecisionTable::add(DecisionRow row) {
  rows_.push_back(std::move(row));
  return *this;
}

std::vector<std::string> DecisionTable::mismatches(const FailurePolicy& policy) const {
  std::vector<std::string> lines;
  for (const DecisionRow& row : rows_) {
    std::string line = mismatch(row, policy);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string DecisionTable::report(const FailurePolicy& policy) const {
  std::string text;
  for (const std::string& line : mismatches(policy)) text += line + "\n";
  return text;
}

}  // namespace triage::inline v0_1::testing
