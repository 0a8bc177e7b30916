// SPDX-License-Identifier: MIT
// Bad files of workflows: each is refused before anything runs.
#include "command_kit.hpp"

#include <filesystem>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct BadFile {
  std::string text{};
  std::vector<std::string> told{};  // What is wrong: the part, its value and what is allowed.
};

// Commands run in the file's folder, so one that runs leaves a file there.
const std::string agents = "workflow: w\nagents: {a: {command: [touch, ran]}}\n";
BadFile tasks(const std::string& list, std::vector<std::string> told) {
  return {agents + "tasks: " + list + "\n", std::move(told)};
}
BadFile task(const std::string& fields, std::vector<std::string> told) {
  return tasks("[{id: x, description: d, " + fields + "}]", std::move(told));
}
BadFile agent(const std::string& fields, std::vector<std::string> told) {
  return {"workflow: w\nagents: {a: {" + fields + "}}\ntasks: [{id: x, description: d}]\n",
          std::move(told)};
}
BadFile top(const std::string& line, std::vector<std::string> told) {
  return {agents + "tasks: [{id: x, description: d}]\n" + line + "\n", std::move(told)};
}
BadFile graph(const std::string& rest, std::vector<std::string> told) {
  return {agents + rest + "\n", std::move(told)};
}
BadFile edge(const std::string& fields, std::vector<std::string> told) {
  return graph("start: x\nexecutors: [{id: x}, {id: y}, {id: z}]\nedges: [{" + fields +
                   "}, {from: x, to: y}, {from: x, to: z}]",
               std::move(told));
}
BadFile asks(const std::string& fields, std::vector<std::string> told) {
  return graph("start: x\nexecutors: [{id: x, " + fields + "}]", std::move(told));
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string all;
  all.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += part;
  return all;
}

// Each alias stands for ten of the one before.
std::string aliases(int levels) {
  std::string text = "l0: &l0 [x]\n";
  for (int level = 1; level <= levels; ++level) {
    const std::string below = "*l" + std::to_string(level - 1);
    text += "l" + std::to_string(level) + ": &l" + std::to_string(level) + " [" + below +
            repeated(", " + below, 9) + "]\n";
  }
  return text;
}

