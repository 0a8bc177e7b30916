// SPDX-License-Identifier: MIT
#include "command_kit.hpp"
#include "support/scripted_server.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Json output_of(const Printed& printed, const std::string& task) {
  const Json document = Json::parse(printed.out, nullptr, false);
  REQUIRE(document.is_object());
  for (const Json& one : document.at("tasks")) {
    if (one.at("id") == task) return one.at("output");
  }
  return nullptr;
}

// Records that it ran, and prints {"task", "said", "before"} as JSON.
constexpr const char* echo_script = R"(import json, sys
given = json.load(sys.stdin)
with open(sys.argv[1] + "." + given["task"], "a") as log: log.write("ran\n")
print(json.dumps({"said": given["description"], "before": given["context"],
                  "inputs": given["inputs"]}))
)";

}  // namespace

TEST_CASE("a file of tasks is run by commands and endpoints, and a second time by nobody",
          "[cli][workflow]") {
  const Place place;
  const std::string script = place.write("echo.py", echo_script);
  ScriptedServer server([](const ServerRequest& request) {
    const Json body = Json::parse(request.body);
    const Json content = "model " + body.at("model").get<std::string>() + " heard " +
                         std::to_string(body.at("messages").size()) + " messages: " +
                         body.at("messages").back().at("content").get<std::string>();
    return ServerAnswer{.body = Json{{"choices", {{{"message", {{"content", content}}}}}},
                                     {"usage", {{"prompt_tokens", 5}, {"completion_tokens", 7}}}}
                                    .dump()};
  });
  const std::string file = place.write("news.yaml", R"(workflow: news
agents:
  searcher:
    command: [python3, )" + script + ", " + place.file("log") +
                                                        R"(]
  writer:
    url: )" + server.url() + R"(/v1
    model: small
    system: You write.
inputs:
  topic: tea
  pages: 5
tasks:
  - id: search
    description: Search for {{topic}}, not for {{this one}}.
    assignee: searcher
  - id: write
    description: Write.
    assignee: writer
    depends_on: [search]
)");
  const Printed first = place.run(file, {"--input", "topic=coffee"});
  INFO(first.error);
  REQUIRE(first.status == 0);
  CHECK(output_of(first, "search") == Json{{"said", "Search for coffee, not for {{this one}}."},
                                           {"before", Json::object()},
                                           {"inputs", {{"topic", "coffee"}}}});
  CHECK_THAT(output_of(first, "write").get<std::string>(),
             ContainsSubstring("model small heard 2 messages: Write.") &&
                 ContainsSubstring("Result of \"search\"") && ContainsSubstring("coffee"));
  const Printed again = place.run(file, {"--input", "topic=coffee"});
  CHECK(again.status == 0);
  CHECK(again.out == first.out);
  CHECK(place.lines("log.search") == 1);
  CHECK(server.requests().size() == 1);
  const Printed other = place.run(file, {"--input", "topic=milk"});
  CHECK(other.status == 2);
  CHECK_THAT(other.error, ContainsSubstring("/topic"));
}

