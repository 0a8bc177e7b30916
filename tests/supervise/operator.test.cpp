// SPDX-License-Identifier: MIT
// What an operator asks: what ran, what waits, why, and what is decided.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

Json json_of(const Printed& printed) {
  INFO(printed.out << printed.error);
  Json document = Json::parse(printed.out, nullptr, false);
  REQUIRE(document.is_object());
  return document;
}

}  // namespace

TEST_CASE("runs and explain tell what happened, and why", "[run][operator]") {
  const Workshop shop;
  CHECK(shop.run({"--run", "a", "--label", "nightly"}, {"true"}).status == 0);
  CHECK(shop.run({"--run", "b", "--max-attempts", "1"},
                 {"sh", "-c", "echo 'HTTP 503 overloaded' >&2; exit 1"})
            .status == 1);
  CHECK_THAT(shop.triage({"runs"}).out, ContainsSubstring("nightly"));
  const Json runs = json_of(shop.triage({"runs", "--json", "--status", "escalated"}));
  REQUIRE(runs["runs"].size() == 1);
  CHECK(runs["runs"][0]["id"] == "b");
  CHECK_THAT(runs["runs"][0]["what"].get<std::string>(), ContainsSubstring("sh -c"));
  const Printed told = shop.triage({"explain", "b"});
  CHECK(told.status == 0);
  CHECK_THAT(told.out, ContainsSubstring("external_fault"));
  CHECK_THAT(told.out, ContainsSubstring("    - "));
  CHECK_THAT(told.out, ContainsSubstring("limits.max_attempts (1)"));
  CHECK(json_of(shop.triage({"explain", "b", "--json"}))["attempts"] == 1);
  CHECK(shop.triage({"explain", "nobody"}).status == 1);
  CHECK(shop.triage({"runs", "--status", "odd"}).status == 2);
}

TEST_CASE("a run that waits for a decision is listed, and a token decides it once",
          "[run][operator]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json"))
      << R"({"default": {"strategy": "suspend", "message": "Look."}})";
  const Printed printed = shop.run({"--run", "r", "--policy", shop.file("p.json")},
                                   {"sh", "-c", "echo x; [ $TRIAGE_ATTEMPT -gt 1 ]"});
  CHECK(printed.status == 75);
  const std::size_t at = printed.error.find("triage decide ");
  REQUIRE(at != std::string::npos);
  const std::string token = printed.error.substr(at + 14, 64);
  const Json waiting = json_of(shop.triage({"suspended", "--json"}));
  REQUIRE(waiting["suspended"].size() == 1);
  CHECK(waiting["suspended"][0]["run"] == "r");
  CHECK(waiting["suspended"][0]["message"] == "Look.");
  CHECK(shop.triage({"decide", token, "dance"}).status == 2);
  CHECK(shop.triage({"decide", token, "retry", "go on", "--who", "ana"}).status == 0);
  CHECK(shop.triage({"decide", token, "retry"}).status == 1);
  CHECK(json_of(shop.triage({"suspended", "--json"}))["suspended"].empty());
  CHECK_THAT(shop.triage({"explain", "r"}).out, ContainsSubstring("by ana"));
}

TEST_CASE("marks that triage makes for itself are no labels of the user's", "[run]") {
  const Workshop shop;
  const std::string tells = shop.script("a", "T='" TRIAGE_COMMAND
                                             "'\n$T step x && $T checkpoint label mine || exit 1\n"
                                             "$T checkpoint label triage/yours\n[ $? = 2 ]");
  CHECK(shop.run({"--run", "r"}, {tells}).status == 0);
  const Printed some = shop.triage({"checkpoint", "list", "--run", "r"});
  CHECK_THAT(some.out, ContainsSubstring("mine"));
  const Printed shown = shop.triage({"checkpoint", "show", "r"});
  for (const char* mark : {"triage/process", "triage/acknowledged"}) {
    CHECK(some.out.find(mark) == std::string::npos);
    CHECK(shown.out.find(mark) == std::string::npos);
  }
  const Printed all = shop.triage({"checkpoint", "list", "--run", "r", "--all"});
  CHECK_THAT(all.out, ContainsSubstring("triage/process"));
  CHECK_THAT(all.out, ContainsSubstring("triage/acknowledged"));
}

