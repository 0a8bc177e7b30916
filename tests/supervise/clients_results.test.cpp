// SPDX-License-Identifier: MIT
// What the clients for Python and Node return, refuse and keep.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/journal.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Runs a program that uses the client of its language.
Printed with_client_of(const Workshop& shop, const std::string& interpreter,
                       const std::string& text) {
  std::ofstream(shop.file("a.mjs")) << text;
  return shop.run(
      {"--run", "r", "--max-attempts", "1", "--timeout", "30s"},
      {"env", "PYTHONPATH=" TRIAGE_SOURCE_DIR "/clients",
       "CLIENT=" TRIAGE_SOURCE_DIR "/clients/triage_client.mjs", "TRIAGE=" TRIAGE_COMMAND,
       "STORE=" + shop.store(), interpreter, shop.file("a.mjs")});
}

bool node_is_there() {
  if (run_program({"/bin/sh", "-c", "command -v node"}).status == 0) return true;
  WARN("node is not installed");
  return false;
}

JournalReading reading_in(const Workshop& shop) {
  return SqliteStore::open(shop.store(), {.read_only = true}).value()->read("r", {}).value();
}

Journal journal_in(const Workshop& shop) { return Journal::fold(reading_in(shop)).value(); }

// Why the first effect of the run that was not done was not.
Json first_cause(const Workshop& shop) {
  const JournalReading reading = reading_in(shop);
  for (const Record& one : reading.records) {
    if (one.kind() == RecordKind::effect_withdrawn) return one.body().value()["cause"];
  }
  return {};
}

}  // namespace

TEST_CASE("a signal without a value is told from one that did not come", "[clients]") {
  if (has_python()) {
    const Workshop shop;
    const Printed printed = with_client_of(shop, "python3", R"(
import os, subprocess, time
from triage_client import Supervisor
with Supervisor() as triage:
    triage.step("on")
    subprocess.run([os.environ["TRIAGE"], "signal", "send", "--store", os.environ["STORE"], "r", "go"],
                   stdout=subprocess.DEVNULL, check=True)
    print(triage.wait("go", time.time() + 20, missing="late"), triage.wait("no", 0, missing="late"), triage.wait("no", 0))
)");
    INFO(printed.error);
    CHECK(printed.out == "None late None\n");
  }
  if (node_is_there()) {
    const Workshop shop;
    const Printed printed = with_client_of(shop, "node", R"(
import { execFileSync } from "node:child_process";
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
await triage.step("on");
execFileSync(process.env.TRIAGE, ["signal", "send", "--store", process.env.STORE, "r", "go"]);
console.log(await triage.wait("go", Date.now() / 1000 + 20, "late"), await triage.wait("no", 0, "late"), await triage.wait("no", 0));
)");
    INFO(printed.error);
    CHECK(printed.out == "null late null\n");
  }
}

TEST_CASE("an effect that has happened is done, whatever its result is", "[clients]") {
  if (has_python()) {
    const Workshop shop;
    const Printed printed = with_client_of(shop, "python3", R"(
import os
from triage_client import Supervisor
with Supervisor() as triage:
    for n, result in enumerate([os.fsdecode(b"caf\xe9.txt"), 2**70, {1, 2}, float("nan"), "x" * 17_000_000]):
        try:
            triage.effect("e%d" % n, lambda key: result)
        except Exception as error:
            print(type(error).__name__)
        assert triage.effect("e%d" % n, lambda key: 1 / 0).startswith("the result could not be kept: ")
)");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK(std::count(printed.out.begin(), printed.out.end(), '\n') == 5);
    CHECK(journal_in(shop).effect("e4").status == EffectState::Status::completed);
  }
  if (node_is_there()) {
    const Workshop shop;
    const Printed printed = with_client_of(shop, "node", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
const deep = JSON.parse("[".repeat(300) + "]".repeat(300));
for (const [n, result] of ["\ud800", 10n, deep, NaN, { a: [-Infinity] }, "x".repeat(17_000_000)].entries()) {
  await triage.effect("e" + n, () => result).catch((error) => console.log(error.name));
  const kept = await triage.effect("e" + n, () => { throw new Error("again"); });
  if (!kept.startsWith("the result could not be kept: ")) throw new Error(kept);
}
)");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK(std::count(printed.out.begin(), printed.out.end(), '\n') == 6);
    CHECK(journal_in(shop).effect("e5").status == EffectState::Status::completed);
  }
}

