// SPDX-License-Identifier: MIT
// A run that has already finished returns its recorded result.
// expect: its result must be stored: give the result's type to_json and from_json
#include "triage/agent.hpp"

struct Report {
  int pages = 0;
};

int main() {
  triage::TriageAgent agent{[](const int& task) { return Report{task}; }, triage::FailurePolicy{}};
  return agent.resume_run("crawl-1").value().pages;
}
