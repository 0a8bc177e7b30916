// SPDX-License-Identifier: MIT
// run() works with any task; resume_run() has to read the task back from the store.
// expect: continuing a run needs its stored task: give the task's type to_json and from_json
#include "triage/agent.hpp"

struct Task {
  int page = 1;
};

int main() {
  triage::TriageAgent agent{[](const Task& task) { return task.page; }, triage::FailurePolicy{}};
  return agent.resume_run("crawl-1").value();
}
