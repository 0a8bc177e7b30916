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

TEST_CASE("a dry run of a fork says that the branch may not come to what had not finished",
          "[cli][workflow]") {
  const Place place;
  REQUIRE(place
              .run(place.write("way.yaml", R"(workflow: way
agents: {echo: {command: [echo, "true"]}}
start: ask
executors: [{id: ask}, {id: yes}, {id: no}]
edges: [{from: ask, to: yes, when: true}, {from: ask, to: no, when: false}]
)"))
              .status == 0);
  const auto dry = [&](const std::string& checkpoint) {
    return run_program({TRIAGE_COMMAND, "fork", place.file("runs.db"), checkpoint, "--dry-run"});
  };
  const Json shown = Json::parse(show_one(place, {"--json"}).out);
  const Printed told = dry(shown.at("checkpoint").get<std::string>());
  INFO(told.out << told.error);
  REQUIRE(told.status == 0);
  CHECK_THAT(told.out,
             ContainsSubstring("no        may run") && ContainsSubstring("if the branch"));
  CHECK_THAT(dry("one@999").error,
             ContainsSubstring("one@999") && !ContainsSubstring("another run"));
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

TEST_CASE("a run of a file that is refused is told what would not be", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("w.yaml", R"(workflow: w
agents: {echo: {command: [echo, "1"]}}
inputs: {topic: tea, pages: 2}
tasks: [{id: a, description: "About {{topic}}."}]
)");
  CHECK_THAT(run_program({TRIAGE_COMMAND, "workflow", "run", file, "--check"}).out,
             ContainsSubstring("is sound: 1 task\n"));
  REQUIRE(place.run(file, {"--input", "topic=green tea"}).status == 0);
  const std::string command =
      "to go on: triage workflow run " + file + " --store " + place.file("runs.db") + " --run one";
  const Printed other = place.run(file, {"--input", "topic=milk"});
  CHECK(other.status == 2);
  CHECK_THAT(other.error, ContainsSubstring(command + " --input 'topic=\"green tea\"'\n") &&
                              !ContainsSubstring("--input topic=milk"));
  const std::string changed = place.write("changed.yaml", R"(workflow: w
agents: {echo: {command: [echo, "2"]}}
inputs: {topic: tea, pages: 2}
tasks: [{id: a, description: "About {{topic}}."}]
)");
  const Printed refused = place.run(changed, {"--input", "topic=green tea"});
  CHECK_THAT(refused.error, ContainsSubstring("executor a") && !ContainsSubstring("to go on") &&
                                ContainsSubstring("go on with the file as it was, or begin "
                                                  "another run with another --run") &&
                                !ContainsSubstring("WorkflowRunOptions"));
  REQUIRE(run_program({TRIAGE_COMMAND, "run", "--store", place.file("runs.db"), "--run", "sh", "--",
                       "true"})
              .status == 0);
  const Printed strange = run_program(
      {TRIAGE_COMMAND, "workflow", "run", file, "--store", place.file("runs.db"), "--run", "sh"});
  CHECK_THAT(strange.error, ContainsSubstring("not a run of a workflow") &&
                                ContainsSubstring("begin another run with another --run") &&
                                !ContainsSubstring("to go on"));
}

TEST_CASE("a branch with an edited input is run by the command that is printed",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("news.yaml", R"(workflow: news
agents: {cat: {command: [cat]}}
inputs: {topic: tea, pages: 2}
tasks: [{id: search, description: "Search for {{topic}}."}]
)");
  REQUIRE(place.run(file, {"--input", "topic=milk"}).status == 0);
  const auto branch = [&](const std::string& input, const std::string& run) {
    return run_program(
        {TRIAGE_COMMAND, "fork", place.file("runs.db"), "one@3", "--input", input, "--run", run});
  };
  const Printed made = branch("topic=coffee", "b");
  INFO(made.out << made.error);
  REQUIRE(made.status == 0);
  CHECK_THAT(made.out, ContainsSubstring("to run it: triage workflow run FILE --store " +
                                         place.file("runs.db") +
                                         " --run b --input pages=2 --input 'topic=\"coffee\"'\n"));
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{TRIAGE_COMMAND,        "workflow", "run", file,    "--store",
                                   place.file("runs.db"), "--run",    "b",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  };
  const Printed refused = run({});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.error, ContainsSubstring("--run b --input 'topic=\\\"coffee\\\"'"));
  const Printed done = run({"--input", "topic=\"coffee\""});
  INFO(done.error);
  CHECK(done.status == 0);
  CHECK_THAT(done.out, ContainsSubstring("Search for coffee."));
  CHECK(run({"--input", "topic=milk"}).status == 0);  // Those of its origin.
  const Printed misspelt = branch("topix=coffee", "c");
  CHECK(misspelt.status == 2);
  CHECK_THAT(misspelt.error,
             ContainsSubstring("--input topix is not an input of run \"one\"; allowed "
                               "are pages, topic; did you mean \"topic\"?"));
}

TEST_CASE("a branch that edits what has not finished is told what has", "[cli][workflow]") {
  const Place place;
  REQUIRE(place.run(tasks(place)).status == 0);
  const auto fork = [&](const std::string& checkpoint, const std::string& executor) {
    return run_program({TRIAGE_COMMAND, "fork", place.file("runs.db"), checkpoint, "--dry-run",
                        "--output", executor + "=1"})
        .error;
  };
  CHECK_THAT(fork("one@5", "print"),
             ContainsSubstring("\"print\", whose output is edited, has not finished at the "
                               "checkpoint; allowed are search\n"));
  CHECK_THAT(fork("one@5", "prind"),
             ContainsSubstring("does not exist; allowed are print, search, write; did you mean "
                               "\"print\"?"));
}

TEST_CASE("a graph that has reached its limit is told to raise it in the file", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("loop.yaml", R"(workflow: loop
agents: {echo: {command: [echo, "1"]}}
start: a
executors: [{id: a}, {id: b}]
edges: [{from: a, to: b}, {from: b, to: a}]
max_supersteps: 4
)");
  const Printed over = place.run(file);
  CHECK_THAT(over.error, ContainsSubstring("raise max_supersteps in " + file) &&
                             ContainsSubstring("then go on: triage workflow run"));
}

TEST_CASE("a run of a file that asks is told the request to answer", "[cli][workflow]") {
  const Place place;
  const Printed asked = place.run(questions(place));
  CHECK(asked.status == 7);
  CHECK_THAT(asked.error, ContainsSubstring(" --answer price/1/number/1=VALUE --answer "
                                            "print/1/boolean/1=VALUE\n"));
}

TEST_CASE("a misspelt {{name}} in a file is refused with the names that there are",
          "[cli][workflow]") {
  const Place place;
  const auto refused = [&](const std::string& rest, const std::string& told) {
    const Printed bad = place.run(place.write("bad.yaml", rest), {"--check"});
    CHECK(bad.status == 2);
    CHECK_THAT(bad.error, ContainsSubstring(told));
  };
  const std::string start =
      "workflow: w\nagents: {a: {command: [echo]}}\ninputs: {topic: tea, pages: 2}\n";
  const std::string allowed = "; allowed are pages, topic";
  refused(start + "tasks: [{id: a, description: 'About {{topik}}.'}]",
          "tasks[0].description has {{topik}}" + allowed + "; did you mean \"topic\"?");
  refused(start + "tasks: [{id: a, description: 'About {{ topic }}.'}]",
          "tasks[0].description has {{ topic }}" + allowed + "; did you mean \"topic\"?");
  refused(start + "start: a\nexecutors: [{id: a, description: 'About {{elephants}}.'}]",
          "executors[0].description has {{elephants}}" + allowed + "\n");
  refused(start + "start: a\nexecutors: [{id: a, ask: 'May {{topik}}?'}]",
          "executors[0].ask has {{topik}}" + allowed);
  refused("workflow: w\nagents: {a: {command: [echo]}}\ntasks: [{id: a, description: '{{x}}'}]",
          "tasks[0].description has {{x}}; the file has no inputs");
  refused(
      "workflow: w\nagents: {a: {command: [echo, '{{topic}}']}}\ninputs: {topic: tea}\n"
      "tasks: [{id: a, description: d}]",
      "agents.a.command has {{topic}}; inputs are put into descriptions and questions only");
  refused(
      "workflow: w\nagents: {a: {url: 'http://h/v1', model: m, system: 'On {{topic}}.'}}\n"
      "inputs: {topic: tea}\ntasks: [{id: a, description: d}]",
      "agents.a.system has {{topic}}; inputs are put into descriptions and questions only");
  // What cannot be a name is text, and so is what an input holds.
  const std::string file = place.write("w.yaml", R"(workflow: w
agents: {cat: {command: [cat]}, format: {command: [echo, "{{.Name}} {{json .}}"]}}
inputs: {user: "{{name}}"}
tasks: [{id: a, assignee: cat, description: "{{user}} {{}} {{.Name}} {{ a + b }} }}{{"}]
)");
  const Printed done = place.run(file);
  INFO(done.error);
  REQUIRE(done.status == 0);
  CHECK(Json::parse(done.out).at("tasks").at(0).at("output").at("description") ==
        "{{name}} {{}} {{.Name}} {{ a + b }} }}{{");
}
