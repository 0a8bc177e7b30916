// SPDX-License-Identifier: MIT
// What an executor takes or returns is stored and routed as JSON.
// expect: a message travels as JSON: give its type to_json and from_json
#include "triage/workflow/workflow.hpp"

struct Letter {
  int page = 1;
};

int main() {
  triage::workflow::WorkflowBuilder("w")
      .executor("write", [](const int& page) { return Letter{page}; })
      .executor("read", [](const Letter& letter) { return letter.page; })
      .start("write")
      .edge("write", "read");
}
