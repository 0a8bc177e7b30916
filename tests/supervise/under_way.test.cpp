// SPDX-License-Identifier: MIT
// Effects that are under way while the run is suspended, or while others are asked for.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/journal.hpp"

using namespace triage;
using namespace triage::test;

namespace {

constexpr const char* speaks = R"(
import json, os, socket, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["TRIAGE_SOCKET"])
    return s.makefile("rwb", buffering=0)
def tell(s, message):
    s.write((json.dumps(message) + "\n").encode())
def hear(s):
    return json.loads(s.readline())
def ask(s, message):
    tell(s, {"id": 1, **message})
    return hear(s)
)";

std::vector<std::string> doing(const Workshop& shop, const std::string& text) {
  std::ofstream(shop.file("a.py")) << speaks << text;
  return {"env", "WORK=" + shop.file(""), "python3", shop.file("a.py")};
}

// Asks for `request` in the middle of an effect, and ends that afterwards.
std::string asking_meanwhile(const std::string& request) {
  return R"(
first = ask(connect(), {"get": "state"}) if os.environ["TRIAGE_ATTEMPT"] == "1" else None
s = connect()
answer = ask(s, {"effect": {"key": "charge:1"}})
other = connect()
if answer["run"]:
    tell(other, {"id": "long", )" +
         request + R"(})
    assert ask(other, {"get": "state"})["ok"] or hear(other)  # The other line has been taken.
    open(os.environ["WORK"] + "/charged", "a").write("x")
    tell(s, {"effect_done": {"key": "charge:1", "result": "receipt"}})
    assert hear(s)["result"] == "receipt"
    time.sleep(1000)
print(answer["result"])
)";
}

}  // namespace

TEST_CASE("an effect under way is waited for before a run is suspended", "[run][protocol]") {
  if (!has_python()) return;
  for (const std::string request : {R"("wait": {"name": "approved", "until": time.time() + 7200})",
                                    R"("sleep_until": time.time() + 7200)",
                                    R"("propose_step": {"tool_called": "delete_user"})"}) {
    const Workshop shop;
    const Printed printed = shop.run({"--run", "r", "--guard", "--max-wait", "1ms", "--quiet"},
                                     doing(shop, asking_meanwhile(request)));
    INFO(request << printed.error);
    CHECK(printed.status == 75);
    CHECK(read_text(shop.file("charged")) == "x");
    const auto store = SqliteStore::open(shop.store(), {.read_only = true}).value();
    const Journal journal = Journal::fold(store->read("r", {}).value()).value();
    CHECK(journal.effect("charge:1").status == EffectState::Status::completed);
  }
}

TEST_CASE("a sleep that an effect held up is over in the next attempt", "[run][protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
if os.environ["TRIAGE_ATTEMPT"] == "1":
    s, other = connect(), connect()
    ask(s, {"effect": {"key": "charge:1"}})
    tell(other, {"id": "long", "sleep_until": time.time() + 1})
    ask(other, {"get": "state"})  # The other line has been taken.
    tell(s, {"effect_done": {"key": "charge:1"}})
    hear(s)
    time.sleep(1000)
assert ask(connect(), {"sleep_until": time.time() + 1})["ok"]
print(os.environ["TRIAGE_ATTEMPT"])
)");
  REQUIRE(shop.run({"--run", "r", "--max-wait", "1ms", "--quiet"}, command).status == 75);
  Printed resumed;
  for (int look = 0; look < 2'000 && resumed.out.empty(); ++look) {
    resumed = shop.triage({"resume", "--due", "--max-wait", "1ms"});
  }
  INFO(resumed.error);
  CHECK(resumed.out == "2\n");
}

