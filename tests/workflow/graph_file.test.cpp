// SPDX-License-Identifier: MIT
// Executors and edges in a file.
#include "command_kit.hpp"

#include <string>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Json only_output(const Printed& done) {
  INFO(done.error);
  REQUIRE(done.status == 0);
  const Json outputs = Json::parse(done.out).at("outputs");
  REQUIRE(outputs.size() == 1);
  return outputs[0];
}

}  // namespace

TEST_CASE("a file of executors and edges runs as a graph, with loops that a message ends",
          "[cli][workflow]") {
  const Place place;
  // Counts its calls, and is satisfied with the third draft.
  const std::string critic = place.write("critic.py", R"(import json, os, sys
given = json.load(sys.stdin)
with open(sys.argv[1], "a") as log: log.write("ran\n")
n = len(open(sys.argv[1]).readlines())
print(json.dumps({"good": n >= 3, "round": n, "said": given["description"],
                  "heard": given["context"]["message"]}))
)");
  const std::string echo = place.write("echo.py", R"(import json, sys
given = json.load(sys.stdin)
print(json.dumps(given["context"].get("message", given["description"])))
)");
  const std::string file = place.write("review.yaml", R"(workflow: review
agents:
  echo: {command: [python3, )" + echo + R"(]}
  critic: {command: [python3, )" + critic + ", " + place.file("log") +
                                                          R"(]}
inputs: {topic: tea}
start: draft
executors:
  - {id: draft, agent: echo, description: "About {{topic}}."}
  - {id: check, agent: critic, description: Judge it.}
  - {id: left, agent: echo}
  - {id: right, agent: echo}
  - {id: both, agent: echo}
edges:
  - {from: draft, to: check}
  - {from: check, to: draft, when: {good: false}}
  - {from: check, to: left, when: {good: true}}
  - {from: left, to: right}
  - {from: [left, right], to: both}
)");
  const Printed done = place.run(file);
  const Json output = only_output(done);
  CHECK(output.at("executor") == "both");
  CHECK(output.at("output").size() == 2);
  CHECK(output.at("output")[0].at("round") == 3);
  CHECK(place.run(file).out == done.out);
  CHECK(place.lines("log") == 3);
  CHECK_THAT(run_program({TRIAGE_COMMAND, "workflow", "run", file, "--check"}).out,
             ContainsSubstring("5 executors"));
}

TEST_CASE("with --json every line that a workflow tells is one of JSON", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("w.yaml", R"(workflow: w
agents: {good: {command: [echo, "1"]}, bad: {command: ["false"]}}
start: a
executors: [{id: a, agent: good}, {id: b, agent: bad}]
edges: [{from: a, to: b}]
)");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {TRIAGE_COMMAND, "workflow", "run", file, "--store",
                               place.file("runs.db"), "--json"});
    return run_program(more);
  };
  const auto events = [](const Printed& printed) {
    std::vector<std::string> found;
    std::istringstream lines(printed.error);
    for (std::string line; std::getline(lines, line);) {
      const Json event = Json::parse(line, nullptr, false);
      REQUIRE(event.is_object());
      found.push_back(event.at("event"));
    }
    return found;
  };
  const Printed failed = run({"--run", "one"});
  CHECK(Json::parse(failed.out).is_object());
  CHECK(events(failed) == std::vector<std::string>{"executor_started", "executor_completed",
                                                   "executor_started", "executor_failed", "warning",
                                                   "error"});
  CHECK_THAT(failed.error, ContainsSubstring("to go on: triage workflow run"));
  // Nothing was begun, so nothing can go on.
  CHECK_THAT(run({"--run", "no id"}).error, !ContainsSubstring("to go on"));
  CHECK(Json::parse(run({"--check"}).out) ==
        Json{{"file", file}, {"sound", true}, {"executors", 2}});
}

