// SPDX-License-Identifier: MIT
// A reference may point into an attempt that is gone.
// expect: the callable returns a reference
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{[](const int& task) -> const int& { return task; },
                            triage::FailurePolicy{}};
  return agent.run(1).value();
}
