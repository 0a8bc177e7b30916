// SPDX-License-Identifier: MIT
// What the command tells of the runs of workflow files, and what it refuses of their arguments.
#include "command_kit.hpp"

#include <map>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Two questions, of which each waits for the other's answer to be printed.
std::string questions(const Place& place) {
  return place.write("ask.yaml", R"(workflow: ask
agents: {echo: {command: [echo, "1"]}}
inputs: {topic: tea}
start: [print, price]
executors:
  - {id: print, ask: "May {{topic}} be printed?", answer: boolean}
  - {id: price, ask: "For how much?", answer: number}
  - {id: end}
edges: [{from: [print, price], to: end}]
)");
}

std::string tasks(const Place& place) {
  return place.write("news.yaml", R"(workflow: news
agents:
  searcher: {command: [echo, '{"found": 3}']}
  writer: {command: [sh, -c, 'head -c 2000 /dev/zero | tr "\\0" x | sed "s/.*/\"&\"/"']}
inputs: {topic: tea}
tasks:
  - {id: search, description: "Search for {{topic}}.", assignee: searcher}
  - {id: write, description: Write., assignee: writer, depends_on: [search]}
  - {id: print, description: Print., assignee: searcher, depends_on: [write]}
)");
}

Printed show_one(const Place& place, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {TRIAGE_COMMAND, "workflow", "show", place.file("runs.db"), "one"});
  return run_program(more);
}

}  // namespace

TEST_CASE("show of a run of tasks tells what each of them gave, and all of it as JSON",
          "[cli][workflow]") {
  const Place place;
  REQUIRE(place.run(tasks(place)).status == 0);
  const Printed shown = show_one(place);
  INFO(shown.out);
  CHECK_THAT(shown.out, ContainsSubstring("{\"found\":3}") && ContainsSubstring("\"xxxxx") &&
                            !ContainsSubstring(std::string(300, 'x')));
  std::map<std::string, Json> outputs;
  const Json all = Json::parse(show_one(place, {"--json"}).out);
  for (const Json& one : all.at("deliveries")) {
    outputs[one.at("executor")] = one.value("task_output", Json());
  }
  CHECK(outputs["search"] == Json{{"found", 3}});
  CHECK(outputs["write"] == std::string(2'000, 'x'));
  CHECK(outputs["print"] == Json{{"found", 3}});
}

TEST_CASE("an argument that is given twice is refused with its key", "[cli][workflow]") {
  const Place place;
  const std::string file = tasks(place);
  const Printed twice = place.run(file, {"--input", "topic=tea", "--input", "topic=milk"});
  CHECK(twice.status == 2);
  CHECK_THAT(twice.error, ContainsSubstring("--input has \"topic\" twice; allowed is each once"));
  REQUIRE(place.run(file).status == 0);
  const auto fork = [&](const std::string& option, const std::string& key) {
    const Printed made = run_program({TRIAGE_COMMAND, "fork", place.file("runs.db"), "one@3",
                                      "--dry-run", option, key + "=1", option, key + "=2"});
    CHECK(made.status == 2);
    CHECK_THAT(made.error, ContainsSubstring(option + " has \"" + key + "\" twice"));
  };
  fork("--input", "topic");
  fork("--output", "search");
  fork("--set", "page");
}

TEST_CASE("of several answers none is taken if one of them is wrong", "[cli][workflow]") {
  const Place place;
  const std::string file = questions(place);
  REQUIRE(place.run(file).status == 7);
  const std::string print = "print/1/boolean/1=true";
  const auto both = [&](const std::string& other) {
    return place.run(file, {"--answer", print, "--answer", other});
  };
  CHECK_THAT(place.run(file, {"--answer", print, "--answer", print}).error,
             ContainsSubstring("--answer has \"print/1/boolean/1\" twice"));
  CHECK(both("price/1/number/1=much").status == 2);
  CHECK_THAT(both("prize/1/number/1=3").error, ContainsSubstring("prize/1/number/1"));
  const Printed shown = show_one(place, {"--json"});
  CHECK(Json::parse(shown.out).at("pending").size() == 2);
  CHECK(both("price/1/number/1=3").status == 0);
}