TEST_CASE("two checkpoints of a run are compared, and a branch goes on from one", "[run]") {
  const Workshop shop;
  const std::string pages =
      shop.script("a", "T='" TRIAGE_COMMAND
                       "'\npage=$($T state get page || echo 0)\necho page $page\n"
                       "[ $page = 7 ] && exit 0\n$T step first && $T state set page=1 || exit 1\n"
                       "$T checkpoint label one\n$T step second && $T state set page=2 kept=yes");
  CHECK(shop.run({"--run", "r"}, {pages}).out == "page 0\n");
  const Json listed = Json::parse(
      shop.triage({"checkpoint", "list", "--run", "r", "--label", "one", "--json"}).out);
  const std::string one = listed["checkpoints"][0]["id"];
  const Printed differ = shop.triage({"checkpoint", "diff", one, "r"});
  CHECK_THAT(differ.out, ContainsSubstring("- page = 1\n+ page = 2\n"));
  CHECK_THAT(differ.out, ContainsSubstring("+ kept = \"yes\"\n"));
  CHECK_THAT(differ.out, ContainsSubstring("1 step in common\n+ step 1: second"));
  const Json told = Json::parse(shop.triage({"checkpoint", "diff", one, "r", "--json"}).out);
  CHECK(told["state"]["page"] == Json{{"a", 1}, {"b", 2}});
  CHECK(told["steps"]["common"] == 1);
  CHECK_THAT(shop.triage({"checkpoint", "diff", "r", "r"}).out, ContainsSubstring("The same"));
  CHECK(shop.triage({"checkpoint", "diff", "r", "r@999"}).status == 1);

  const Printed forked = shop.triage({"fork", one, "--set", "page=7", "--label", "b"});
  INFO(forked.error);
  CHECK(forked.status == 0);
  CHECK(forked.out == "page 7\n");
  CHECK_THAT(shop.triage({"runs", "--label", "b"}).out, ContainsSubstring("finished"));
  CHECK(shop.triage({"fork", one, "--set", "page"}).status == 2);
  CHECK(shop.triage({"fork", "nobody@1"}).status == 1);
  CHECK(run_program({TRIAGE_COMMAND, "fork", shop.store(), one, "--set", "page=7"}).status == 0);
}

