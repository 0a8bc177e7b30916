// SPDX-License-Identifier: MIT
// The result of an effect is recorded, because the effect is not repeated.
// expect: an effect's result is stored: give its type to_json and from_json
#include "triage/agent.hpp"

struct Receipt {
  int number = 0;
};

int main() {
  triage::TriageAgent agent{[](const int& task, triage::Attempt& attempt) {
                              return attempt.effect("charge", [&] { return Receipt{task}; }).number;
                            },
                            triage::FailurePolicy{}};
  return agent.run(1).value();
}
