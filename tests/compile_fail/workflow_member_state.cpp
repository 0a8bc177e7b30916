// SPDX-License-Identifier: MIT
// An executor with data members and no hooks would lose them at the first checkpoint.
// expect: this executor has data members, which a checkpoint would lose
#include "triage/workflow/workflow.hpp"

struct Counter {
  int count = 0;
  int operator()(const int& n) { return count += n; }
};

int main() { triage::workflow::WorkflowBuilder("w").executor("count", Counter{}).start("count"); }
