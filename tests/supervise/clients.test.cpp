// SPDX-License-Identifier: MIT
// Clients of the protocol that ask for much, or do not read.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Tells and asks over one connection; supervisor() is a field of the supervisor's status.
constexpr const char* client = R"(
import json, os, socket, sys, threading, time
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["TRIAGE_SOCKET"])
    return s
s = connect()
answers = s.makefile()
def tell(message):
    s.sendall((json.dumps(message) + "\n").encode())
def ask(message):
    tell({**message, "id": 1})
    return json.loads(answers.readline())
def supervisor(field):
    status = open("/proc/%s/status" % os.getppid()).read()
    return int(status.split(field + ":")[1].split()[0])
)";

std::vector<std::string> doing(const Workshop& shop, const std::string& text) {
  std::ofstream(shop.file("a.py")) << client << text;
  return {"python3", shop.file("a.py")};
}

// Runs a program that uses the client of its language.
Printed with_client(const Workshop& shop, const std::string& interpreter, const std::string& file,
                    const std::string& text) {
  std::ofstream(shop.file(file)) << text;
  return shop.run(
      {"--run", "r", "--max-attempts", "1", "--timeout", "30s"},
      {"env", "PYTHONPATH=" TRIAGE_SOURCE_DIR "/clients",
       "CLIENT=" TRIAGE_SOURCE_DIR "/clients/triage_client.mjs", "TRIAGE=" TRIAGE_COMMAND,
       "STORE=" + shop.store(), interpreter, shop.file(file)});
}

bool has_node() {
  if (run_program({"/bin/sh", "-c", "command -v node"}).status == 0) return true;
  WARN("node is not installed");
  return false;
}

}  // namespace

TEST_CASE("a client that reads no answers does not hold up the run's timeout", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
tell({"state": {"text": "x" * 5000}})
for n in range(500):
    tell({"get": "state", "id": n})  # More than a socket holds.
tell({"effect": {"key": "e"}, "id": "e"})
time.sleep(0.3)
tell({"step": "on", "id": "s"})
time.sleep(1000)
)");
  CHECK(shop.run({"--timeout", "2s", "--max-attempts", "1", "--quiet"}, command).status ==
        128 + SIGTERM);
}

TEST_CASE("a connection that sleeps and goes away does not hold up the idle timeout", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
for request in [{"sleep_until": time.time() + 300}, {"wait": {"name": "go", "until": time.time() + 300}}]:
    s = connect()
    s.sendall((json.dumps({"id": 1, **request}) + "\n" + json.dumps({"id": 2, "get": "state"}) + "\n").encode())
    s.recv(1)  # Both were read.
    s.close()
time.sleep(1000)
)");
  const Printed printed =
      shop.run({"--idle-timeout", "300ms", "--timeout", "20s", "--max-attempts", "1"}, command);
  CHECK(printed.status == 128 + SIGTERM);
  CHECK_THAT(printed.error, ContainsSubstring("timeout (attempt_idle_timeout)"));
}

TEST_CASE("effects that are done leave no threads and no memory behind", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
def act(n):
    assert ask({"effect": {"key": "e%d" % n}})["run"]
    tell({"effect_done": {"key": "e%d" % n, "result": n}})
    assert json.loads(answers.readline())["ok"]
act(0)
before = supervisor("VmSize")
for n in range(1, 301): act(n)
assert supervisor("Threads") < 10
assert supervisor("VmSize") - before < 1_500_000  # Stacks of 8,000 kB; heaps of threads, reused.
)");
  const Printed printed = shop.run({"--max-attempts", "1"}, command);
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("one answer may be larger than what may be left unread", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
for key in "abc":
    assert ask({"state": {key: "x" * 7_000_000}})["ok"]
assert len(ask({"get": "state"})["state"]["c"]) == 7_000_000
)");
  const Printed printed = shop.run({"--max-attempts", "1"}, command);
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("connections leave the supervisor the files that it needs itself", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))  # The supervisor has 64.
many = [connect() for n in range(100)]
for turn in range(100): ask({"get": "state"})  # It takes one in a turn, as long as it takes any.
assert ask({"step": "a"})["ok"]  # Git keeps the workspace, which takes pipes.
for one in many: one.close()
for n in range(100): connect().close()
assert ask({"step": "b"})["ok"]
)");
  std::filesystem::create_directory(shop.file("files"));
  const std::string line = shop.script(
      "line", "ulimit -S -n 64\nexec " TRIAGE_COMMAND
              " run --store $W/runs.db --workspace $W/files --max-attempts 1 -- \"$@\"");
  const Printed printed = run_program({line, command[0], command[1]});
  CHECK(printed.error == "");
  CHECK(printed.status == 0);
}

