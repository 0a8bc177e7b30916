// SPDX-License-Identifier: MIT
// Every path returns a failure, so the compiler takes the error for the value.
// expect: write the type it returns, `-> triage::Result<T>`
#include "triage/agent.hpp"

int main() {
  triage::TriageAgent agent{
      [](const int&, triage::Attempt& attempt) { return attempt.fail({.text = "not yet"}); },
      triage::FailurePolicy{}};
  return agent.run(1).has_value() ? 0 : 1;
}
