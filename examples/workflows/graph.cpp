// SPDX-License-Identifier: MIT
// A graph: two researchers at once, an editor who asks a person, and a run that goes on by itself
// when this program is started again. Usage: workflow_graph FILE.db [ANSWER]
#include <triage/stores/sqlite.hpp>
#include <triage/workflow/run.hpp>

#include <iostream>

namespace wf = triage::workflow;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto look_up = [](const std::string& topic, wf::Context& context) {
    return context.effect("look up", [&] { return context.executor() + " on " + topic; });
  };
  const auto edit = [](const std::vector<std::string>& found, wf::Context& context) {
    const auto title = context.request<std::string>("title", found);
    return title + ": " + found.at(0) + ", " + found.at(1);
  };
  const auto graph = wf::WorkflowBuilder("article")
                         .port<std::string>("title")
                         .executor("topic", [](const std::string& topic) { return topic; })
                         .executor("history", look_up)
                         .executor("science", look_up)
                         .executor("editor", edit)
                         .start("topic")
                         .fan_out("topic", {"history", "science"})
                         .fan_in({"history", "science"}, "editor")
                         .build();
  const auto store = triage::SqliteStore::open(argv[1]);
  if (!graph || !store) return 1;
  wf::WorkflowRun run(graph.value(), {.run_id = "article-1", .store = store.value()});
  if (argc > 2) {
    if (auto sent = run.answer("editor/1/title/1", argv[2]); !sent) {
      std::cerr << sent.error().detail << '\n';
    }
  }
  const auto done = run.start_or_resume("tea");
  std::cout << (done ? done.value().value().dump() : done.error().message()) << '\n'
            << run.handler_calls() << " handlers were called\n";
  return done ? 0 : 7;
}
