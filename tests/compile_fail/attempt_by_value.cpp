// SPDX-License-Identifier: MIT
// An attempt is not a value: it is passed by reference.
// expect: the callable must accept (const Task&) or (const Task&, triage::Attempt&)
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{[](const int& task, triage::Attempt) { return task; },
                            triage::FailurePolicy{}};
  return agent.run(1).value();
}
