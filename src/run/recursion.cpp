// SPDX-License-Identifier: MIT
// Detects agents that start each other with the same tasks, each within the other's attempt, before
// the stack overflows.
#include "run/run.hpp"

namespace triage::inline v0_1::detail {
namespace {

// Repetitions that count as a loop: RulesOptions::loop_window.
constexpr std::size_t most_turns = 3;

// A task that does not specify any work.
bool says_nothing(std::string_view task) {
  return task.empty() || task == "null" || task == "{}" || task == "[]";
}

}  // namespace

std::optional<Failure> Run::find_recursion() const {
  const auto same_agent = [&](const Run& above) {
    return &above.core_ == &core_ || (core_.options.name != AgentOptions().name &&
                                      above.core_.options.name == core_.options.name);
  };
  std::size_t turns = 1;
  try {
    std::optional<std::string> mine;  // Computed when first compared.
    for (const Attempt* up = options_.parent; up != nullptr; up = up->run_->options_.parent) {
      const Run& above = *up->run_;
      if (!same_agent(above)) continue;
      if (!mine) mine = call_.table->task_text(call_.frame);
      if (says_nothing(*mine)) return std::nullopt;
      if (above.call_.table->task_text(above.call_.frame) == *mine) ++turns;
    }
  } catch (...) {
    return std::nullopt;  // Without a text it cannot be compared.
  }
  if (turns < most_turns) return std::nullopt;
  return Failure{.text = "agents start one another in a circle: the agent \"" + core_.options.name +
                         "\" was given the same task " + std::to_string(most_turns) +
                         " times, each within an attempt at the one before",
                 .type = FailureType::loop_detected,
                 .reason = "agents_in_a_circle"};
}

}  // namespace triage::inline v0_1::detail