TEST_CASE("doctor tells what a store guarantees, and whether it is sound", "[run]") {
  const Workshop shop;
  const Printed before = shop.triage({"doctor", "--json"});
  CHECK(before.status == 0);
  CHECK_THAT(before.out, ContainsSubstring("made by the first run"));
  CHECK(shop.run({}, {"true"}).status == 0);
  const Json told = Json::parse(shop.triage({"doctor", "--json"}).out);
  CHECK(told["sound"] == true);
  CHECK_THAT(shop.triage({"doctor"}).out, ContainsSubstring("1 run: 0 running"));
  std::ofstream(shop.store()) << std::string(10'000, 'x');
  const Printed broken = shop.triage({"doctor"});
  CHECK(broken.status == 3);
  CHECK_THAT(broken.out, ContainsSubstring("wrong"));
}

TEST_CASE("doctor does not tell the password of a store", "[run]") {
  const TempFolder folder;
  const std::string made = "sqlite://" + folder.file("app:s3cr3tPass@a.db");
  REQUIRE(run_program({TRIAGE_COMMAND, "run", "--store", made, "--", "true"}).status == 0);
  for (const std::string& store : {made, "sqlite://" + folder.file("app:s3cr3tPass@b.db"),
                                   std::string("redis://:s3cr3tPass@127.0.0.1:1")}) {
    const std::vector<std::string> doctor{TRIAGE_COMMAND, "doctor", "--store", store};
    std::vector<std::string> as_json = doctor;
    as_json.emplace_back("--json");
    for (const std::vector<std::string>& words : {doctor, as_json}) {
      const Printed told = run_program(words);
      CHECK_THAT(told.out, ContainsSubstring("version"));
      CHECK_THAT(told.out + told.error, !ContainsSubstring("s3cr3tPass"));
    }
  }
}

TEST_CASE("completions and manual pages know every command", "[run]") {
  const Workshop shop;
  const Printed help = run_program({TRIAGE_COMMAND, "--help"});
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Printed script = run_program({TRIAGE_COMMAND, "completion", shell});
    CHECK(script.status == 0);
    for (const char* word : {"resume", "checkpoint", "diff", "idle-timeout"}) {
      CHECK_THAT(script.out, ContainsSubstring(word));
    }
  }
  const Printed completed = run_program({"/usr/bin/env", "bash", "-c",
                                         "source <('" TRIAGE_COMMAND "' completion bash) && "
                                         "COMP_WORDS=(triage checkpoint d) COMP_CWORD=2 && "
                                         "_triage triage d checkpoint && echo ${COMPREPLY[0]}"});
  CHECK(completed.out == "diff\n");
  CHECK(run_program({TRIAGE_COMMAND, "completion", "csh"}).status == 2);
  CHECK(run_program({TRIAGE_COMMAND, "man", "--into", shop.file("")}).status == 0);
  CHECK_THAT(read_text(shop.file("triage-checkpoint-list.1")),
             ContainsSubstring(".SH NAME\ntriage\\-checkpoint\\-list \\- "));
  CHECK_THAT(run_program({TRIAGE_COMMAND, "man", "run"}).out, ContainsSubstring("\\-\\-timeout"));
  CHECK(run_program({TRIAGE_COMMAND, "man", "nothing"}).status == 1);
  const Printed nowhere = run_program({TRIAGE_COMMAND, "man", "--into", shop.file("nowhere")});
  CHECK(nowhere.status == 9);
  CHECK_THAT(nowhere.error, ContainsSubstring("No such file or directory"));
}

TEST_CASE("a run that waits for a signal names it wherever it is told of", "[run][operator]") {
  if (!has_python()) return;
  const Workshop shop;
  std::ofstream(shop.file("waits.py")) << R"(import sys, time
sys.path.insert(0, sys.argv[1])
import triage_client
print(triage_client.Supervisor().wait("approved by ana", time.time() + 3600)))";
  const Printed printed =
      shop.run({"--run", "r", "--max-wait", "1ms"},
               {"python3", shop.file("waits.py"), TRIAGE_SOURCE_DIR "/clients"});
  CHECK(printed.status == 75);
  CHECK_THAT(printed.error,
             ContainsSubstring("run r waits for signal \"approved by ana\", until 2") &&
                 ContainsSubstring("`triage signal send r 'approved by ana' --store " +
                                   shop.store() + "` sends it") &&
                 ContainsSubstring("`triage resume --due --store " + shop.store() + "` goes on"));
  CHECK_THAT(shop.triage({"runs"}).out, ContainsSubstring("waits for signal approved by ana"));
  const Json listed = json_of(shop.triage({"runs", "--json"}));
  CHECK(listed["runs"][0]["waits_for"].get<std::string>().starts_with(
      "signal approved by ana, until 2"));
  CHECK_THAT(shop.triage({"suspended"}).out, ContainsSubstring("signal approved by ana, until"));
  CHECK_THAT(shop.triage({"explain", "r"}).out,
             ContainsSubstring("Waits for signal approved by ana, until 2"));
  REQUIRE(shop.triage({"signal", "send", "r", "approved by ana", "\"yes\""}).status == 0);
  const Printed resumed = shop.triage({"resume", "--due"});
  INFO(resumed.error);
  CHECK(resumed.status == 0);
  CHECK(resumed.out == "yes\n");
}
