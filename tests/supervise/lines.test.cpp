// SPDX-License-Identifier: MIT
// The protocol, line by line: the answer to each mistake, and that none does any harm.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/journal.hpp"
#include "triage/json.hpp"

#include <sstream>

using namespace triage;
using namespace triage::test;

namespace {

// Sends each line of a file with its own id and prints the answers.
constexpr const char* sender = R"(
import json, os, socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["TRIAGE_SOCKET"])
answers = peer.makefile()
for number, line in enumerate(open(sys.argv[1])):
    message = json.loads(line)
    message.setdefault("id", number)
    peer.sendall(json.dumps(message).encode() + b"\n")
    print(answers.readline(), end="")
)";

// Sends many requests before reading, in parts larger than a socket's buffer.
constexpr const char* impatient = R"(
import os, socket
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["TRIAGE_SOCKET"])
peer.sendall(b"".join(b'{"id": %d, "get": "state"}\n' % i for i in range(50_000)))
answers = peer.makefile()
for i in range(50_000):
    assert answers.readline().startswith('{"id":%d,' % i)
print("all answered")
)";

Journal journal_of(const Workshop& shop, const std::string& run) {
  const auto store = SqliteStore::open(shop.store(), {.read_only = true}).value();
  return Journal::fold(store->read(run, {}).value()).value();
}

struct Mistake {
  const char* line;
  const char* code;
  const char* says;
};

constexpr Mistake mistakes[] = {
    {R"({})", "invalid_argument", "it has none of the keys step, state, usage"},
    {R"({"stpe": "x"})", "invalid_argument", "it has none of the keys step, state, usage"},
    {R"({"step": 5})", "invalid_argument", "step is 5; allowed is a text or an object"},
    {R"({"step": {"action": 5}})", "invalid_argument", "step.action is 5; allowed is a text"},
    {R"({"step": {"http_status": 7}})", "invalid_argument",
     "step.http_status is 7; allowed is a whole number from 100 to 599"},
    {R"({"step": {"idempotent": "yes"}})", "invalid_argument",
     "step.idempotent is \"yes\"; allowed is true or false"},
    {R"({"state": [1]})", "invalid_argument", "state is [1]; allowed is an object"},
    {R"({"step": "kept out", "state": 5})", "invalid_argument", "state is 5"},
    {R"({"usage": 5})", "invalid_argument", "usage is 5; allowed is an object"},
    {R"({"usage": {"input_tokens": -5}})", "invalid_argument",
     "usage.input_tokens is -5; allowed is a whole number, 0 or more"},
    {R"({"usage": {"cost_usd": -0.5}})", "invalid_argument",
     "usage.cost_usd is -0.5; allowed is a number, 0 or more"},
    {R"({"checkpoint": "triage/x"})", "invalid_argument",
     "checkpoint is \"triage/x\"; allowed is a text that does not begin with triage/"},
    {R"({"failure": {"message": 5}})", "invalid_argument",
     "failure.message is 5; allowed is a text"},
    {R"({"failure": {"message": "x", "type": 5}})", "invalid_argument",
     "failure.type is 5; allowed is a text"},
    {R"({"state": {"a": [1, -9223372036854775809]}})", "invalid_argument",
     "the number -9223372036854775809 is too large; allowed are whole numbers from "
     "-9223372036854775808 to 18446744073709551615"},
    {R"({"effect": {"key": "a", "arguments": 18446744073709551616}})", "invalid_argument",
     "the number 18446744073709551616 is too large"},
    {R"({"failure": 5})", "invalid_argument", "failure is 5; allowed is a text or an object"},
    {R"({"get": "everything"})", "invalid_argument", "get is \"everything\"; allowed is \"state\""},
    {R"({"get": "state", "step": "kept out"})", "invalid_argument",
     "get and step cannot stand in one line"},
    {R"({"sleep_until": "soon"})", "invalid_argument",
     "sleep_until is \"soon\"; allowed is a time: seconds since 1970"},
    {R"({"wait": {"until": 1}})", "invalid_argument", "allowed is an object with a name"},
    {R"({"wait": {"name": "", "until": 1}})", "invalid_argument",
     "wait.name is \"\"; allowed is a text of 1 to 256 bytes"},
    {R"({"wait": {"name": "x"}})", "invalid_argument", "wait.until is null; allowed is a time"},
    {R"({"propose_step": 5})", "invalid_argument",
     "propose_step is 5; allowed is a text or an object"},
    {R"({"effect": "mail"})", "invalid_argument",
     "effect is \"mail\"; allowed is an object with a key"},
    {R"({"effect": {"key": ""}})", "invalid_argument", "key"},
    {R"({"effect": {"key": "a", "held": 1}})", "invalid_argument",
     "effect.held is 1; allowed is true or false"},
    {R"({"effect_done": {}})", "invalid_argument", "effect_done is {}; allowed is an object"},
    {R"({"effect_done": {"key": "b"}})", "not_found", "no effect \"b\" is under way"},
    {R"({"effect_not_done": {"key": "b"}})", "not_found", "no effect \"b\" is under way"},
};

}  // namespace

