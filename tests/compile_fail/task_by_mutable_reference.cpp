// SPDX-License-Identifier: MIT
// The next attempt needs the task as it was given.
// expect: the callable must accept (const Task&) or (const Task&, triage::Attempt&)
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{[](int& task) { return ++task; }, triage::FailurePolicy{}};
  return agent.run(1).value();
}
