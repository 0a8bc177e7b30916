// SPDX-License-Identifier: MIT
// What supervised programs say to their supervisor: from shells, Python and Node.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/journal.hpp"

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

// Counts its attempts in the state, does an effect, and fails in the first attempt.
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

TEST_CASE("an effect that was cut off is in doubt, and is not done again", "[run][protocol]") {
  const Workshop shop;
  const Printed printed =
      shop.run({"--run", "r", "--max-attempts", "2"},
               {speaking(shop,
                         "echo x\n$T effect mail -- sh -c 'echo sent >> '$W'/mails; kill -KILL "
                         "$PPID'\necho status $?\nexit 1")});
  CHECK_THAT(printed.out, ContainsSubstring("status 137"));
  CHECK_THAT(printed.out, ContainsSubstring("status 2"));
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

TEST_CASE("the client for Python works as it says", "[run][protocol]") {
  check_client("python3", "agent.py", python_agent);
}

TEST_CASE("the client for Node works as it says", "[run][protocol]") {
  check_client("node", "agent.mjs", node_agent);
}

TEST_CASE("outside of a run the helpers say where they belong", "[run][protocol]") {
  const Printed printed = run_program({TRIAGE_COMMAND, "step", "x"});
  CHECK(printed.status == 1);
  CHECK_THAT(printed.error, ContainsSubstring("TRIAGE_SOCKET"));
}
