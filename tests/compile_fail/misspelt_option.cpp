// SPDX-License-Identifier: MIT
// Nothing can be deduced from options in braces that are wrong.
// expect: the third argument is no AgentOptions
#include "triage/agent.hpp"

int main() {
  const triage::TriageAgent agent{
      [](int task) { return task; }, triage::FailurePolicy{}, {.nam = "mine"}};
  return agent.run(1).value();
}
