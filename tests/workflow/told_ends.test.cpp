// SPDX-License-Identifier: MIT
// What the command tells of runs of workflow files that ended otherwise than was meant.
#include "command_kit.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Printed on_run(const Place& place, std::vector<std::string> words,
               std::vector<std::string> more = {}) {
  words.insert(words.begin(), TRIAGE_COMMAND);
  words.insert(words.end(), {place.file("runs.db"), "one"});
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

}  // namespace

TEST_CASE("an answer is given again after a crash, and another one is refused with the first",
          "[cli][workflow]") {
  const Place place;
  const std::string log = place.file("log");
  const std::string file = place.write(
      "ask.yaml",
      R"(workflow: ask
agents: {slow: {command: [sh, -c, 'cat > /dev/null; echo ran >> )" +
          log + R"(; n=0; while [ ! -e )" + log +
          R"(.go ]; do n=$((n + 1)); [ $n -le 1000 ] || exit 9; sleep 0.01; done; echo 1']}}
start: q
executors: [{id: q, ask: "Go on?", answer: boolean}, {id: r}]
edges: [{from: q, to: r}]
)");
  REQUIRE(place.run(file).status == 7);
  const Printed killed = run_program(
      {"/bin/sh", "-c",
       R"("$0" workflow run "$1" --store "$2" --run one --answer q/1/boolean/1=true & pid=$!
n=0
while [ ! -s "$3" ] && [ $n -lt 1000 ]; do n=$((n + 1)); sleep 0.01; done
kill -9 $pid; wait $pid; touch "$3.go"
[ -s "$3" ] || { echo "the agent has not begun" >&2; exit 9; })",
       TRIAGE_COMMAND, file, place.file("runs.db"), log});
  INFO(killed.error);
  REQUIRE(killed.status == 0);
  // Whoever looks at it says that it has died, and how it goes on.
  CHECK_THAT(on_run(place, {"workflow", "show"}).out, ContainsSubstring("Run         one, died"));
  CHECK(Json::parse(on_run(place, {"workflow", "show"}, {"--json"}).out).at("status") == "died");
  CHECK_THAT(on_run(place, {"checkpoint", "tree"}).out, ContainsSubstring("one  died"));
  CHECK_THAT(run_program({TRIAGE_COMMAND, "resume", "--store", place.file("runs.db"), "one"}).error,
             ContainsSubstring("one of workflow \"ask\"") &&
                 ContainsSubstring("`triage workflow run FILE --run one`"));

  const Printed other = place.run(file, {"--answer", "q/1/boolean/1=false"});
  CHECK(other.status == 2);
  CHECK_THAT(other.error,
             ContainsSubstring("\"q/1/boolean/1\" has been answered before, with true") &&
                 ContainsSubstring("to go on: triage workflow run " + file) &&
                 !ContainsSubstring("--answer"));
  const Printed again = place.run(file, {"--answer", "q/1/boolean/1=true"});
  INFO(again.error);
  CHECK(again.status == 0);
  CHECK(Json::parse(again.out).at("outputs").at(0).at("output") == 1);
  CHECK_THAT(place.run(file, {"--answer", "r/1/boolean/1=true"}).error,
             ContainsSubstring("no request \"r/1/boolean/1\" waits"));
}

TEST_CASE("a task that is left out because of another neither begins nor finishes",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("left.yaml", R"(workflow: left
attempts: 2
agents: {no: {command: ["false"]}, yes: {command: [echo, "1"]}}
tasks:
  - {id: a, description: x, assignee: no}
  - {id: b, description: x, assignee: yes, depends_on: [a]}
  - {id: c, description: x, assignee: yes, depends_on: [b]}
  - {id: d, description: x, assignee: yes}
)");
  const auto told = [&] {
    return run_program({TRIAGE_COMMAND, "workflow", "run", file, "--store", place.file("runs.db"),
                        "--run", "one", "--json"})
        .error;
  };
  const auto line = [](const std::string& event, const std::string& task) {
    return ContainsSubstring("{\"event\":\"" + event + "\",\"executor\":\"" + task + "\"");
  };
  const std::string first = told();
  CHECK_THAT(first, line("executor_started", "a") && line("executor_failed", "a") &&
                        line("executor_started", "d") && line("executor_completed", "d"));
  for (const std::string task : {"b", "c"}) {
    CHECK_THAT(first, line("executor_left_out", task) && !line("executor_started", task) &&
                          !line("executor_completed", task));
  }
  CHECK_THAT(first, ContainsSubstring("b is left out: task \\\"a\\\" failed"));
  const std::size_t begins = first.find("a begins");
  CHECK(first.find("a begins", begins + 1) == std::string::npos);  // It is tried twice.
  const std::string second = told();
  CHECK_THAT(second, line("executor_left_out", "b") && line("executor_left_out", "c") &&
                         line("executor_reused", "d") && !line("executor_completed", "d"));
}

TEST_CASE("a join that waits in vain is told, and the run has finished", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("join.yaml", R"(workflow: join
agents: {one: {command: [echo, '{"x": 1}']}}
start: a
executors: [{id: a}, {id: b}, {id: c}, {id: d}]
edges:
  - {from: a, to: b, when: {x: 1}}
  - {from: a, to: c, when: {x: 2}}
  - {from: [b, c], to: d}
)");
  const Printed done = place.run(file);
  CHECK(done.status == 0);
  CHECK_THAT(done.error, ContainsSubstring("d was left waiting for c and did not get what b sent"));
  CHECK_THAT(on_run(place, {"workflow", "show"}).out,
             ContainsSubstring("Run         one, finished") &&
                 ContainsSubstring("Left waiting: d got nothing from c"));
  const Json shown = Json::parse(on_run(place, {"workflow", "show"}, {"--json"}).out);
  CHECK(shown.at("left_waiting") ==
        Json::array({{{"executor", "d"}, {"from", {"b"}}, {"waits_for", {"c"}}}}));
}

TEST_CASE("a message that does not say who gets it is a failure of its executor",
          "[cli][workflow]") {
  const auto run = [](const std::string& more, const std::string& said) {
    const Place place;
    return place.run(place.write("select.yaml", more + R"(workflow: select
agents: {says: {command: [echo, ')" + said + R"(']}}
start: a
executors: [{id: a}, {id: b}, {id: c}]
edges: [{from: a, to: [b, c], select: next}]
)"));
  };
  for (const std::string more : {"", "attempts: 2\n"}) {
    const Printed nobody = run(more, "{}");
    CHECK(nobody.status == 5);
    CHECK_THAT(nobody.error,
               ContainsSubstring("executor \"a\" has sent {}, which does not say in \"next\" who "
                                 "gets it; allowed there are b, c") &&
                   ContainsSubstring("to go on: triage workflow run") &&
                   !ContainsSubstring("null"));
    const Printed stranger = run(more, R"({"next": "z"})");
    CHECK(stranger.status == 5);
    CHECK_THAT(stranger.error, ContainsSubstring("does not lead to \"z\"; its targets are b, c") &&
                                   ContainsSubstring("to go on: triage workflow run"));
  }
}

TEST_CASE("a poisoned run says how it goes on, and goes on so", "[cli][workflow]") {
  const Place place;
  const std::string log = place.file("log");
  const std::string file = place.write(
      "dies.yaml",
      R"(workflow: dies
agents: {slow: {command: [sh, -c, 'cat > /dev/null; echo ran >> )" +
          log + R"(; n=0; while [ ! -e )" + log +
          R"(.go ]; do n=$((n + 1)); [ $n -le 1000 ] || exit 9; sleep 0.01; done; echo 1']}}
tasks: [{id: a, description: d}]
)");
  run_program({"/bin/sh", "-c",
               R"sh(i=0
while [ $i -lt 5 ]; do
  i=$((i + 1))
  "$0" workflow run "$1" --store "$2" --run one > /dev/null 2>&1 & pid=$!
  n=0
  while [ "$(cat "$3" 2> /dev/null | wc -l)" -lt $i ] && [ $n -lt 1000 ] && kill -0 $pid; do
    n=$((n + 1)); sleep 0.01
  done
  kill -9 $pid; wait $pid
done)sh",
               TRIAGE_COMMAND, file, place.file("runs.db"), log});
  place.write("log.go", "");
  const Printed refused = place.run(file);
  CHECK(refused.status == 5);
  CHECK_THAT(refused.error, ContainsSubstring("to go on: triage workflow run " + file) &&
                                ContainsSubstring("--run one --revive") &&
                                !ContainsSubstring("ResumeOptions"));
  CHECK_THAT(run_program({TRIAGE_COMMAND, "resume", "--store", place.file("runs.db"), "one"}).error,
             ContainsSubstring("`triage workflow run FILE --run one --revive`"));
  const Printed revived = place.run(file, {"--revive"});
  INFO(revived.error);
  CHECK(revived.status == 0);
}

TEST_CASE("a number that is answered reaches the next executor as it was given",
          "[cli][workflow]") {
  for (const std::string number : {"9007199254740993", "2", "2.5"}) {
    const Place place;
    const std::string file = place.write("number.yaml", R"(workflow: number
agents: {echo: {command: [cat]}}
start: q
executors: [{id: q, ask: "Which account?", answer: number}, {id: r}]
edges: [{from: q, to: r}]
)");
    REQUIRE(place.run(file).status == 7);
    CHECK(place.run(file, {"--answer", "q/1/number/1=\"text\""}).status == 2);
    const Printed done = place.run(file, {"--answer", "q/1/number/1=" + number});
    INFO(done.error);
    REQUIRE(done.status == 0);
    const Json output = Json::parse(done.out).at("outputs").at(0).at("output");
    CHECK(output.at("context").at("message").dump() == number);
  }
}

TEST_CASE("no answer is taken beside one that comes too late", "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("late.yaml", R"(workflow: late
agents: {echo: {command: [cat]}}
start: [a, b]
executors:
  - {id: a, ask: "Yes?", answer: boolean}
  - {id: b, ask: "How many?", answer: number, expires: 500ms, otherwise: 5}
  - {id: c}
edges: [{from: [a, b], to: c}]
)");
  REQUIRE(place.run(file).status == 7);
  run_program({"/bin/sh", "-c", "sleep 0.6"});
  const Printed refused =
      place.run(file, {"--answer", "a/1/boolean/1=true", "--answer", "b/1/number/1=3"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.error, !ContainsSubstring("taken are"));
  CHECK_THAT(on_run(place, {"workflow", "show"}).out,
             ContainsSubstring("Waits for an answer: a/1/boolean/1"));
}

TEST_CASE("a run at its most supersteps is no mistake of the command", "[cli][workflow]") {
  const Place place;
  const Printed printed = place.run(place.write("loop.yaml", R"(workflow: loop
agents: {echo: {command: [echo, "1"]}}
start: a
executors: [{id: a}, {id: b}]
edges: [{from: a, to: b}, {from: b, to: a}]
max_supersteps: 3
)"));
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error, ContainsSubstring("raise max_supersteps in "));
}