TEST_CASE("each mistake in a line is answered with the value and what is allowed", "[protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  std::ofstream(shop.file("send.py")) << sender;
  std::ofstream lines(shop.file("lines"));
  for (const Mistake& one : mistakes) lines << one.line << '\n';
  lines << R"({"step": "last"})" << '\n';
  lines.close();
  const Printed printed = shop.run(
      {"--run", "r"}, {"/usr/bin/env", "python3", shop.file("send.py"), shop.file("lines")});
  INFO(printed.error);
  CHECK(printed.status == 0);
  std::istringstream answers(printed.out);
  std::string answer;
  for (const Mistake& one : mistakes) {
    REQUIRE(std::getline(answers, answer));
    INFO(one.line << "\n" << answer);
    const Json json = Json::parse(answer);
    CHECK(json["ok"] == false);
    CHECK(json["code"] == one.code);
    CHECK_THAT(json["error"].get<std::string>(), ContainsSubstring(one.says));
  }
  // Nothing of a faulty line is recorded, and lines after it are.
  const Journal journal = journal_of(shop, "r");
  REQUIRE(journal.trajectory().size() == 1);
  CHECK(journal.trajectory()[0].action == "last");
}

TEST_CASE("numbers are stored as they were sent", "[protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string numbers =
      R"({"a":18446744073709551615,"b":-9223372036854775808,"c":1e+30,"d":0.1,)"
      R"("e":"18446744073709551616"})";
  std::ofstream(shop.file("send.py")) << sender;
  std::ofstream(shop.file("lines")) << R"({"state": )" << numbers << "}\n{\"get\": \"state\"}\n";
  const Printed printed =
      shop.run({}, {"/usr/bin/env", "python3", shop.file("send.py"), shop.file("lines")});
  CHECK(printed.out ==
        "{\"id\":0,\"ok\":true}\n{\"id\":1,\"ok\":true,\"state\":" + numbers + "}\n");
  const std::string sets = std::string(TRIAGE_COMMAND) + " state set n=18446744073709551616";
  const Printed refused = shop.run({"--max-attempts", "1", "--quiet"}, {"sh", "-c", sets});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.error, ContainsSubstring("the number 18446744073709551616 is too large"));
}

TEST_CASE("a line of a connection that nobody can read is answered without an id", "[protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  std::ofstream(shop.file("a.py")) << R"(
import json, os, socket
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["TRIAGE_SOCKET"])
answers = peer.makefile()
for line in [b"no JSON", b'"text"', b'{"id": 1, "step": "caf\xe9"}', b'{"id": 1, "step": "\\ud800"}',
             b'{"id": 1, "step": ' + b"[" * 300, b'{"id": 1, "step": "' + b"x" * 17_000_000 + b'"}',
             b'{"effect_done": {"key": "k", "result": 100000000000000000000}}']:
    peer.sendall(line + b"\n")
    answer = json.loads(answers.readline())
    assert answer["id"] is None and answer["code"] == "invalid_argument", answer
    print(answer["error"])
peer.sendall(b'{"step": 5}\n{"id": 2, "get": "state"}\n')  # The first one wants no answer.
print(answers.readline(), end="")
)";
  const Printed printed = shop.run({"--timeout", "30s", "--max-attempts", "1"},
                                   {"/usr/bin/env", "python3", shop.file("a.py")});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out ==
        "a line cannot be read: it is not JSON in UTF-8\n"
        "a line cannot be read: it is not a JSON object\n"
        "a line cannot be read: it is not JSON in UTF-8\n"
        "a line cannot be read: it is not JSON in UTF-8\n"
        "a line cannot be read: it is nested deeper than 256 levels\n"
        "a line cannot be read: it has more than 16 MB\n"
        "a line cannot be read: the number 100000000000000000000 is too large; allowed are whole "
        "numbers from -9223372036854775808 to 18446744073709551615, and others as texts\n"
        "{\"id\":2,\"ok\":true,\"state\":{}}\n");
}