TEST_CASE("an effect may itself wait for long", "[run][protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
s, other = connect(), connect()
assert ask(s, {"effect": {"key": "charge:1"}})["run"]
assert ask(other, {"sleep_until": time.time() + 0.3})["ok"]
tell(s, {"effect_done": {"key": "charge:1"}})
assert hear(s)["ok"]
)");
  const Printed printed = shop.run({"--max-wait", "1ms", "--timeout", "20s"}, command);
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("of two held requests for an effect at the same time one is told of the other",
          "[run][protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
for n in range(20):
    effect = {"effect": {"key": "k%d" % n, "held": True}}
    asking = [connect(), connect()]
    for s in asking: tell(s, {"id": 1, **effect})
    answers = [hear(s) for s in asking]
    assert sorted(str(answer.get("run", answer.get("code"))) for answer in answers) == ["True", "in_doubt"]
    assert ask(connect(), {"effect_done": {"key": "k%d" % n, "result": n}})["ok"]
    assert ask(connect(), effect)["result"] == n
)");
  const Printed printed = shop.run({"--max-attempts", "1", "--timeout", "20s"}, command);
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("effects that themselves report end, however many there are", "[run][protocol]") {
  const Workshop shop;
  const std::string acts = shop.script("acts",
                                       "echo x >> $W/begun\n"
                                       "until [ $(wc -l < $W/begun) -ge 20 ]; do sleep 0.05; done\n"
                                       "exec '" TRIAGE_COMMAND "' step inside");
  const std::string program = shop.script(
      "a", "ulimit -n 1024\nfor n in $(seq 40); do '" TRIAGE_COMMAND "' effect k$n -- " + acts +
               " & done\nwait");
  const std::vector<std::string> line =
      shop.run_line({"--run", "r", "--max-attempts", "1", "--timeout", "30s"}, {program});
  std::vector<std::string> limited{"/bin/sh", "-c", "ulimit -Sn 64; exec \"$@\"", "-"};
  limited.insert(limited.end(), line.begin(), line.end());
  const Printed printed = run_program(limited);
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK_THAT(printed.error, ContainsSubstring("effects under way at the same time"));
  const auto store = SqliteStore::open(shop.store(), {.read_only = true}).value();
  const Journal journal = Journal::fold(store->read("r", {}).value()).value();
  CHECK(journal.trajectory().size() == 40);
}

TEST_CASE("an effect within itself is refused instead of waiting for its own end",
          "[run][protocol]") {
  const Workshop shop;
  const std::string effect = std::string(TRIAGE_COMMAND) + " effect ";
  const Printed printed =
      shop.run({"--max-attempts", "1", "--timeout", "20s"},
               {shop.script("a", effect + "k -- " + effect + "k -- echo hi; echo $?\n" + effect +
                                     "l -- " + effect + "m -- echo inner")});
  INFO(printed.error);
  CHECK_THAT(printed.error, ContainsSubstring("effect \"k\" is what this command is part of"));
  CHECK(printed.out == "2\ninner\n");
}

TEST_CASE("an effect that outlives its program may come to its end", "[run][protocol]") {
  const Workshop shop;
  const std::string acts = shop.script("acts", "sleep 0.3\necho done >> $W/acted");
  const Printed printed = shop.run(
      {"--run", "r"},
      {shop.script("a", "'" TRIAGE_COMMAND "' effect k -- " + acts +
                            " &\nuntil '" TRIAGE_COMMAND "' step x; do :; done\nsleep 0.1")});
  CHECK(printed.status == 0);
  CHECK(printed.error.empty());
  CHECK(read_text(shop.file("acted")) == "done\n");
}

TEST_CASE("an effect in doubt of a run that finishes is told, with the command that settles it",
          "[run][protocol]") {
  const Workshop shop;
  const std::string acts = shop.script("acts", "kill -KILL $PPID\nsleep 1");
  const Printed finished = shop.run(
      {"--run", "s"}, {shop.script("b", "'" TRIAGE_COMMAND "' effect k -- " + acts + "\nexit 0")});
  CHECK(finished.status == 0);
  CHECK_THAT(finished.error,
             ContainsSubstring("effect \"k\"") &&
                 ContainsSubstring("`triage settle s k done --store " + shop.store() + "`"));
  CHECK(shop.triage({"settle", "s", "k", "done"}).status == 0);
}

TEST_CASE("a program may not hold more effects than there can be threads for", "[run][protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto command = doing(shop, R"(
s = connect()
held = lambda n: {"id": n, "effect": {"key": "k%d" % n, "held": True}}
for n in range(1000): tell(s, held(n))
for n in range(1000): assert hear(s)["run"]
tell(s, held(1000))
assert hear(s)["code"] == "exhausted"
other = connect()
assert ask(other, {"effect_done": {"key": "k7"}})["ok"]
assert hear(s)["id"] == 7
while True:
    tell(s, held(1000))
    answer = hear(s)
    if answer["ok"]: break
assert answer["run"]
)");
  const Printed printed = shop.run({"--max-attempts", "1", "--timeout", "60s", "--quiet"}, command);
  INFO(printed.error);
  CHECK(printed.status == 0);
}