TEST_CASE("a bad graph in a file is refused with all that is wrong", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("bad.yaml", R"(workflow: bad
agents: {a: {command: ["true"]}, b: {command: ["true"]}}
executors:
  - {id: x, agent: c}
  - {id: y, agent: a, task: z}
edges:
  - {from: [x, y], to: [x, y]}
  - {from: x, to: y, join: some}
  - {from: x, to: [x, y], when: 1}
  - {to: y}
)");
  const Printed printed = place.run(file);
  CHECK(printed.status == 2);
  for (const char* expected :
       {"executors[0].agent is \"c\"; allowed are a, b", "executors[1].task is not a known key",
        "edges[0] leads from several to several", "edges[1].join is \"some\"; allowed are all",
        "edges[2].when is 1; allowed from one", "the key \"from\" is missing",
        "the key \"start\" is missing"}) {
    CHECK_THAT(printed.error, ContainsSubstring(expected));
  }
  const std::string lost = place.write("lost.yaml", R"(workflow: w
agents: {a: {command: ["true"]}}
start: x
executors: [{id: x}, {id: y}]
)");
  CHECK_THAT(place.run(lost).error, ContainsSubstring("\"y\" cannot be reached"));
}

TEST_CASE("a graph in a file has other graphs inside, and asks people, who answer by the command",
          "[cli][workflow]") {
  const Place place;
  const std::string echo = place.write("echo.py", R"(import json, sys
given = json.load(sys.stdin)
with open(sys.argv[1], "a") as log: log.write("ran\n")
print(json.dumps([given["task"], given["context"].get("message", given["description"])]))
)");
  const std::string file = place.write("ask.yaml", R"(workflow: ask
agents: {echo: {command: [python3, )" + echo + ", " + place.file("log") +
                                                       R"(]}}
inputs: {topic: tea}
checkpoints: [task_completed, request_opened]
start: research
executors:
  - id: research
    start: search
    executors:
      - {id: search, description: "Search {{topic}}."}
      - {id: sure, ask: "How sure are you of {{topic}}?", answer: number}
      - {id: sum}
    edges:
      - {from: search, to: sure}
      - {from: sure, to: sum}
  - {id: approve, ask: "May {{topic}} be printed?", answer: boolean}
  - {id: print}
  - {id: drop}
edges:
  - {from: research, to: approve}
  - {from: approve, to: print, when: true}
  - {from: approve, to: drop, when: false}
)");
  const Printed asked = place.run(file, {"--input", "topic=coffee"});
  CHECK(asked.status != 0);
  CHECK_THAT(asked.error, ContainsSubstring("--answer research/sure/1/number/1=VALUE"));
  const Json first = Json::parse(asked.out).at("requests");
  REQUIRE(first.size() == 1);
  CHECK(first[0].at("id") == "research/sure/1/number/1");
  CHECK(first[0].at("asks").at("question") == "How sure are you of coffee?");
  CHECK(first[0].at("asks").at("message") == Json({"search", "Search coffee."}));
  const auto go_on = [&](const std::string& answer) {
    return place.run(file, {"--input", "topic=coffee", "--answer", answer});
  };
  CHECK(go_on("research/sure/1/number/1=very").status == 2);
  CHECK(go_on("research/sure/2/number/1=1").status != 0);
  const Printed next = go_on("research/sure/1/number/1=0.5");
  CHECK(Json::parse(next.out).at("requests").at(0).at("id") == "approve/1/boolean/1");
  const Printed done = go_on("approve/1/boolean/1=true");
  INFO(done.error);
  REQUIRE(done.status == 0);
  const Json document = Json::parse(done.out);
  CHECK(document.at("requests") == Json::array());
  REQUIRE(document.at("outputs").size() == 1);
  CHECK(document.at("outputs")[0].at("executor") == "print");
  CHECK(document.at("outputs")[0].at("output") == Json({"print", true}));
  CHECK(place.lines("log") == 3);
  const Printed checkpoints =
      run_program({TRIAGE_COMMAND, "checkpoint", "tree", place.file("runs.db"), "one"});
  CHECK_THAT(checkpoints.out, ContainsSubstring("  task_completed/research/search/1") &&
                                  ContainsSubstring("  request_opened/approve/1") &&
                                  !ContainsSubstring("triage/"));
}

TEST_CASE("a question in a file that nobody answers in time goes on with what is said instead",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("late.yaml", R"(workflow: late
agents: {a: {command: ["true"]}}
start: [quick, slow]
executors:
  - {id: quick, ask: "Now?", expires: 1ms, otherwise: nobody}
  - {id: slow, ask: "Later?", expires: 1000d}
)");
  Json requests;
  // The first process asks for the moment; it may continue in the same process or in the next.
  for (int go = 0; go < 3; ++go) requests = Json::parse(place.run(file).out).at("requests");
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].contains("expires_ms"));
  const Printed done = place.run(file, {"--answer", "slow/1/json/1={\"x\": 1}"});
  INFO(done.error);
  REQUIRE(done.status == 0);
  const Json outputs = Json::parse(done.out).at("outputs");
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].at("output") == "nobody");
  CHECK(outputs[1].at("output") == Json{{"x", 1}});
}

