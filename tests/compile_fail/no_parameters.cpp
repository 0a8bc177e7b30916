// SPDX-License-Identifier: MIT
// The callable's first parameter is the task.
// expect: the callable has no parameters
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{[] { return 1; }, triage::FailurePolicy{}};
  return agent.run(1).value();
}
