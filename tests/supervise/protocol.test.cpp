// SPDX-License-Identifier: MIT
// What supervised programs tell their supervisor, from shells, Python and Node.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <cstdlib>

using namespace triage;
using namespace triage::test;

namespace {

Journal journal_of(const Workshop& shop, const std::string& run) {
  const auto store = SqliteStore::open(shop.store(), {.read_only = true}).value();
  return Journal::fold(store->read(run, {}).value()).value();
}

// A script in which $T is the command.
std::string speaking(const Workshop& shop, const std::string& text) {
  return shop.script("speaks", "T='" TRIAGE_COMMAND "'\n" + text);
}

bool has(const char* program) {
  return run_program({"/bin/sh", "-c", std::string("command -v ") + program}).status == 0;
}

// Counts its attempts in the state, performs an effect, and fails in the first attempt.
constexpr const char* python_agent = R"(
import os, sys
sys.path.insert(0, os.environ["CLIENTS"])
from triage_client import NotDone, Supervisor, recovery

with Supervisor() as triage:
    tries = triage.state().get("tries", 0)
    triage.step("plan", tool_called="planner", tool_input={"tries": tries})
    triage.update_state(tries=tries + 1)
    def refuse(key):
        raise NotDone("nobody there")
    try:
        triage.effect("call", refuse)
    except NotDone:
        pass
    print(triage.effect("mail", lambda key: print("sent", len(key)) or "receipt", {"to": "ana"}))
    triage.checkpoint("sent")
    if tries == 0:
        triage.fail("HTTP 503 overloaded", status=503)
        sys.exit(1)
    print(recovery()["failure_type"], triage.once("mail2")(lambda: 7)())
)";

constexpr const char* node_agent = R"(
const { Supervisor, NotDone, recovery } = await import(process.env.CLIENTS + "/triage_client.mjs");
const triage = await Supervisor.connect();
const tries = (await triage.state()).tries ?? 0;
await triage.step("plan", { tool_called: "planner", tool_input: { tries } });
await triage.updateState({ tries: tries + 1 });
await triage.effect("call", () => { throw new NotDone("nobody there"); }).catch(() => {});
const send = (key) => { console.log("sent " + key.length); return "receipt"; };
console.log(await triage.effect("mail", send, { to: "ana" }));
await triage.checkpoint("sent");
if (tries === 0) {
  await triage.fail("HTTP 503 overloaded", { status: 503 });
  process.exit(1);
}
console.log(recovery().failure_type, 7);
triage.close();
)";

void check_client(const char* interpreter, const char* file, const char* agent) {
  if (!has(interpreter)) {
    WARN(interpreter << " is not installed");
    return;
  }
  const Workshop shop;
  std::ofstream(shop.file(file)) << agent;
  const Printed printed = shop.run({"--run", "r"}, {"env", "CLIENTS=" TRIAGE_SOURCE_DIR "/clients",
                                                    interpreter, shop.file(file)});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "sent 64\nreceipt\nreceipt\nexternal_fault 7\n");
  const Journal journal = journal_of(shop, "r");
  CHECK(journal.state().value("tries", 0) == 2);
  CHECK(journal.effect("mail").status == EffectState::Status::completed);
  CHECK(journal.effect("call").status == EffectState::Status::withdrawn);
}

}  // namespace