TEST_CASE("a failure that names a type of ours is of that type, and any other is an exception's",
          "[protocol]") {
  const Workshop shop;
  const auto failing = [&](const std::string& failure) {
    const Printed printed = shop.run(
        {"--max-attempts", "1"},
        {"sh", "-c", "echo '{\"failure\": " + failure + "}' >&$TRIAGE_FD; echo HTTP 503; exit 1"});
    return printed.error;
  };
  CHECK_THAT(failing(R"({"message": "it said no", "type": "refused", "reason": "odd_date"})"),
             ContainsSubstring("failed: refused (odd_date), \"it said no\""));
  CHECK_THAT(failing(R"({"message": "it said no", "type": "refused"})"),
             ContainsSubstring("failed: refused, \"it said no\""));
  // Known to the classifier by its name.
  CHECK_THAT(failing(R"({"message": "it said no", "type": "RateLimitError", "reason": "odd"})"),
             ContainsSubstring("failed: external_fault (rate_limited), \"it said no\""));
}

TEST_CASE("of a very long report of a failure the ends are kept", "[protocol]") {
  const Workshop shop;
  const std::string program = shop.script("p",
                                          "{ printf '{\"failure\": \"HTTP 503 at the beginning '\n"
                                          "head -c 2000000 /dev/zero | tr '\\0' ' '\n"
                                          "echo 'and at the end\"}'; } >&$TRIAGE_FD\nexit 1");
  CHECK(shop.run({"--run", "r", "--max-attempts", "1"}, {program}).status != 0);
  const std::string told = shop.triage({"explain", "r", "--json"}).out;
  CHECK_THAT(told, ContainsSubstring("at the beginning") && ContainsSubstring(" bytes … ") &&
                       ContainsSubstring("and at the end"));
  CHECK(told.size() < 100'000);
}

TEST_CASE("lines of the pipe that nobody can read are told and skipped", "[protocol]") {
  const Workshop shop;
  const std::string deep(100'000, '[');
  std::ofstream(shop.file("lines")) << "{\"step\": \"one\"}\n"
                                    << "{\"state\": {\"a\": " << deep << '\n'
                                    << "{\"step\": \"caf\xe9\"}\n"
                                    << "{\"usage\": {\"input_tokens\": 1.5}}\n"
                                    << "{\"step\": \"two\"}\n";
  const Printed printed =
      shop.run({"--run", "r"}, {"sh", "-c", "cat " + shop.file("lines") + " >&$TRIAGE_FD"});
  CHECK(printed.status == 0);
  CHECK_THAT(printed.error, ContainsSubstring("it is nested deeper than 256 levels") &&
                                ContainsSubstring("it is not JSON in UTF-8") &&
                                ContainsSubstring("usage.input_tokens is 1.5"));
  CHECK(journal_of(shop, "r").trajectory().size() == 2);
}

TEST_CASE("a client that asks much before it reads is answered, and nobody waits for ever",
          "[protocol]") {
  if (!has_python()) return;
  const Workshop shop;
  std::ofstream(shop.file("ask.py")) << impatient;
  // A supervisor that waits for ever does not look at its timeouts either.
  std::vector<std::string> bounded{"/usr/bin/timeout", "--signal=KILL", "60"};
  const auto line =
      shop.run_line({"--max-attempts", "1"}, {"/usr/bin/env", "python3", shop.file("ask.py")});
  bounded.insert(bounded.end(), line.begin(), line.end());
  const Printed printed = run_program(bounded);
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out == "all answered\n");
}

TEST_CASE("a run whose effect is in doubt ends at once, and goes on when a person has found out",
          "[protocol][doubt]") {
  const Workshop shop;
  // The first attempt dies in the middle of its effect.
  const std::string program = shop.script(
      "pays", "T='" TRIAGE_COMMAND
              "'\necho attempt >> $W/attempts\n"
              "$T effect pay -- sh -c \"echo paid >> $W/paid; [ -e $W/dead ] || { touch $W/dead; "
              "kill -KILL \\$PPID; }\" || exit\necho receipt done");
  const Printed asked = shop.run({"--run", "r", "--exit-status", "triage"}, {program});
  INFO(asked.error);
  CHECK(asked.status == 5);
  CHECK_THAT(asked.error,
             ContainsSubstring("run r waits for a person: effect \"pay\": it was begun earlier and "
                               "its outcome is not known. Find out whether it happened, record it "
                               "with `triage settle r pay done --store " +
                               shop.store() + "` (or not-done), and `triage resume r --store " +
                               shop.store() + "` goes on\n"));
  // `triage effect` has said it, too.
  CHECK_THAT(asked.error,
             ContainsSubstring("record it: triage settle r pay done|not-done --store " +
                               shop.store() + "\n"));
  // One attempt that dies, one that finds the doubt, and none that would only find it again.
  CHECK(read_text(shop.file("attempts")) == "attempt\nattempt\n");
  CHECK(shop.triage({"settle", "r", "pay", "done", "\"R-17\""}).status == 0);
  const Printed resumed = shop.triage({"resume", "r"});
  INFO(resumed.error);
  CHECK(resumed.status == 0);
  CHECK(resumed.out == "R-17receipt done\n");
  CHECK(read_text(shop.file("paid")) == "paid\n");
}

TEST_CASE("a program that goes on after a doubt is tried again when it fails of something else",
          "[protocol][doubt]") {
  const Workshop shop;
  // The first attempt dies in its effect, the second one goes on without it, and then fails.
  const std::string program = shop.script(
      "pays",
      "T='" TRIAGE_COMMAND
      "'\necho attempt >> $W/attempts\n"
      "$T effect pay -- sh -c \"[ -e $W/dead ] || { touch $W/dead; kill -KILL \\$PPID; }\"\n"
      "asked=$?\n[ $TRIAGE_ATTEMPT = 1 ] && exit $asked\n"
      "$T step 'ask for the money later'\n"
      "[ $TRIAGE_ATTEMPT = 3 ] || { echo HTTP 503 >&2; exit 4; }");
  const Printed printed = shop.run({"--run", "r", "--exit-status", "triage"}, {program});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(read_text(shop.file("attempts")) == "attempt\nattempt\nattempt\n");
}

TEST_CASE("what another connection reports meanwhile says nothing about a doubt",
          "[protocol][doubt]") {
  if (!has_python()) return;
  const Workshop shop;
  std::ofstream(shop.file("two.py")) << R"(
import json, os, signal, socket, sys
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["TRIAGE_SOCKET"])
    return s.makefile("rw")
def ask(f, message):
    print(json.dumps(dict(message, id=1)), file=f, flush=True)
    return json.loads(f.readline())
payer, worker = connect(), connect()
answer = ask(payer, {"effect": {"key": "pay"}})
if os.environ["TRIAGE_ATTEMPT"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
assert answer["code"] == "in_doubt", answer
assert ask(worker, {"step": {"action": "other work"}})["ok"]
sys.exit(3)
)";
  const Printed printed = shop.run({"--run", "r", "--exit-status", "triage"},
                                   {"/usr/bin/env", "python3", shop.file("two.py")});
  INFO(printed.error);
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error, ContainsSubstring("run r waits for a person"));
}