TEST_CASE("a program goes on without an effect that threw, with the same client", "[clients]") {
  if (has_python()) {
    const Workshop shop;
    const Printed printed = with_client(shop, "python3", "a.py", R"(
import sys
from triage_client import Refused, Supervisor
with Supervisor() as triage:
    try:
        triage.effect("pay", lambda key: 1 / 0)
    except ZeroDivisionError:
        print("threw")
    try:
        triage.effect("set", lambda key: {1, 2})
    except TypeError:
        print("no JSON")
    triage.step("by hand")
    try:
        triage.effect("pay", lambda key: print("twice"))
    except Refused as error:
        print(error.code)
    triage.step("on")
    print("HTTP 503 Service Unavailable", file=sys.stderr)
    sys.exit(1)
)");
    INFO(printed.error);
    CHECK(printed.out == "threw\nno JSON\nin_doubt\n");
    CHECK_THAT(printed.error, ContainsSubstring("attempt 1 failed: external_fault"));
  }
  if (has_node()) {
    const Workshop shop;
    const Printed printed = with_client(shop, "node", "a.mjs", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
await triage.effect("pay", () => { throw new Error("x"); }).catch(() => console.log("threw"));
await triage.effect("big", () => 10n).catch(() => console.log("no JSON"));
await triage.updateState({ big: 10n }).catch(() => console.log("no JSON"));
await triage.step("by hand");
await triage.effect("pay", () => console.log("twice")).catch((error) => console.log(error.code));
await triage.step("on");
console.error("HTTP 503 Service Unavailable");
process.exit(1);
)");
    INFO(printed.error);
    CHECK(printed.out == "threw\nno JSON\nno JSON\nin_doubt\n");
    CHECK_THAT(printed.error, ContainsSubstring("attempt 1 failed: external_fault"));
  }
}

TEST_CASE("what an effect does may itself report, from any thread", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client(shop, "python3", "a.py", R"(
import threading
from triage_client import Supervisor
with Supervisor() as triage:
    def act(key):
        triage.step("inside")
        beside = threading.Thread(target=lambda: triage.update_state(beat=1))
        beside.start()
        beside.join()
        return triage.effect("inner", lambda key: (1, 2))
    print(triage.effect("outer", act), triage.effect("inner", act))
)");
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "[1, 2] [1, 2]\n");
}

TEST_CASE("a thread that waits for a signal does not hold up the others", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client(shop, "python3", "a.py", R"(
import os, subprocess, threading, time
from triage_client import Supervisor
with Supervisor() as triage:
    waiting = threading.Thread(target=lambda: print(triage.wait("go", time.time() + 20)))
    waiting.start()
    for n in range(100): triage.step("meanwhile")
    subprocess.run([os.environ["TRIAGE"], "signal", "send", "--store", os.environ["STORE"], "r", "go", "1"],
                   stdout=subprocess.DEVNULL, check=True)
    waiting.join()
)");
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "1\n");
}

