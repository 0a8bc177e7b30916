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
      "line", std::string("ulimit -S -n 64\nexec ") + TRIAGE_COMMAND +
                  " run --store $W/runs.db --workspace $W/files --max-attempts 1 -- \"$@\"");
  const Printed printed = run_program({line, command[0], command[1]});
  CHECK(printed.error == "");
  CHECK(printed.status == 0);
}