TEST_CASE("an effect that was not done is free again, whatever its cause says", "[clients]") {
  if (has_python()) {
    const Workshop shop;
    const Printed printed = with_client_of(shop, "python3", R"(
import os
from triage_client import NotDone, Supervisor
with Supervisor() as triage:
    for n, cause in enumerate(["cannot open " + os.fsdecode(b"caf\xe9.txt"), "x" * 17_000_000]):
        def refuse(key):
            raise NotDone(cause)
        try:
            triage.effect("e%d" % n, refuse)
        except NotDone:
            pass
        print(triage.effect("e%d" % n, lambda key: "done"))
)");
    INFO(printed.error);
    CHECK(printed.out == "done\ndone\n");
    CHECK(first_cause(shop) == "cannot open caf\ufffd.txt");
  }
  if (node_is_there()) {
    const Workshop shop;
    const Printed printed = with_client_of(shop, "node", R"(
const { NotDone, Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
for (const [n, cause] of ["bad \udce9 name \u{1f600}", "x".repeat(17_000_000)].entries()) {
  await triage.effect("e" + n, () => { throw new NotDone(cause); }).catch(() => {});
  console.log(await triage.effect("e" + n, () => "done"));
}
)");
    INFO(printed.error);
    CHECK(printed.out == "done\ndone\n");
    CHECK(first_cause(shop) == "bad \ufffd name \U0001F600");
  }
}

TEST_CASE("a Node program may tell texts as long as a line", "[clients]") {
  if (!node_is_there()) return;
  const Workshop shop;
  const Printed printed = with_client_of(shop, "node", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
const texts = ["x".repeat(12_000_000), '"'.repeat(7_000_000), "\\".repeat(7_000_000)];
for (const [n, text] of texts.entries()) {
  await triage.effect("e" + n, () => text);
  console.log(text === await triage.effect("e" + n, () => "again"));
}
await triage.updateState({ "a\\": "[{".repeat(200) + "\\" });
console.log("kept");
)");
  INFO(printed.error);
  CHECK(printed.out == "true\ntrue\ntrue\nkept\n");
}

TEST_CASE("a Node program's unreadable request fails alone", "[clients]") {
  if (!node_is_there()) return;
  const Workshop shop;
  const Printed printed = with_client_of(shop, "node", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
const pending = [triage.step("one"), triage.step("\ud800"), triage.step("a\\ud800 \u{1f600}"), triage.step(JSON.parse("[".repeat(300) + "]".repeat(300)))];
const ended = await Promise.allSettled([...pending, triage.wait("no", 0)]);
console.log(ended.map((one) => one.reason?.code ?? "ok").join(" "));
)");
  INFO(printed.error);
  CHECK(printed.out == "ok invalid_argument ok invalid_argument ok\n");
}

TEST_CASE("a Node program may begin many effects at once", "[clients]") {
  if (!node_is_there()) return;
  const Workshop shop;
  const Printed printed = with_client_of(shop, "node", R"(
const { Supervisor } = await import(process.env.CLIENT);
const triage = await Supervisor.connect();
const all = await Promise.all([...Array(600).keys()].map((n) => triage.effect("k" + n, () => n)));
console.log(all.every((value, n) => value === n));
)");
  INFO(printed.error);
  CHECK(printed.out == "true\n");
}

TEST_CASE("a decorated function that is called with other arguments is a conflict", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client_of(shop, "python3", R"(
from triage_client import Refused, Supervisor
with Supervisor() as triage:
    @triage.once("charge")
    def charge(who, amount=1): return "receipt of " + who
    @triage.once("other")
    def other(value): return "done"
    print(charge("ana", amount=2), charge("ana", amount=2))
    try:
        charge("bob")
    except Refused as error:
        print(error.code)
    print(other({1}), other({2}))  # Not JSON.
)");
  INFO(printed.error);
  CHECK(printed.out == "receipt of ana receipt of ana\nconflict\ndone done\n");
}

TEST_CASE("a Python effect within itself is refused", "[clients]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed = with_client_of(shop, "python3", R"(
from triage_client import NotDone, Refused, Supervisor
with Supervisor() as triage:
    def again(key):
        try:
            return triage.effect("k", lambda key: 1)
        except Refused as error:
            return error.code
    print(triage.effect("k", again), triage.effect("k", again))
)");
  INFO(printed.error);
  CHECK(printed.out == "invalid_argument invalid_argument\n");
}