TEST_CASE("a request that is cut off does not leave its answer to the next one", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client(shop, "python3", "a.py", R"(
import signal
from triage_client import Supervisor
class Stop(Exception): pass
def stop(*unused): raise Stop
signal.signal(signal.SIGALRM, stop)
with Supervisor() as triage:
    for n in range(20):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
            while True: triage.step("on")
        except Stop:
            triage.update_state(n=n)
            assert triage.state()["n"] == n
)");
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("a program that forks hears the right answers in both processes", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client(shop, "python3", "a.py", R"(
import os
from triage_client import Supervisor
with Supervisor() as triage:
    child = os.fork()
    me = "child" if child == 0 else "parent"
    for n in range(200):
        triage.update_state(**{me: n})
        assert triage.state()[me] == n
    if child: assert os.waitpid(child, 0)[1] == 0
)");
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("numbers of more than 64 bits come back to a Node program as they were", "[clients]") {
  if (!has_node()) return;
  const Workshop shop;
  const Printed printed = with_client(shop, "node", "a.mjs", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
const large = [1e20, 2 ** 64, -(2 ** 63), 2 ** 60, 1e300, "100000000000000000000"];
await triage.effect("count", () => large);
const again = await triage.effect("count", () => 0);
await triage.updateState({ large });
const { large: kept } = await triage.state();
for (const one of [again, kept]) console.log(JSON.stringify(one) === JSON.stringify(large));
)");
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "true\ntrue\n");
}

TEST_CASE("a number that JSON lacks is refused by the client", "[clients]") {
  if (has_python()) {
    const Workshop shop;
    const Printed printed = with_client(shop, "python3", "a.py", R"(
from triage_client import Supervisor
with Supervisor() as triage:
    try:
        triage.update_state(a=float("nan"))
    except ValueError:
        print("refused")
    triage.step("on")
)");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK(printed.out == "refused\n");
  }
  if (has_node()) {
    const Workshop shop;
    const Printed printed = with_client(shop, "node", "a.mjs", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
await triage.updateState({ a: 1, b: null });
await triage.updateState({ a: { of: [NaN] } }).catch((error) => console.log(error.message));
await triage.step("on", { tool_output: -Infinity }).catch((error) => console.log(error.code));
console.log(JSON.stringify(await triage.state()));
)");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK(printed.out ==
          "invalid_argument: a line cannot be read: NaN is no "
          "JSON\ninvalid_argument\n{\"a\":1,\"b\":null}\n");
  }
}

TEST_CASE("a line that the supervisor cannot read is refused, and the client goes on",
          "[clients]") {
  if (has_python()) {
    const Workshop shop;
    const Printed printed = with_client(shop, "python3", "a.py", R"(
from triage_client import Refused, Supervisor
with Supervisor() as triage:
    for act in [lambda: triage.step("x" * 17_000_000), lambda: triage.step("\ud800"),
                lambda: triage.update_state(n=10**30), lambda: triage.effect("pay", lambda key: 10**30)]:
        try:
            act()
        except Refused as error:
            print(error.code)
    triage.step("on")
)");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK(printed.out ==
          "invalid_argument\ninvalid_argument\ninvalid_argument\ninvalid_argument\n");
  }
  if (has_node()) {
    const Workshop shop;
    const Printed printed = with_client(shop, "node", "a.mjs", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
const tell = (error) => console.log(error.code);
await triage.step("x".repeat(17_000_000)).catch(tell);
await triage.step("\ud800").catch(tell);
await triage.effect("pay", () => "\ud800").catch(tell);
await triage.step("on");
)");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK(printed.out == "invalid_argument\ninvalid_argument\ninvalid_argument\n");
  }
}

TEST_CASE("a Node program ends by itself, and hears that its connection is closed", "[clients]") {
  if (!has_node()) return;
  const Workshop shop;
  const Printed open = with_client(shop, "node", "a.mjs", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
await triage.step("done");
triage.heartbeat();
)");
  INFO(open.error);
  CHECK(open.status == 0);
  const Printed closed = with_client(Workshop(), "node", "a.mjs", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
triage.close();
await triage.step("more").catch((error) => console.log(error.message));
)");
  INFO(closed.error);
  CHECK(closed.status == 0);
  CHECK(closed.out == "the connection is closed\n");
}

TEST_CASE("a signal handler may use the Python client in the middle of a request", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client(shop, "python3", "a.py", R"(
import signal, triage_client
with triage_client.Supervisor() as t:
    def interrupted(self):
        triage_client._Connection.hear = hear
        signal.raise_signal(signal.SIGUSR1)
        return hear(self)
    hear, triage_client._Connection.hear = triage_client._Connection.hear, interrupted
    signal.signal(signal.SIGUSR1, lambda *unused: (t.update_state(saved=True), t.heartbeat()))
    t.step("x")
    assert t.state() == {"saved": True}
)");
  INFO(printed.error);
  CHECK(printed.status == 0);
}
