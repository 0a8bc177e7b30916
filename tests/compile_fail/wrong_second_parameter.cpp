// SPDX-License-Identifier: MIT
// The second parameter, if any, is the attempt.
// expect: the callable must accept (const Task&) or (const Task&, triage::Attempt&)
#include "triage/agent.hpp"

#include <string>

int main() {
  triage::TriageAgent agent{[](const int& task, std::string&) { return task; },
                            triage::FailurePolicy{}};
  return agent.run(1).value();
}
