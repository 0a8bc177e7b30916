// SPDX-License-Identifier: MIT
// `triage run` whose standard input is a terminal.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Runs its arguments on a terminal of 33 lines, types `typed` bytes of y and a newline once
// something is printed, and prints what the terminal shows. Ends with the command's status.
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
        if not printed: left = b"y" * typed + b"\n"
        printed += block
    if writable: left = left[os.write(ours, left[:1000]):]
sys.stdout.write(printed.decode(errors="replace").replace("\r\n", "\n"))
status = os.waitpid(pid, 0)[1]
sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
)";

Printed typing(const Workshop& shop, int bytes, const std::vector<std::string>& line) {
  std::ofstream(shop.file("terminal.py")) << at_a_terminal;
  std::vector<std::string> all{"/usr/bin/env", "python3", shop.file("terminal.py"),
                               std::to_string(bytes)};
  all.insert(all.end(), line.begin(), line.end());
  return run_program(all);
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