TEST_CASE("a task of a file that failed is tried again, what has finished is not",
          "[cli][workflow]") {
  const Place place;
  const std::string script = place.write("echo.py", echo_script);
  const std::string broken = place.write("broken.py", R"(import os, sys
if not os.path.exists(sys.argv[1]):
    sys.stderr.write("HTTP 503 Service Unavailable")
    sys.exit(3)
print('"well"')
)");
  const std::string file = place.write("two.yaml", R"(workflow: two
agents:
  echo: {command: [python3, )" + script + ", " + place.file("log") +
                                                       R"(]}
  broken: {command: [python3, )" + broken + ", " + place.file("mended") +
                                                       R"(]}
tasks:
  - {id: a, description: first, assignee: echo}
  - {id: b, description: second, assignee: broken, depends_on: [a]}
)");
  const Printed failed = place.run(file);
  CHECK(failed.status == 5);
  CHECK_THAT(failed.error, ContainsSubstring("503") && ContainsSubstring("--run one") &&
                               ContainsSubstring("--store " + place.file("runs.db")));
  place.write("mended", "");
  const Printed mended = place.run(file);
  CHECK(mended.status == 0);
  CHECK(output_of(mended, "b") == "well");
  CHECK(place.lines("log.a") == 1);
  // A changed task is another task.
  const std::string changed = place.write("changed.yaml", [&] {
    std::string text = read_text(file);
    return text.replace(text.find("first"), 5, "other");
  }());
  const Printed refused = place.run(changed);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.error, ContainsSubstring("executor a"));
}

TEST_CASE("a file's run that has failed goes on with more attempts and with a new task",
          "[cli][workflow]") {
  const Place place;
  const auto file = [&](const std::string& attempts, const std::string& more) {
    return place.write("some.yaml", "workflow: some\n" + attempts + R"(agents:
  yes: {command: [sh, -c, "cat >/dev/null; echo >>done; echo 1"]}
  once: {command: [sh, -c, "cat >/dev/null; test -e tried && echo 2 || { touch tried; exit 3; }"]}
tasks:
)" + more + R"(  - {id: a, description: first, assignee: yes}
  - {id: b, description: second, assignee: once, depends_on: [a]}
)");
  };
  REQUIRE(place.run(file("", "")).status == 5);
  const Printed done =
      place.run(file("attempts: 3\n", "  - {id: new, description: another, assignee: yes}\n"));
  INFO(done.error);
  CHECK(done.status == 0);
  CHECK(output_of(done, "b") == 2);
  CHECK(output_of(done, "new") == 1);
  CHECK(place.lines("done") == 2);
}

TEST_CASE("a command that takes too long is killed, and one that prints no JSON has failed",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("slow.yaml", R"(workflow: slow
agents:
  slow: {command: [sleep, "600"], timeout: 200ms}
  silent: {command: [sh, -c, "exec >&- 2>&-; exec sleep 600"], timeout: 200ms}
  talker: {command: [echo, hello]}
tasks:
  - {id: a, description: wait, assignee: slow}
  - {id: b, description: talk, assignee: talker}
  - {id: c, description: wait in silence, assignee: silent}
)");
  const Printed printed = place.run(file);
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error,
             ContainsSubstring("took longer than its timeout") && ContainsSubstring("no JSON"));
  CHECK_THAT(printed.error, ContainsSubstring("executor \"c\"") || ContainsSubstring("c: "));
}

TEST_CASE("a bad workflow file is refused with file, line, key, value and what is allowed",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("bad.yaml", R"(workflow: ""
attempts: 0
agents:
  one: {command: [], timeout: soon}
  two:
    url: ftp://x
    modell: small
  three: {command: [x], url: "http://x"}
tasks:
  - id: a
    description: 7
    assignee: tow
    context: everything
  - {id: a, description: x, assignee: one, depends_on: [b], on_failure: ignore}
)");
  const Printed printed = place.run(file);
  CHECK(printed.status == 2);
  for (const char* expected :
       {"bad.yaml: line 1: workflow is \"\"; allowed is a text",
        "line 2: attempts is 0; allowed is 1 to 1000",
        "line 4: agents.one.command is []; allowed is a program",
        "line 4: agents.one.timeout is \"soon\"; allowed is a duration",
        "line 6: agents.two.url is \"ftp://x\"; allowed is one that begins with http",
        "line 7: agents.two.modell is not a known key; allowed are url, model",
        "line 5: agents.two: the key \"model\" is missing",
        "line 8: agents.three has both a command and a url; allowed is one",
        "line 11: tasks[0].description is 7; allowed is a text",
        "line 12: tasks[0].assignee is \"tow\"; allowed are one, three, two",
        "line 13: tasks[0].context is \"everything\"; allowed are listed, all, none",
        "tasks[1].id is \"a\" twice", "tasks[1].depends_on[0] is \"b\", which does not exist",
        "tasks[1].on_failure is \"ignore\"; allowed are cascade, skip, continue"}) {
    CHECK_THAT(printed.error, ContainsSubstring(expected));
  }
  const std::string circle = place.write("circle.yaml", R"(workflow: w
agents: {a: {command: ["true"]}}
tasks:
  - {id: a, description: x, depends_on: [b]}
  - {id: b, description: x, depends_on: [a]}
)");
  CHECK_THAT(place.run(circle).error,
             ContainsSubstring("circle.yaml: line 3: tasks: ") && ContainsSubstring("circle: "));
  CHECK_THAT(place.run(place.write("no.yaml", "[")).error, ContainsSubstring("is not YAML"));
  CHECK_THAT(place.run(place.write("list.yaml", "[1]")).error,
             ContainsSubstring("the file is [1]; allowed is an object"));
  CHECK(place.run(place.file("missing.yaml")).status == 1);
}