void check_refused(const BadFile& bad) {
  const Place place;
  const std::string file = place.write("bad.yaml", bad.text);
  INFO(bad.text.substr(0, 500));
  const Printed printed = place.run(file);
  INFO(printed.error.substr(0, 2'000));
  CHECK(printed.status == 2);
  CHECK(printed.out.empty());
  CHECK(printed.error.size() < 100'000);
  CHECK_THAT(printed.error, ContainsSubstring("bad.yaml"));
  for (const std::string& expected : bad.told) {
    CHECK_THAT(printed.error, ContainsSubstring(expected));
  }
  CHECK_FALSE(std::filesystem::exists(place.file("ran")));
  CHECK_FALSE(std::filesystem::exists(place.file("runs.db")));
}

}  // namespace

TEST_CASE("a file that is no workflow is refused, whatever it is", "[cli][workflow][bad]") {
  const std::string deep(100'000, '[');
  for (const BadFile& bad : std::vector<BadFile>{
           {"", {"the file is null; allowed is an object with the keys workflow, agents"}},
           {"# nothing\n", {"the file is null; allowed is an object"}},
           {"7", {"the file is 7; allowed is an object"}},
           {"text", {"the file is \"text\"; allowed is an object"}},
           {"[1, 2]", {"the file is [1,2]; allowed is an object"}},
           {"{}", {"agents is missing", "tasks is missing", "\"workflow\" is missing"}},
           {"workflow: [", {"line 1", "is not YAML"}},
           {"a: b: c", {"line 1", "is not YAML"}},
           {"\tworkflow: w", {"is not YAML"}},
           {"workflow: w\nworkflow: v\n", {"line 2", "key \"workflow\" twice", "each key once"}},
           {"workflow: w\n---\nworkflow: v\n", {"a second document begins; allowed is one"}},
           {"workflow: !!binary aGk=\n", {"line 1", "the tag", "no tags are allowed"}},
           {"? [a]\n: b\n", {"a key that is not text"}},
           {"workflow: *nobody\n", {"is not YAML"}},
           {"workflow: &w [*w]\n", {"bad.yaml: line 1"}},
           {deep, {"is not YAML"}},
           {"a: " + std::string(300, '[') + std::string(300, ']'), {"deeper than 256 levels"}},
           {aliases(9), {"more than 100000 values, the most that is allowed"}},
           {std::string("workflow: \"\xff\xfe\"\n"),
            {"line 1", "not UTF-8, which alone is allowed"}},
           {std::string("workflow: w\0x", 13), {"bad.yaml: "}},
           {std::string("\x7f"
                        "ELF\x02\x01\x01\0\0\0",
                        10),
            {"bad.yaml: "}},
           {"#" + std::string(17U << 20U, 'x'), {"more than 16 MB, the most that is allowed"}},
       }) {
    check_refused(bad);
  }
}

TEST_CASE(
    "a wrong value at any key of a file is refused with the key, the value and what is allowed",
    "[cli][workflow][bad]") {
  for (const BadFile& bad : std::vector<BadFile>{
           top("name: w", {"line 4: name is not a known key; allowed are workflow, attempts"}),
           top("workflow:", {"line 4", "twice"}),
           {"workflow: 7\nagents: {a: {command: [touch, ran]}}\ntasks: [{id: x, description: d}]",
            {"line 1: workflow is 7; allowed is a text"}},
           {"workflow: a b\nagents: {a: {command: [touch, ran]}}\ntasks: [{id: x, description: d}]",
            {"id \"a b\"", "A-Z a-z 0-9"}},
           {"workflow: triage\nagents: {a: {command: [touch, ran]}}\ntasks: [{id: x, description: "
            "d}]",
            {"\"triage\""}},
           top("attempts: 0", {"attempts is 0; allowed is 1 to 1000"}),
           top("attempts: -1", {"attempts is -1; allowed is 1 to 1000"}),
           top("attempts: 1.5", {"attempts is 1.5; allowed is 1 to 1000"}),
           top("attempts: 99999999999999999999999",
               {"line 4: the workflow has the number 99999999999999999999999, which is too large"}),
           top("attempts: 1e999", {"attempts is \"1e999\"; allowed is 1 to 1000"}),
           top("attempts: .nan",
               {"line 4: the workflow has the number .nan, which JSON does not have"}),
           top("attempts: NaN", {"attempts is \"NaN\"; allowed is 1 to 1000"}),
           top("attempts: [1]", {"attempts is [1]; allowed is 1 to 1000"}),
           top("attempts: true", {"attempts is true; allowed is 1 to 1000"}),
           top("inputs: [topic]", {"inputs is [\"topic\"]; allowed is an object"}),
           top("inputs: tea", {"inputs is \"tea\"; allowed is an object"}),
           top("checkpoints: [task_complete]",
               {"checkpoints has \"task_complete\"; allowed are run_started, superstep_ended"}),
           top("checkpoints: all", {"checkpoints is \"all\"; allowed is a list of texts"}),
           top("checkpoints: []", {"checkpoints is empty; leave it out for the default"}),
           top("checkpoints: [1]", {"checkpoints is [1]; allowed is a list of texts"}),
           top("checkpoints: [plan_patched]", {"plan_patched", "workflow \"w\""}),
           top("max_supersteps: 5", {"max_supersteps is not a known key"}),
           {"workflow: w\ntasks: [{id: x, description: d}]\n", {"agents is missing"}},
           {"workflow: w\nagents: []\ntasks: [{id: x, description: d}]\n",
            {"agents is []; allowed is an object of at least one agent"}},
           {"workflow: w\nagents: {a: touch}\ntasks: [{id: x, description: d}]\n",
            {"agents.a is \"touch\"; allowed is an object"}},
           agent("", {"agents.a has neither a command nor a url; allowed is one of them"}),
           agent("command: [touch, ran], url: \"http://x\"", {"agents.a has both a command and"}),
           agent("command: touch ran", {"agents.a.command is \"touch ran\"; allowed is a list"}),
           agent("command: []", {"agents.a.command is []; allowed is a program"}),
           agent("command: [\"\"]", {"agents.a.command", "allowed is a program"}),
           agent("command: [1]", {"agents.a.command is [1]; allowed is a list of texts"}),
           agent("command: null", {"agents.a.command is null; allowed is a list of texts"}),
           agent("command: [no-such-program-anywhere]",
                 {"agents.a.command", "no-such-program-anywhere", "allowed"}),
           agent("command: [./missing.sh]", {"agents.a.command", "./missing.sh", "allowed"}),
           agent("command: [touch, ran], timeout: 0s",
                 {"agents.a.timeout is \"0s\"; allowed is a duration above 0"}),
           agent("command: [touch, ran], timeout: -5s", {"agents.a.timeout is \"-5s\""}),
           agent("command: [touch, ran], timeout: 30", {"agents.a.timeout is 30"}),
           agent("command: [touch, ran], timeout: 999999999d", {"agents.a.timeout", "duration"}),
           agent("command: [touch, ran], shell: true", {"agents.a.shell is not a known key"}),
           agent("url: \"ftp://x\", model: m",
                 {"agents.a.url is \"ftp://x\"; allowed is one that"}),
           agent("url: \"http://\", model: m", {"agents.a.url is \"http://\"; allowed"}),
           agent("url: \"http://a b\", model: m", {"agents.a.url is \"http://a b\"; allowed"}),
           agent("url: 7, model: m", {"agents.a.url is 7; allowed is a text"}),
           agent("url: \"http://x\"", {"agents.a: the key \"model\" is missing"}),
           agent("url: \"http://x\", model: \"\"", {"agents.a.model is \"\"; allowed is a text"}),
           agent("url: \"http://x\", model: m, max_tokens: 0",
                 {"agents.a.max_tokens is 0; allowed is 1 to 1000000"}),
           agent("url: \"http://x\", model: m, max_tokens: 1e9",
                 {"agents.a.max_tokens is 1000000000.0; allowed is 1 to 1000000"}),
           agent("url: \"http://x\", model: m, key_env: [K]",
                 {"agents.a.key_env is [\"K\"]; allowed is a text"}),
           agent("url: \"http://x\", model: m, system: {}", {"agents.a.system is {}"}),
       }) {
    check_refused(bad);
  }
}

TEST_CASE("tasks of a file that cannot be done are refused with what is wrong",
          "[cli][workflow][bad]") {
  for (const BadFile& bad : std::vector<BadFile>{
           tasks("[]", {"tasks is []; allowed is a list of at least one task"}),
           tasks("{id: x}", {"tasks is {\"id\":\"x\"}; allowed is a list of at least one task"}),
           tasks("[x]", {"tasks[0] is \"x\"; allowed is an object"}),
           tasks("[{}]", {"tasks[0]: the key \"id\" is missing", "\"description\" is missing"}),
           tasks("[{id: 1, description: d}]", {"tasks[0].id is 1; allowed is a text"}),
           tasks("[{id: x, description: \"\"}]", {"tasks[0].description is \"\""}),
           tasks("[{id: x, description: d}, {id: x, description: e}]",
                 {"tasks[0].id is \"x\" twice; allowed is each id once", "tasks[1].id is \"x\""}),
           tasks("[{id: triage/x, description: d}]", {"\"triage/x\" is reserved", "1 to 128"}),
           tasks("[{id: .x, description: d}]", {"\".x\"", "dot"}),
           tasks("[{id: " + std::string(200, 'x') + ", description: d}]", {"1 to 128"}),
           tasks("[{id: x, description: d, depends_on: [x]}, {id: y, description: d}]",
                 {"tasks[0].depends_on[0] is \"x\", the task itself; allowed are y\n"}),
           task("depends_on: [y]", {"is \"y\", which does not exist; nothing is allowed here"}),
           tasks("[{id: x, description: d, depends_on: [y]}, {id: z, description: d}]",
                 {"depends_on[0] is \"y\", which does not exist; allowed are z\n"}),
           tasks("[{id: x, description: d}, {id: y, description: d, depends_on: [x, x]}]",
                 {"tasks[1].depends_on[1] is \"x\" twice; allowed is each task once"}),
           task("depends_on: x", {"depends_on is \"x\"; allowed is a list of texts"}),
           tasks("[{id: x, description: d, depends_on: [y]}, {id: y, description: d, depends_on: "
                 "[z]}, {id: z, description: d, depends_on: [x]}]",
                 {"circle: ", "x", "y", "z"}),
           task("assignee: b", {"tasks[0].assignee is \"b\"; allowed are a"}),
           task("assignee: [a]", {"tasks[0].assignee is [\"a\"]; allowed is a text"}),
           task("context: [nobody]", {"nobody"}),
           task("context: [1]", {"tasks[0].context is [1]; allowed is a list of texts"}),
           task("context: some", {"tasks[0].context is \"some\"; allowed are listed, all, none"}),
           task("on_failure: 1", {"tasks[0].on_failure is 1; allowed are cascade, skip, continue"}),
           task("retries: 3", {"tasks[0].retries is not a known key; allowed are id, description"}),
       }) {
    check_refused(bad);
  }
}

TEST_CASE("executors and edges of a file that cannot work are refused with what is wrong",
          "[cli][workflow][bad]") {
  for (const BadFile& bad : std::vector<BadFile>{
           graph("start: x\nexecutors: []", {"executors is []; allowed is a list of at least one"}),
           graph("start: x\nexecutors: x", {"executors is \"x\"; allowed is a list"}),
           graph("start: x\nexecutors: [x]", {"executors[0] is \"x\"; allowed is an object"}),
           graph("executors: [{id: x}]", {"the key \"start\" is missing or empty"}),
           graph("start: []\nexecutors: [{id: x}]", {"\"start\" is missing or empty"}),
           graph("start: 1\nexecutors: [{id: x}]", {"start is 1; allowed is"}),
           graph("start: y\nexecutors: [{id: x}]", {"\"y\"", "allowed are"}),
           graph("start: x\nexecutors: [{id: x}, {id: x}]", {"\"x\"", "twice"}),
           graph("start: x\nexecutors: [{id: triage/x}]", {"\"triage/x\" is reserved", "1 to 128"}),
           graph("start: x\nexecutors: [{id: x}, {id: y}]", {"\"y\" cannot be reached"}),
           graph("start: x\nexecutors: [{id: x}]\ntasks: []", {"tasks is not a known key"}),
           graph("start: x\nexecutors: [{id: x}]\nmax_supersteps: 0",
                 {"max_supersteps is 0; allowed is 1 to 1000000"}),
           graph("start: x\nexecutors: [{id: x}]\nedges: {}", {"edges is {}; allowed is a list"}),
           graph("start: x\nexecutors: [{id: x}]\nedges: [{from: x, to: x}]",
                 {"edges[0] leads from x to itself", "condition"}),
           edge("from: x", {"edges[0]: the key \"to\" is missing or empty"}),
           edge("from: x, to: q", {"\"q\"", "allowed are"}),
           edge("from: q, to: x", {"\"q\"", "allowed are"}),
           edge("from: [x], to: z, join: all", {"edges[0].join is \"all\"; allowed from several"}),
           edge("from: [y, y], to: z",
                {"edges[0].from has \"y\" twice; allowed is each executor once"}),
           edge("from: [x, y], to: z, join: 0", {"edges[0].join is 0; allowed are all, any"}),
           edge("from: [x, y], to: z, join: 3", {"3", "2"}),
           edge("from: [x, y], to: z, join: .inf", {"line 5: the workflow has the number .inf"}),
           edge("from: [x, y], to: [y, z]", {"edges[0] leads from several to several"}),
           edge("from: x, to: [y, z], when: 1", {"edges[0].when is 1; allowed from one executor"}),
           edge("from: x, to: y, when: null",
                {"edges[0].when is null; allowed is any other value"}),
           edge("from: x, to: y, when:", {"edges[0].when is null; allowed is any other value"}),
           edge("from: x, to: y", {"edges[1] leads from x to y a second time; allowed is once"}),
           edge("from: x, to: y, select: next", {"edges[0].select is \"next\"; allowed from one"}),
           edge("from: x, to: [y, z], select: 1", {"edges[0].select is 1; allowed is a text"}),
           edge("from: x, to: [y, z], select: \"\"", {"edges[0].select is \"\"; allowed"}),
           edge("from: x, to: y, otherwise: z", {"edges[0].otherwise is not a known key"}),
           asks("ask: \"\"", {"executors[0].ask is \"\"; allowed is a text"}),
           asks("ask: 7", {"executors[0].ask is 7; allowed is a text"}),
           asks("ask: Why, answer: date", {"executors[0].answer is \"date\"; allowed are json"}),
           asks("ask: Why, expires: 0s", {"executors[0].expires is \"0s\"; allowed is a duration"}),
           asks("ask: Why, expires: -1d",
                {"executors[0].expires is \"-1d\"; allowed is a duration"}),
           asks("ask: Why, otherwise: 1", {"executors[0].otherwise is 1; allowed beside"}),
           asks("ask: Why, answer: boolean, expires: 1d, otherwise: maybe",
                {"executors[0].otherwise is \"maybe\"; allowed is"}),
           asks("ask: Why, answer: number, expires: 1d, otherwise: [1]",
                {"executors[0].otherwise is [1]; allowed is"}),
           asks("ask: Why, agent: a", {"executors[0].agent is not a known key"}),
           asks("start: p, executors: [{id: p}], max_supersteps: 3",
                {"executors[0].max_supersteps is not a known key"}),
           asks("start: q, executors: [{id: p}]",
                {"executors[0].start is \"q\", which does not exist; allowed are p"}),
           asks("start: p, executors: [{id: p, start: q, executors: [{id: q, agent: b}]}]",
                {"executors[0].executors[0].executors[0].agent is \"b\"; allowed are a"}),
       }) {
    check_refused(bad);
  }
}

TEST_CASE("all mistakes of a file are told at once, each at its line", "[cli][workflow][bad]") {
  check_refused({R"(workflow: "my flow"
agents:
  e: {command: [nope]}
start: zz
executors:
  - {id: "a b"}
  - {id: b}
  - {id: c}
edges:
  - {from: a b, to: nowhere}
  - {from: b, to: c, join: any}
  - {from: [b, c], to: c, join: 3}
)",
                 {"line 1: workflow: id \"my flow\" is not allowed; an id has 1 to 128 of",
                  "line 3: agents.e.command is [\"nope\"]",
                  "line 4: start is \"zz\", which does not exist; allowed are a b, b, c",
                  "line 6: executors[0].id: id \"a b\" is not allowed",
                  "line 10: edges[0].to is \"nowhere\", which does not exist",
                  "line 11: edges[1].join is \"any\"; allowed from several",
                  "line 12: edges[2].join is 3; allowed are all, any, 1 to 2"}});
  check_refused(
      {R"(workflow: .w
agents: {e: {command: [nope]}, k: {}}
tasks:
  - {id: a, description: x, assignee: e, depends_on: [b, c]}
  - {id: b, description: x, assignee: e, depends_on: [a]}
  - {id: c, description: x, assignee: e, context: [a, a]}
  - {id: c, description: x, assignee: e, depends_on: [d]}
  - {id: "", description: x, assignee: e}
)",
       {"line 1: workflow: id \".w\"", "line 2: agents.e.command",
        "line 2: agents.k has neither a command nor a url; allowed is one of them\n",
        "line 3: tasks: tasks depend on each other in a circle: a -> b -> a",
        "line 6: tasks[2].context[0] is \"a\", which it does not depend on",
        "line 6: tasks[2].context[1] is \"a\" twice", "line 7: tasks[3].id is \"c\" twice",
        "line 7: tasks[3].depends_on[0] is \"d\", which does not exist; allowed are a, b\n"}});
}

TEST_CASE("a huge file is read, or refused, in a moment", "[cli][workflow][bad]") {
  std::string wrong = agents + "tasks:\n";
  for (int i = 0; i < 12'000; ++i) {
    wrong += "  - {id: t" + std::to_string(i) + ", description: \"" + std::string(800, 'x') +
             "\", depends_on: [nobody]}\n";
  }
  check_refused({wrong,
                 {"tasks[0].depends_on[0] is \"nobody\"",
                  "there are 12000 mistakes; these are the first 100"}});

  std::string chain = agents + "tasks:\n  - {id: t0, description: d}\n";
  for (int i = 1; i < 12'000; ++i) {
    chain += "  - {id: t" + std::to_string(i) + ", description: d, depends_on: [t" +
             std::to_string(i - 1) + "]}\n";
  }
  const Place place;
  const Printed sound =
      run_program({TRIAGE_COMMAND, "workflow", "run", place.write("long.yaml", chain), "--check"});
  INFO(sound.error.substr(0, 500));
  CHECK(sound.status == 0);
  CHECK_THAT(sound.out, ContainsSubstring("12000 tasks"));
}