TEST_CASE("a bad question or a bad graph inside a graph is refused with its path",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("bad.yaml", R"(workflow: bad
agents: {a: {command: ["true"]}}
checkpoints: [task_complete, all]
start: x
executors:
  - {id: x, ask: "", answer: date}
  - {id: y, ask: "Why?", otherwise: 1, agent: a}
  - {id: z, start: p, executors: [{id: p, agent: b}], edges: [{from: p}], max_supersteps: 3}
  - {id: v, start: p, executors: [], ask: "Why?"}
)");
  const Printed printed = place.run(file);
  CHECK(printed.status == 2);
  for (const char* expected :
       {"executors[0].ask is \"\"", "executors[0].answer is \"date\"; allowed are json, text",
        "executors[1].agent is not a known key", "executors[1].otherwise is 1; allowed beside",
        "executors[2].executors[0].agent is \"b\"", "executors[2].edges[0]: the key \"to\"",
        "executors[2].max_supersteps is not a known key", "executors[3] has both",
        "executors[3].executors is []",
        "checkpoints has \"task_complete\"; allowed are run_started, superstep_ended"}) {
    CHECK_THAT(printed.error, ContainsSubstring(expected));
  }
  const std::string lost = place.write("lost.yaml", R"(workflow: w
agents: {a: {command: ["true"]}}
start: x
executors: [{id: x, start: p, executors: [{id: p}, {id: q}]}]
)");
  CHECK_THAT(place.run(lost).error,
             ContainsSubstring("x: ") && ContainsSubstring("\"q\" cannot be reached"));
}

