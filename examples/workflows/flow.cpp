// SPDX-License-Identifier: MIT
// A flow: a draft is improved until a router lets it pass; two listeners, and one that waits for
// both. Usage: workflow_flow
#include <triage/workflow/flow.hpp>
#include <triage/workflow/run.hpp>

#include <iostream>

namespace wf = triage::workflow;

int main() {
  wf::Flow flow("post");
  flow.start("draft", [](const std::string& topic) { return topic; })
      .listen("improve", "poor",
              [](const std::string&, wf::Context& context) {
                return std::string("tea, version ") + std::to_string(context.occurrence() + 1);
              })
      .router("judge", wf::any_of({"draft", "improve"}),
              [](const std::string& text, wf::Context& context) {
                context.shared().set("text", text);
                return std::string(text.size() < 14 ? "poor" : "good");
              })
      .listen("print", "good",
              [](const std::string&, wf::Context& context) {
                return "printed " + context.shared().value("text", std::string());
              })
      .listen("mail", "good", [](const std::string&) { return std::string("mailed"); })
      .listen("done", wf::all_of({"print", "mail"}),
              [](const std::vector<std::string>& both) { return both.at(0) + ", " + both.at(1); });
  const auto workflow = flow.build();
  if (!workflow) return 1;
  const auto done = wf::WorkflowRun(workflow.value()).run("tea");
  std::cout << (done ? done.value().value().get<std::string>() : done.error().message()) << '\n';
  return done ? 0 : 1;
}