TEST_CASE("only declared inputs can be given, and a missing key is told before anything runs",
          "[cli][workflow]") {
  const Place place;
  const std::string file = place.write("w.yaml", R"(workflow: w
agents: {m: {url: "http://127.0.0.1:1/v1", model: x, key_env: TRIAGE_TEST_NO_SUCH_KEY}}
inputs: {topic: tea}
tasks: [{id: a, description: x}]
)");
  CHECK_THAT(place.run(file).error,
             ContainsSubstring("TRIAGE_TEST_NO_SUCH_KEY (key_env) is not set"));
  const std::string plain = place.write("p.yaml", R"(workflow: w
agents: {m: {command: ["true"]}}
inputs: {topic: tea}
tasks: [{id: a, description: x}]
)");
  CHECK_THAT(place.run(plain, {"--input", "topik=x"}).error,
             ContainsSubstring("--input topik") && ContainsSubstring("topic"));
  const Printed sound = place.run(plain, {"--check"});
  CHECK(sound.status == 0);
  CHECK(Json::parse(sound.out) == Json{{"file", plain}, {"sound", true}, {"tasks", 1}});
}

TEST_CASE(
    "a fork of a workflow says what would run again, writes nothing in a dry run, and is run "
    "by its file",
    "[cli][workflow]") {
  const Place place;
  const std::string script = place.write("echo.py", echo_script);
  const std::string file = place.write("three.yaml", R"(workflow: three
agents:
  echo: {command: [python3, )" + script + ", " + place.file("log") +
                                                         R"(]}
tasks:
  - {id: search, description: search}
  - {id: other, description: other}
  - {id: write, description: write, depends_on: [search]}
)");
  REQUIRE(place.run(file).status == 0);
  const auto fork = [&](std::vector<std::string> more) {
    const Printed tree =
        run_program({TRIAGE_COMMAND, "checkpoint", "tree", place.file("runs.db"), "one", "--json"});
    const Json checkpoints = Json::parse(tree.out).at(0).at("checkpoints");
    std::vector<std::string> all{TRIAGE_COMMAND, "fork", place.file("runs.db"),
                                 checkpoints.back().at("id").get<std::string>()};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  };
  place.write("found.json", R"({"said": "edited"})");
  const std::string edit = "search=@" + place.file("found.json");
  const Printed dry = fork({"--output", edit, "--dry-run", "--json", "--run", "two"});
  INFO(dry.error);
  REQUIRE(dry.status == 0);
  std::map<std::string, std::string> branch;
  const Json preview = Json::parse(dry.out);
  for (const Json& one : preview.at("finished")) {
    branch[one.at("executor")] = one.at("branch");
  }
  CHECK(branch == std::map<std::string, std::string>{
                      {"search", "edited"}, {"other", "kept"}, {"write", "runs"}});
  const auto run_two = [&] {
    return run_program({TRIAGE_COMMAND, "workflow", "run", file, "--store", place.file("runs.db"),
                        "--run", "two", "--json"});
  };
  CHECK(run_program({TRIAGE_COMMAND, "workflow", "show", place.file("runs.db"), "two"}).status !=
        0);
  const Printed made = fork({"--output", edit, "--label", "again", "--run", "two"});
  CHECK(made.status == 0);
  CHECK_THAT(made.out, ContainsSubstring("write") && ContainsSubstring("runs again") &&
                           ContainsSubstring("--run two") &&
                           ContainsSubstring("--store " + place.file("runs.db")));
  const Printed done = run_two();
  INFO(done.error);
  CHECK(done.status == 0);
  CHECK(output_of(done, "write").at("before").at("search") == Json{{"said", "edited"}});
  CHECK(place.lines("log.write") == 2);
  CHECK(place.lines("log.other") == 1);
  CHECK(fork({"--label", "again", "--run", "three"}).status != 0);
  CHECK(fork({"--output", "nobody=1", "--dry-run"}).status == 2);
}

TEST_CASE("a run of a file that is interrupted lets its commands finish, and goes on later",
          "[cli][workflow]") {
  const Place place;
  const std::string script = place.write("slow.py", R"(import json, os, sys, time
given = json.load(sys.stdin)
with open(sys.argv[1], "a") as log: log.write(given["task"] + "\n")
while not os.path.exists(sys.argv[1] + ".go"): time.sleep(0.01)
print(json.dumps(given["task"]))
)");
  const std::string file = place.write("slow.yaml", R"(workflow: slow
agents:
  slow: {command: [python3, )" + script + ", " + place.file("log") +
                                                        R"(]}
tasks:
  - {id: first, description: x}
  - {id: second, description: x, depends_on: [first]}
)");
  const Printed stopped =
      run_program({"/bin/sh", "-c",
                   R"("$0" workflow run "$1" --store "$2" --run one --json 2> "$3.err" & pid=$!
while [ ! -s "$3" ]; do sleep 0.01; done
kill -TERM $pid
while ! grep -q "begins nothing more" "$3.err"; do sleep 0.01; done
touch "$3.go"; wait $pid; status=$?; cat "$3.err" >&2; exit $status)",
                   TRIAGE_COMMAND, file, place.file("runs.db"), place.file("log")});
  INFO(stopped.error);
  CHECK(stopped.status != 0);
  CHECK_THAT(stopped.error, ContainsSubstring("paused"));
  CHECK(place.lines("log") == 1);
  CHECK(output_of(stopped, "first") == "first");
  CHECK_THAT(run_program({TRIAGE_COMMAND, "workflow", "show", place.file("runs.db"), "one"}).out,
             ContainsSubstring("Stopped     paused"));
  const Printed done = place.run(file);
  INFO(done.error);
  CHECK(done.status == 0);
  CHECK(place.lines("log") == 2);
}

TEST_CASE("secrets that an agent prints when it fails are neither told nor stored",
          "[cli][workflow]") {
  const Place place;
  const std::string secret = "sk-ant-api03-" + std::string(40, 'Q');
  const std::string file = place.write("leaks.yaml", R"(workflow: leaks
agents:
  fails: {command: [sh, -c, 'echo "HTTP 401 for key )" + secret +
                                                         R"(" >&2; exit 1']}
  prints: {command: [sh, -c, 'echo "the key is )" + secret +
                                                         R"("']}
tasks:
  - {id: a, description: x, assignee: fails}
  - {id: b, description: x, assignee: prints}
)");
  const auto stored = [&] {
    return read_text(place.file("runs.db")) + read_text(place.file("runs.db-wal"));
  };
  const Printed failed = place.run(file);
  CHECK(failed.status == 5);
  CHECK_THAT(failed.error, ContainsSubstring("HTTP 401 for key [redacted]"));
  for (const std::string& text : {failed.out, failed.error, stored()}) {
    CHECK_THAT(text, !ContainsSubstring(secret));
  }
  const Printed as_it_is = place.run(file, {"--redact", "none"});
  CHECK_THAT(as_it_is.error, ContainsSubstring(secret) && ContainsSubstring("--redact none"));
  CHECK_THAT(stored(), ContainsSubstring(secret));
}

TEST_CASE("lists of runs do not show those that a workflow makes for its executors",
          "[cli][workflow]") {
  const Place place;
  const std::string script = place.write("echo.py", echo_script);
  const std::string file = place.write("two.yaml", R"(workflow: two
attempts: 2
agents:
  echo: {command: [python3, )" + script + ", " + place.file("log") +
                                                       R"(]}
tasks:
  - {id: search, description: search}
  - {id: write, description: write, depends_on: [search]}
)");
  REQUIRE(place.run(file).status == 0);
  const auto printed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), TRIAGE_COMMAND);
    more.push_back(place.file("runs.db"));
    const Printed done = run_program(more);
    INFO(done.error);
    REQUIRE(done.status == 0);
    return Json::parse(done.out).at("runs").size();
  };
  CHECK(printed({"runs", "--json"}) == 1);
  CHECK(printed({"runs", "--json", "--limit", "1"}) == 1);
  CHECK(printed({"runs", "--json", "--all"}) == 3);
  CHECK(printed({"checkpoint", "list", "--json"}) == 1);
  CHECK(printed({"checkpoint", "list", "--json", "--all"}) == 3);
  const Printed shown =
      run_program({TRIAGE_COMMAND, "checkpoint", "show", place.file("runs.db"), "one"});
  CHECK_THAT(shown.out,
             ContainsSubstring("2 values of the workflow") && !ContainsSubstring("triage/done"));
}
