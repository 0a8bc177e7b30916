// SPDX-License-Identifier: MIT
// A callable that changes itself would share its state between concurrent runs.
// expect: for a callable that changes itself use triage::per_run
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{[calls = 0](const int& task) mutable { return task + ++calls; },
                            triage::FailurePolicy{}};
  return agent.run(1).value();
}
