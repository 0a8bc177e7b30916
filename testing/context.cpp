// SPDX-License-Identifier: MIT
#include "triage/testing/context.hpp"

#include <memory>

namespace triage::inline v0_1::testing {

ContextBuilder& ContextBuilder::with_history(std::vector<HistoryEntry> history) {
  context_.history = std::move(history);
  return *this;
}

ContextBuilder& ContextBuilder::after(int count, RecoveryAction::Kind action) {
  return after(count, context_.type(), action);
}

ContextBuilder& ContextBuilder::after(int count, FailureType type, RecoveryAction::Kind action) {
  for (int i = 0; i < count; ++i) context_.history.push_back({type, action, {}});
  return *this;
}

ContextBuilder& ContextBuilder::attempt_number(int number) {
  context_.attempt_number = number;
  numbered_ = true;
  return *this;
}

ContextBuilder& ContextBuilder::reason(std::string reason) {
  context_.classification.reason = std::move(reason);
  return *this;
}

ContextBuilder& ContextBuilder::confidence(double confidence) {
  context_.classification.confidence = confidence;
  return *this;
}

ContextBuilder& ContextBuilder::evidence(Evidence evidence) {
  context_.classification.evidence.push_back(std::move(evidence));
  return *this;
}

ContextBuilder& ContextBuilder::retry_after(Duration wait) {
  context_.classification.retry_after = wait;
  return *this;
}

ContextBuilder& ContextBuilder::step(Step step) {
  context_.trajectory.append(std::move(step));
  return *this;
}

ContextBuilder& ContextBuilder::critical_step(std::size_t index) {
  context_.classification.critical_step = index;
  return *this;
}

ContextBuilder& ContextBuilder::task(std::string task) {
  context_.task = std::move(task);
  return *this;
}

ContextBuilder& ContextBuilder::text(std::string text) {
  context_.text = std::move(text);
  return *this;
}

ContextBuilder& ContextBuilder::elapsed(Duration elapsed) {
  context_.elapsed = elapsed;
  return *this;
}

ContextBuilder& ContextBuilder::remaining(Duration remaining) {
  context_.remaining = remaining;
  return *this;
}

ContextBuilder& ContextBuilder::random(double number) {
  context_.random = number;
  return *this;
}

ContextBuilder& ContextBuilder::usage(Usage usage) {
  context_.usage = usage;
  return *this;
}

ContextBuilder& ContextBuilder::tools(std::vector<std::string> names) {
  context_.tools = std::move(names);
  return *this;
}

ContextBuilder& ContextBuilder::contract(AgentContract contract) {
  context_.tools.clear();
  for (const ToolContract& tool : contract.tools) context_.tools.push_back(tool.name);
  context_.contract = std::make_shared<const AgentContract>(std::move(contract));
  return *this;
}

ContextBuilder& ContextBuilder::incomplete_subgoal(std::string subgoal) {
  context_.incomplete_subgoal = std::move(subgoal);
  return *this;
}

FailureContext ContextBuilder::build() const {
  FailureContext context = context_;
  if (!numbered_) context.attempt_number = static_cast<int>(context.history.size()) + 1;
  return context;
}

}  // namespace triage::inline v0_1::testing