TEST_CASE("a shell script keeps its place and does its effect once", "[run][protocol]") {
  const Workshop shop;
  const Printed printed = shop.run({"--run", "r"}, {speaking(shop, R"(
$T step plan --tool planner --input '{"n": 1}' || exit 20
page=$($T state get page || echo 0)
$T state set page=$((page + 1)) name=ana || exit 21
$T effect mail:1 -- sh -c 'echo sent >> '$W'/mails; echo "mail sent"; exit 3'
echo "$page $?"
$T checkpoint label planned || exit 22
[ $page = 2 ] && exit 0
exit 1)")});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "mail sent\n0 3\nmail sent\n1 3\nmail sent\n2 3\n");
  CHECK(read_text(shop.file("mails")) == "sent\n");
  const Journal journal = journal_of(shop, "r");
  CHECK(journal.trajectory().size() == 1);
  CHECK(journal.trajectory()[0].tool_called == "planner");
  CHECK(journal.state().value("name", std::string()) == "ana");
  CHECK(journal.find_label("planned"));
}

TEST_CASE("a key that is not there is told from a state that cannot be read", "[run][protocol]") {
  const Workshop shop;
  const Printed printed = shop.run({"--max-attempts", "1"}, {speaking(shop, R"(
$T state set name=ana
$T state get page --default '[1]'; $T state get name --default bob; $T state get page || echo none
TRIAGE_SOCKET=/nowhere $T state get page --default 0 || echo failed)")});
  INFO(printed.error);
  CHECK(printed.out == "[1]\nana\nnone\nfailed\n");
}

TEST_CASE("an effect's output is passed on while it runs", "[run][protocol]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  // The effect ends when somebody has read its first line.
  const Printed printed =
      shop.run({"--timeout", "30s", "--max-attempts", "1"},
               {speaking(shop,
                         "$T effect k -- sh -c 'echo ready; read word < '$W'/go; echo $word' | { "
                         "read first; echo went > $W/go; echo $first; cat; }")});
  CHECK(printed.status == 0);
  CHECK(printed.out == "ready\nwent\n");
}

TEST_CASE("an effect ends with its command, and what that leaves running may print on", "[run]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  const std::string leaves =
      shop.script("leaves", "{ read go < $W/go; echo later; } &\necho started");
  const Printed printed =
      shop.run({"--timeout", "20s", "--max-attempts", "1"},
               {shop.script("a", "T='" TRIAGE_COMMAND "'\n$T effect k -- " + leaves +
                                     " > $W/out\necho next\necho go > $W/go\n"
                                     "until grep -q later $W/out; do sleep 0.02; done\ncat $W/out\n"
                                     "$T effect k -- " +
                                     leaves)});
  INFO(printed.error);
  CHECK(printed.status == 0);
  // Later calls print what the command printed itself.
  CHECK(printed.out == "next\nstarted\nlater\nstarted\n");
}

TEST_CASE("an effect whose command cannot be run is not done, and says so as shells do",
          "[run][protocol]") {
  const Workshop shop;
  const Printed printed = shop.run({"--run", "r"}, {speaking(shop, R"(
echo '#!/no/such/interpreter' > $W/script; chmod +x $W/script
$T effect k -- no-such-command-anywhere; echo $?
$T effect k -- $W; echo $?
$T effect k -- $W/script; echo $?
exit 0)")});
  CHECK(printed.out == "127\n126\n126\n");
  CHECK(journal_of(shop, "r").effect("k").status == EffectState::Status::withdrawn);
}

TEST_CASE("an effect that was cut off is in doubt, and is not done again", "[run][protocol]") {
  const Workshop shop;
  const Printed printed =
      shop.run({"--run", "r", "--max-attempts", "2"},
               {speaking(shop,
                         "echo x\n$T effect mail -- sh -c 'echo sent >> '$W'/mails; kill -KILL "
                         "$PPID'\necho status $?\nexit 1")});
  CHECK_THAT(printed.out, ContainsSubstring("status 137"));
  CHECK_THAT(printed.out, ContainsSubstring("status 5"));
  CHECK(read_text(shop.file("mails")) == "sent\n");
}

TEST_CASE("lines of the pipe are recorded in their order, and bad ones are skipped",
          "[run][protocol]") {
  const Workshop shop;
  const Printed printed =
      shop.run({"--run", "r"},
               {shop.script("a",
                            "i=0\nwhile [ $i -lt 2000 ]; do echo '{\"step\": \"s'$i'\"}'; "
                            "i=$((i + 1)); done > /dev/fd/$TRIAGE_FD\n"
                            "printf 'no json\\n[1]\\n{\"step\": 7}\\n{\"state\": 1}\\n\\377\\n' > "
                            "/dev/fd/$TRIAGE_FD\nexit 0")});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.error, ContainsSubstring("a line of the program was skipped"));
  const Journal journal = journal_of(shop, "r");
  REQUIRE(journal.trajectory().size() == 2000);
  int index = 0;
  for (const Step& step : journal.trajectory()) {
    REQUIRE(step.action == "s" + std::to_string(index++));
  }
}

TEST_CASE("a program that breaks its contract is told so, and why it failed", "[run][protocol]") {
  const Workshop shop;
  std::ofstream(shop.file("c.json")) << R"({"tools": ["fetch"], "constraints": ["secret"]})";
  const Printed printed = shop.run({"--contract", shop.file("c.json"), "--max-attempts", "1"},
                                   {speaking(shop, "$T step get --tool delete_all\nexit 1")});
  CHECK_THAT(printed.error, ContainsSubstring("wrong_tool_called (tool_not_in_manifest)"));
  std::ofstream(shop.file("wrong.json")) << R"({"tools": [{"input_schema": {}}]})";
  const Printed wrong = shop.run({"--contract", shop.file("wrong.json")}, {"true"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("contract.tools"));
  std::ofstream(shop.file("misspelt.json")) << R"({"tool": ["fetch"]})";
  const Printed misspelt = shop.run({"--contract", shop.file("misspelt.json")}, {"true"});
  CHECK(misspelt.status == 2);
  CHECK_THAT(misspelt.error, ContainsSubstring("contract.tool is not known; allowed are tools,"));
  std::ofstream(shop.file("inside.json")) << R"({"constraints": [{"patern": "secret"}]})";
  CHECK_THAT(shop.run({"--contract", shop.file("inside.json")}, {"true"}).error,
             ContainsSubstring("inside.json: contract.constraints[0].patern is not known"));
}

TEST_CASE("a budget ends the attempts of a run", "[run][protocol]") {
  const Workshop shop;
  const std::string spends = shop.script(
      "a", "echo '{\"usage\": {\"input_tokens\": 60}}' > /dev/fd/$TRIAGE_FD\necho x\nexit 1");
  const Printed printed = shop.run({"--budget", "tokens=100"}, {spends});
  CHECK(printed.out == "x\nx\n");
  CHECK_THAT(printed.error, ContainsSubstring("max_tokens"));
  for (const char* wrong : {"tokens", "tokens=-1", "euro=3", "time=soon", "usd=nan"}) {
    CHECK(shop.run({"--budget", wrong}, {"true"}).status == 2);
  }
}

// Sends its first argument as a request on the socket and prints the answer.
constexpr const char* asks = R"(
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["TRIAGE_SOCKET"])
def ask(request):
    s.sendall((json.dumps({"id": 1, **request}) + "\n").encode())
    answer = json.loads(s.makefile().readline()); del answer["id"]
    print(json.dumps(answer), flush=True)
)";

TEST_CASE("a program sleeps, waits for a signal, and asks before it acts", "[run][protocol]") {
  if (!has("python3")) {
    WARN("python3 is not installed");
    return;
  }
  const Workshop shop;
  const auto asking = [&shop](const std::string& text) {
    std::ofstream(shop.file("a.py")) << asks << text;
    return std::vector<std::string>{"python3", shop.file("a.py")};
  };
  SECTION("a short sleep is kept, and needs no sign of life") {
    const Printed printed = shop.run({"--idle-timeout", "2s", "--max-attempts", "1"},
                                     asking("ask({'sleep_until': time.time() + 2.3})"));
    CHECK(printed.out == "{\"ok\": true}\n");
  }
  SECTION("a long one suspends the run") {
    const auto command = asking("ask({'sleep_until': 4e9})");
    const Printed printed = shop.run({"--run", "r"}, command);
    CHECK(printed.status == 75);
    CHECK_THAT(printed.error, ContainsSubstring("run r is suspended until 2096-"));
  }
  SECTION("a signal that does not come is told") {
    const auto command = asking("ask({'wait': {'name': 'go', 'until': time.time() + 0.1}})");
    CHECK(shop.run({"--run", "r"}, command).out == "{\"came\": false, \"ok\": true}\n");
  }
  SECTION("one that is waited for long suspends the run") {
    const auto command = asking("ask({'wait': {'name': 'go', 'until': 4e9}})");
    CHECK(shop.run({"--run", "r"}, command).status == 75);
  }
  SECTION("what the contract does not allow is denied") {
    std::ofstream(shop.file("c.json")) << R"({"tools": ["fetch"]})";
    const auto command = asking(
        "ask({'propose_step': {'tool_called': 'fetch'}})\n"
        "ask({'propose_step': {'tool_called': 'rm'}})");
    const Printed printed = shop.run({"--contract", shop.file("c.json")}, command);
    CHECK(printed.status == 0);
    CHECK(printed.out.starts_with("{\"allowed\": true, \"ok\": true}\n"));
    CHECK_THAT(printed.out, ContainsSubstring("\"allowed\": false"));
  }
  SECTION("with a guard somebody is asked") {
    const auto command = asking("ask({'propose_step': {'tool_called': 'delete_user'}})");
    const Printed printed = shop.run({"--guard", "--run", "r"}, command);
    CHECK(printed.status == 75);
    const std::size_t at = printed.error.find("triage decide ") + 14;
    const std::string token = printed.error.substr(at, printed.error.find(' ', at) - at);
    const Printed decided = shop.triage({"decide", token, "retry"});
    INFO(decided.error);
    CHECK(decided.status == 0);
    CHECK(decided.out == "{\"allowed\": true, \"ok\": true}\n");
  }
  SECTION("requests that make no sense are refused") {
    const auto command = asking(
        "ask({'sleep_until': 'soon'})\nask({'wait': {'until': 1}})\n"
        "ask({'sleep_until': 1e11})\n"  // More nanoseconds than there are numbers for.
        "ask({'propose_step': 7})");
    const Printed printed = shop.run({}, command);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.out, ContainsSubstring("soon\\\"; allowed is a time: seconds since 1970"));
    CHECK_THAT(printed.out, ContainsSubstring("sleep_until is 100000000000.0; allowed is a time"));
    CHECK_THAT(printed.out, ContainsSubstring("allowed is an object with a name"));
  }
}

TEST_CASE("sd_notify is a sign of life and a status", "[run][protocol]") {
  if (!has("python3")) {
    WARN("python3 is not installed");
    return;
  }
  const Workshop shop;
  std::ofstream(shop.file("a.py")) << R"(
import os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for beat in range(8):  # Longer than the timeout in all.
    s.sendto(b"READY=1\nSTATUS=page %d\nWATCHDOG=1" % beat, os.environ["NOTIFY_SOCKET"])
    time.sleep(0.3)
assert os.environ["WATCHDOG_USEC"] == "2000000"
)";
  const Printed printed =
      shop.run({"--idle-timeout", "2s", "--json"}, {"python3", shop.file("a.py")});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.error, ContainsSubstring("{\"event\":\"status\",\"message\":\"page 7\"}"));
}

TEST_CASE("the client for Python works as it says", "[run][protocol]") {
  check_client("python3", "agent.py", python_agent);
}

TEST_CASE("the client for Node works as it says", "[run][protocol]") {
  check_client("node", "agent.mjs", node_agent);
}

TEST_CASE("both clients conform, and one that does not is found", "[run][protocol]") {
  const std::string conform = TRIAGE_SOURCE_DIR "/clients/conform.py";
  const std::string agent = TRIAGE_SOURCE_DIR "/tests/supervise/conform/agent.";
  if (has("python3")) {
    const Printed python =
        run_program({"/usr/bin/env", "python3", conform, "--", "python3", agent + "py"});
    INFO(python.out);
    CHECK(python.status == 0);
    CHECK(run_program({"/usr/bin/env", "python3", conform, "--", "true"}).status == 1);
  }
  if (has("python3") && has("node")) {
    const Printed node =
        run_program({"/usr/bin/env", "python3", conform, "--", "node", agent + "mjs"});
    INFO(node.out);
    CHECK(node.status == 0);
  }
}

// The block of this language in docs/protocol.md.
std::string example_in(const std::string& language) {
  const std::string page = read_text(TRIAGE_SOURCE_DIR "/docs/protocol.md");
  const std::size_t begin = page.find("```" + language + "\n");
  REQUIRE(begin != std::string::npos);
  const std::size_t first = begin + language.size() + 4;
  return page.substr(first, page.find("```", first) - first);
}

TEST_CASE("the examples of the protocol's page keep their place over a failure",
          "[run][protocol]") {
  struct Example {
    const char* language;
    const char* file;
    std::vector<std::string> command;
  };
  for (const auto& [language, file, command] :
       {Example{"bash", "a.sh", {"bash"}}, Example{"python", "a.py", {"python3"}},
        Example{"js", "a.mjs", {"node"}}, Example{"go", "a.go", {"go", "run"}}}) {
    if (!has(command.front().c_str())) {
      WARN(command.front() << " is not installed");
      continue;
    }
    const Workshop shop;
    const std::string text = example_in(language);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 20);
    std::ofstream(shop.file(file)) << text;
    for (const char* client : {"triage_client.py", "triage_client.mjs"}) {
      std::filesystem::copy_file(std::string(TRIAGE_SOURCE_DIR "/clients/") + client,
                                 shop.file(client));
    }
    const std::string folder = std::filesystem::path(TRIAGE_COMMAND).parent_path();
    std::vector<std::string> line{"env", "PATH=" + folder + ":" + std::getenv("PATH")};
    line.insert(line.end(), command.begin(), command.end());
    line.push_back(shop.file(file));
    const Printed printed = shop.run({"--run", "r"}, line);
    INFO(language << ": " << printed.out << printed.error);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.error, ContainsSubstring("attempt 1 failed: external_fault"));
    CHECK(journal_of(shop, "r").state().value("page", 0) == 2);
    CHECK(journal_of(shop, "r").effect("mail:1").status == EffectState::Status::completed);
  }
}

TEST_CASE("outside of a run the helpers say where they belong", "[run][protocol]") {
  const Printed printed = run_program({TRIAGE_COMMAND, "step", "x"});
  CHECK(printed.status == 1);
  CHECK_THAT(printed.error, ContainsSubstring("TRIAGE_SOCKET"));
}
