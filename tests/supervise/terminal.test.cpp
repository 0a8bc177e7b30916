// SPDX-License-Identifier: MIT
// `triage run` whose standard input is a terminal.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Runs its arguments on a terminal of 33 lines, types `typed` bytes of y and a newline, or $TYPED,
// once something is printed, and prints what the terminal shows, with "<LF>" for the end of a line
// after which the next one does not begin at the left. Ends with the command's status.
constexpr const char* at_a_terminal = R"(
import fcntl, os, pty, select, struct, sys, termios
typed, command = int(sys.argv[1]), sys.argv[2:]
pid, ours = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    os.execvp(command[0], command)
os.set_blocking(ours, False)
left, printed = b"", b""
while True:
    readable, writable, _ = select.select([ours], [ours] if left else [], [])
    if readable:
        try:
            block = os.read(ours, 65536)
        except OSError:  # The command has closed it.
            break
        if not printed: left = os.environ.get("TYPED", "y" * typed + "\n").encode()
        printed += block
    if writable: left = left[os.write(ours, left[:1000]):]
lines = printed.decode(errors="replace").split("\r\n")
sys.stdout.write("\n".join(line.replace("\n", "<LF>") for line in lines))
status = os.waitpid(pid, 0)[1]
sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
)";

// redirected: as a shell has it behind a command.
Printed typing(const Workshop& shop, int bytes, const std::vector<std::string>& line,
               const std::string& redirected = "") {
  std::ofstream(shop.file("terminal.py")) << at_a_terminal;
  std::vector<std::string> all{"/usr/bin/env", "python3", shop.file("terminal.py"),
                               std::to_string(bytes)};
  if (!redirected.empty()) {
    const std::string shell = "\"$@\" " + redirected;
    all.insert(all.end(), {"/bin/sh", "-c", shell, "sh"});
  }
  all.insert(all.end(), line.begin(), line.end());
  return run_program(all);
}

Printed typing_keys(const Workshop& shop, const std::string& keys,
                    const std::vector<std::string>& line) {
  ::setenv("TYPED", keys.c_str(), 1);
  const Printed printed = typing(shop, 0, line);
  ::unsetenv("TYPED");
  return printed;
}

}  // namespace

TEST_CASE("at a terminal the program has a terminal", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string program = shop.script(
      "a", "stty size\n[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && read x && echo \"<$x>\"; exit 3");
  const Printed printed =
      typing(shop, 2, shop.run_line({"--max-attempts", "1", "--quiet"}, {program}));
  INFO(printed.out << printed.error);
  CHECK(printed.status == 3);
  CHECK(printed.out.starts_with("33 99\n"));
  CHECK(printed.out.ends_with("<yy>\n"));
}

TEST_CASE("an effect may ask somebody at the terminal", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string asks = shop.script("asks", "echo sure? >&2\nread x\necho \"<$x>\"");
  const Printed printed = typing(shop, 3,
                                 shop.run_line({"--timeout", "20s", "--max-attempts", "1"},
                                               {TRIAGE_COMMAND, "effect", "send", "--", asks}));
  INFO(printed.out << printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out.ends_with("<yyy>\n"));
}

