// SPDX-License-Identifier: MIT
// The task's type cannot be deduced from `auto`.
// expect: use triage::make_agent<Task>(callable, policy, options)
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{[](const auto& task) { return task; }, triage::FailurePolicy{}};
  return agent.run(1).value();
}