TEST_CASE("what is reported after the connection of a doubt was closed settles it, however soon",
          "[protocol][doubt]") {
  if (!has_python()) return;
  const Workshop shop;
  std::ofstream(shop.file("two.py")) << R"(
import json, os, signal, socket, sys
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["TRIAGE_SOCKET"])
    return s
def ask(s, message):
    s.sendall((json.dumps(dict(message, id=1)) + "\n").encode())
    return json.loads(s.recv(65536))
worker = connect()
ask(worker, {"get": "state"})
payer = connect()
answer = ask(payer, {"effect": {"key": "pay"}})
if os.environ["TRIAGE_ATTEMPT"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
assert answer["code"] == "in_doubt", answer
os.kill(os.getppid(), signal.SIGSTOP)  # It will find both at the same time.
payer.close()
worker.sendall(b'{"step": "other work"}\n')
os.kill(os.getppid(), signal.SIGCONT)
ask(worker, {"drain": True})
print("HTTP 503", file=sys.stderr)
sys.exit(3)
)";
  const Printed printed = shop.run({"--run", "r", "--max-attempts", "2"},
                                   {"/usr/bin/env", "python3", shop.file("two.py")});
  INFO(printed.error);
  CHECK_THAT(printed.error, ContainsSubstring("attempt 2 failed: external_fault"));
}

TEST_CASE("a value of the state that is not UTF-8 is refused", "[protocol]") {
  const Workshop shop;
  const Printed printed = shop.run(
      {}, {shop.script("a", "T='" TRIAGE_COMMAND "'\n$T state set \"d=$(printf 'caf\\351')\"\n"
                            "echo $?\n$T state get d --default none\n")});
  CHECK(printed.out == "2\nnone\n");
  CHECK_THAT(printed.error, ContainsSubstring(R"("d=caf\xe9" is not UTF-8)"));
}

TEST_CASE("an effect replays the bytes that it printed, whatever they are", "[protocol]") {
  const Workshop shop;
  const Printed printed = shop.run(
      {}, {shop.script("a", "T='" TRIAGE_COMMAND
                            "'\nsay() { $T effect x -- printf 'caf\\351\\000\\n'; }\nsay; say")});
  CHECK(printed.status == 0);
  CHECK(printed.out == std::string("caf\xe9\0\ncaf\xe9\0\n", 12));
}

TEST_CASE("an effect passes all of its output on, and keeps a megabyte of it for later",
          "[protocol]") {
  const Workshop shop;
  const std::string effect =
      std::string("'") + TRIAGE_COMMAND + "' effect big -- head -c 300000000 /dev/zero | wc -c";
  const Printed printed =
      shop.run({}, {"sh", "-c", "ulimit -v 200000; " + effect + "; " + effect + "; exit 0"});
  CHECK(printed.out == "300000000\n1048576\n");
}