TEST_CASE("a paste into a program that reads nothing does not hold up its timeout", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string deaf = shop.script("deaf", "stty raw -echo\necho ready\nexec sleep 1000");
  const Printed printed = typing(
      shop, 300'000, shop.run_line({"--timeout", "2s", "--max-attempts", "1", "--quiet"}, {deaf}));
  CHECK(printed.status == 128 + SIGTERM);
}

TEST_CASE("the journal names the session that a terminal's program has", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const Printed printed =
      typing(shop, 0, shop.run_line({"--run", "r", "--quiet"}, {shop.script("a", "echo $$")}));
  REQUIRE(printed.status == 0);
  const std::string pid = printed.out.substr(0, printed.out.find('\n'));
  const Printed listed = shop.triage({"checkpoint", "list", "--run", "r", "--all", "--json"});
  CHECK_THAT(listed.out, ContainsSubstring("process " + pid + " session " + pid + " start"));
}

TEST_CASE("progress is told as JSON Lines where JSON is asked for, at a terminal, too",
          "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string file = shop.file("coins.yaml");
  std::ofstream(file) << "experiment: coins\nseeds: 12000\nagent: {steps: 3, recovers: 0.5}\n"
                         "policies: [none, blind_retry]\n";
  const Printed printed =
      typing(shop, 0, {TRIAGE_COMMAND, "experiment", file, "--json", "--store", shop.store()});
  INFO(printed.out << printed.error);
  CHECK(printed.status == 0);
  CHECK_THAT(printed.out, !ContainsSubstring("triage: coins") && !ContainsSubstring("\r"));
}

TEST_CASE("at a terminal a stream that is redirected leaves the other one on the screen",
          "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "i=0\nwhile [ $i -lt 2000 ]; do i=$((i + 1)); echo a long line of the output; "
                  "echo a long line of the errors >&2; done\n"
                  "echo END; echo ERROR END >&2; [ -z \"$1\" ] || read x; exit 3");
  const auto run = [&](const std::string& redirected, const char* reads = "") {
    return typing(
        shop, 1,
        shop.run_line({"--timeout", "30s", "--max-attempts", "1", "--quiet"}, {program, reads}),
        redirected);
  };
  const Printed errors = run("> " + shop.file("out"));
  CHECK(errors.status == 3);
  CHECK(errors.out.ends_with("the errors\nERROR END\n"));
  CHECK(read_text(shop.file("out")).ends_with("the output\nEND\n"));

  const Printed output = run("2> " + shop.file("error"));
  CHECK(output.status == 3);
  CHECK(output.out.ends_with("the output\nEND\n"));
  CHECK(read_text(shop.file("error")).ends_with("the errors\nERROR END\n"));

  // Neither is a terminal, but what was typed is shown.
  const Printed none = run("> " + shop.file("both") + " 2>&1; tail -n 1 " + shop.file("both"));
  CHECK_THAT(none.out, ContainsSubstring("END\n"));
  const Printed echoed = run("2>&1 | cat", "reads");
  CHECK_THAT(echoed.out, ContainsSubstring("ERROR END"));
  CHECK_THAT(echoed.out, ContainsSubstring("y\n"));
}

TEST_CASE("at a terminal every line begins at the left, whoever prints it", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string program =
      shop.script("a", "echo no JSON >&$TRIAGE_FD\necho output\necho error >&2");
  const std::vector<std::string> line = shop.run_line({"--max-attempts", "1"}, {program});
  for (const std::string redirected : {"", "| cat", "2>&1 | cat"}) {
    const Printed printed = typing(shop, 0, line, redirected);
    CHECK_THAT(printed.out, ContainsSubstring("triage: a line of the program was skipped"));
    CHECK_THAT(printed.out, ContainsSubstring("output\n") && ContainsSubstring("error\n"));
    CHECK_THAT(printed.out, !ContainsSubstring("<LF>") && !ContainsSubstring("\r"));
  }
}

TEST_CASE("at a terminal a stop from outside stops the program, too", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  // Something outside of the program's group sees both stopped, and lets the supervisor go on.
  shop.script("watch",
              "echo ready > $W/ready\n"
              "until grep -q '^State:.T' /proc/$2/status; do sleep 0.01; done\n"
              "n=0; until grep -q '^State:.T' /proc/$1/status || [ $n -gt 500 ]; do\n"
              "n=$((n + 1)); sleep 0.01; done\n"
              "if [ $n -gt 500 ]; then echo running; else echo stopped; fi > $W/state\n"
              "kill -CONT $2");
  const std::string program =
      shop.script("a",
                  "setsid $W/watch $$ $PPID &\n"
                  "until [ -s $W/ready ]; do sleep 0.01; done\n"
                  "kill -TSTP $PPID\n"
                  // Starts nothing: a shell is not yet stopped while a child of it is.
                  "until [ -s $W/state ]; do :; done\nwait\n"
                  "cat $W/state; exit 3");
  const Printed printed = typing(
      shop, 0, shop.run_line({"--timeout", "30s", "--max-attempts", "1", "--quiet"}, {program}));
  CHECK(printed.status == 3);
  INFO(printed.out);
  CHECK(printed.out.starts_with("stopped\n"));
}