TEST_CASE("a message in a file's graph says itself which executors get it", "[cli][workflow]") {
  // The output if the first executor names the next one like this.
  const auto printed =
      [](const std::string& next) {
        const Place place;
        const std::string echo = place.write("echo.py", R"(import json, sys
given = json.load(sys.stdin)
print(json.dumps({"next": json.loads(sys.argv[1])}))
)");
        return place.run(place.write("select.yaml", R"(workflow: select
agents: {echo: {command: [python3, )" + echo + ", '" + next +
                                                        R"(']}}
start: plan
executors: [{id: plan}, {id: a}, {id: b}, {id: c}]
edges:
  - {from: plan, to: [a, b, c], select: next}
)"));
      };
  const auto ran = [&](const std::string& next) {
    const Printed done = printed(next);
    INFO(done.error);
    REQUIRE(done.status == 0);
    std::string names;
    const Json document = Json::parse(done.out);
    for (const Json& one : document.at("outputs")) {
      names += one.at("executor").get<std::string>();
    }
    return names;
  };
  CHECK(ran(R"("b")") == "b");
  CHECK(ran(R"(["c", "a"])") == "ac");
  CHECK(ran("[]").empty());
  const Printed stranger = printed(R"("d")");
  CHECK(stranger.status != 0);
  CHECK_THAT(stranger.error, ContainsSubstring("does not lead to \"d\"; its targets are a, b, c"));
  CHECK_THAT(printed("null").error, ContainsSubstring("does not lead to \"null\""));

  const Place place;
  const std::string bad = place.write("bad.yaml", R"(workflow: bad
agents: {a: {command: ["true"]}}
start: x
executors: [{id: x}, {id: y}]
edges:
  - {from: x, to: y, select: next}
)");
  CHECK_THAT(
      place.run(bad).error,
      ContainsSubstring("edges[0].select is \"next\"; allowed from one executor to several"));
}

TEST_CASE("a second signal ends the commands of a file's run, which have not failed then",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("slow.yaml", R"(workflow: slow
agents:
  slow: {command: [sh, -c, 'echo ran >> )" + place.file("log") +
                                                        R"(; exec sleep 60']}
tasks:
  - {id: first, description: x}
  - {id: second, description: x, depends_on: [first]}
)");
  const Printed ended =
      run_program({"/bin/sh", "-c",
                   R"("$0" workflow run "$1" --store "$2" --run one --json 2> "$3.err" & pid=$!
while [ ! -s "$3" ]; do sleep 0.01; done
kill -TERM $pid
while ! grep -q "begins nothing more" "$3.err"; do sleep 0.01; done
kill -TERM $pid; wait $pid; status=$?; cat "$3.err" >&2; exit $status)",
                   TRIAGE_COMMAND, file, place.file("runs.db"), place.file("log")});
  INFO(ended.error);
  CHECK(ended.status != 0);
  CHECK_THAT(ended.error, !ContainsSubstring("failed:"));
  const Json document = Json::parse(ended.out);
  for (const Json& task : document.at("tasks")) {
    CHECK(task.at("status") == "skipped");
    CHECK(task.at("why") == "the workflow was aborted: interrupted");
  }
  CHECK_THAT(run_program({TRIAGE_COMMAND, "workflow", "show", place.file("runs.db"), "one"}).out,
             ContainsSubstring("Stopped     aborted: interrupted"));
}

TEST_CASE("two long conditions in a file may begin alike", "[cli][workflow]") {
  const Place place;
  const std::string same(80, 'p');
  const std::string file = place.write("alike.yaml", R"(workflow: alike
agents: {say: {command: [printf, '"%s"', )" + same + R"(2]}}
start: a
executors:
  - {id: a}
  - {id: b, agent: say}
edges:
  - {from: a, to: b, when: )" + same + R"(1}
  - {from: a, to: b, when: )" + same + R"(2}
)");
  CHECK(only_output(place.run(file)).at("executor") == "b");
}

TEST_CASE("what a workflow asks is shown to people before what it asks about", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("ask.yaml", R"(workflow: ask
agents: {say: {command: [printf, '{"from": "%0200d"}', "7"]}}
start: draft
executors:
  - {id: draft}
  - {id: approve, ask: "May it be printed?", answer: boolean}
edges:
  - {from: draft, to: approve}
)");
  const std::string store = place.file("runs.db");
  const Printed asked =
      run_program({TRIAGE_COMMAND, "workflow", "run", file, "--store", store, "--run", "one"});
  const auto shown = [&](const Printed& printed) {
    INFO(printed.out);
    CHECK_THAT(printed.out, ContainsSubstring("May it be printed? {\"message\""));
  };
  shown(asked);
  shown(run_program({TRIAGE_COMMAND, "suspended", "--store", store}));
  const Printed show = run_program({TRIAGE_COMMAND, "workflow", "show", "one", "--store", store});
  CHECK_THAT(show.out, ContainsSubstring("approve/1/boolean/1, May it be printed? {\"message\""));
}