TEST_CASE("in the background of a terminal a program that reads is not stopped for ever",
          "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  std::vector<std::string> line{"/bin/sh", "-m", "-c", "\"$@\" & wait $!", "sh"};
  for (const std::string& word :
       shop.run_line({"--timeout", "10s", "--max-attempts", "1", "--quiet"},
                     {shop.script("a", "read x; echo \"<$x>\"; exit 3")})) {
    line.push_back(word);
  }
  const Printed printed = typing(shop, 0, line);
  CHECK(printed.status == 3);
  CHECK(printed.out.starts_with("<>\n"));
}

TEST_CASE("at a terminal errors are evidence, too, where the output is redirected", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string program = shop.script("a", "echo HTTP 429 Too Many Requests >&2; exit 1");
  const Printed printed =
      typing(shop, 0, shop.run_line({"--max-attempts", "1"}, {program}), "> /dev/null");
  CHECK(printed.status == 1);
  CHECK_THAT(printed.out, ContainsSubstring("(rate_limited)"));
}

TEST_CASE("Ctrl-C at a terminal stops the run, however its program ends then", "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const auto [keys, name, number] =
      GENERATE(std::tuple{"\3", "INT", SIGINT}, std::tuple{"\34", "QUIT", SIGQUIT});
  const std::string status = GENERATE("0", "1", "130", "131");
  const std::string program = shop.script(
      "a", "trap 'exit " + status + "' " + name + "\necho ready\nwhile :; do sleep 0.01; done");
  const Printed printed =
      typing_keys(shop, keys, shop.run_line({"--run", "r", "--timeout", "20s"}, {program}));
  INFO(printed.out);
  CHECK(printed.status == (status == "0" ? 128 + number : std::stoi(status)));
  CHECK_THAT(printed.out, ContainsSubstring("run r was stopped") && !ContainsSubstring("retry"));
  CHECK_THAT(shop.triage({"runs"}).out, ContainsSubstring("cancelled"));
}

TEST_CASE("at a terminal the status of an interruption counts also long after Ctrl-C",
          "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  const std::string program =
      shop.script("a", "trap 'sleep 0.2; exit 130' INT\necho ready\nwhile :; do sleep 0.01; done");
  const Printed printed = typing_keys(
      shop, "\3",
      shop.run_line({"--run", "r", "--timeout", "20s", "--kill-after", "1ms"}, {program}));
  INFO(printed.out);
  CHECK(printed.status == 130);
  CHECK_THAT(printed.out, ContainsSubstring("run r was stopped"));
}

TEST_CASE(
    "at a terminal Ctrl-C is a key like others for a program that reads on, or takes it itself",
    "[terminal]") {
  if (!has_python()) return;
  const Workshop shop;
  std::string program;
  SECTION("it stops only its current work") {
    program = shop.script("a",
                          "trap 'x=interrupted' INT\necho ready\n"
                          "until read y && [ \"$y\" = quit ]; do :; done\nexit 0");
  }
  SECTION("its terminal makes no signals") {
    program = shop.script("a", "stty -isig\necho ready\nread y\nexit 0");
  }
  const Printed printed =
      typing_keys(shop, "\3\nquit\n", shop.run_line({"--run", "r", "--timeout", "20s"}, {program}));
  INFO(printed.out);
  CHECK(printed.status == 0);
  CHECK_THAT(shop.triage({"runs"}).out, ContainsSubstring("finished"));
}
