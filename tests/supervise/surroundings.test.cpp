// SPDX-License-Identifier: MIT
// What `triage run` inherits from its caller, and what it leaves alone.
#include "supervise/running.hpp"

#include "supervise/process/leftovers.hpp"
#include "supervise/process/private_folder.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace triage;
using namespace triage::test;
using triage::supervise::end_leftovers;
using triage::supervise::lineage_variable;
using triage::supervise::mark_of;

namespace {

// The caller ignores this signal, as it is inherited by what it executes.
std::vector<std::string> ignoring(const std::string& signal, const std::vector<std::string>& line) {
  std::vector<std::string> all{"/usr/bin/env", "--ignore-signal=" + signal};
  all.insert(all.end(), line.begin(), line.end());
  return all;
}

std::string line_in(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// With mounts of its own.
std::vector<std::string> in_namespace(const std::string& line) {
  return {"/usr/bin/env", "unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", line};
}

// In this process: what its environment was can no longer be read, as while it executes a program.
void hide_environment() {
  std::istringstream fields(read_text("/proc/self/stat"));
  std::string field;
  for (int skipped = 1; skipped < 50; ++skipped) fields >> field;  // Source: proc(5).
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  fields >> begin >> end;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  begin -= begin % page;
  end += (page - end % page) % page;
  ::munmap(reinterpret_cast<void*>(begin), end - begin);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

TEST_CASE("a caller that ignores the ends of children learns how the program ended",
          "[surroundings]") {
  const Workshop shop;
  CHECK(run_program(ignoring("CHLD", shop.run_line({"--quiet", "--max-attempts", "1"},
                                                   {shop.script("a", "exit 3")})))
            .status == 3);
  // The same for an effect, which a service's wrapper may start in the same way.
  const std::string program = shop.script("b", std::string("env --ignore-signal=CHLD ") +
                                                   TRIAGE_COMMAND + " effect k -- sh -c 'exit 4'");
  CHECK(shop.run({"--quiet", "--max-attempts", "1"}, {program}).status == 4);
}

TEST_CASE("a run under nohup goes on when the terminal is closed", "[surroundings]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  const std::string program =
      shop.script("a",
                  "[ $TRIAGE_ATTEMPT = 2 ] && exit 0\n"
                  "echo ready > $W/told\nread go < $W/go\necho HTTP 503 >&2\nexit 1");
  Beside run(ignoring("HUP", shop.run_line({}, {program})));
  REQUIRE(shop.next_word() == "ready");
  run.signal(SIGHUP);
  std::ofstream(shop.file("go")) << "go\n";
  CHECK(run.wait() == 0);  // A run that was stopped would not have begun a second attempt.
}

TEST_CASE("what a script has started before it became triage is not ended", "[surroundings]") {
  const Workshop shop;
  const std::string entry =
      shop.script("entry", std::string("sleep 1000 & echo $! > $W/server\nexec ") + TRIAGE_COMMAND +
                               " run --store $W/runs.db -- sh -c 'setsid sleep 1000 &'");
  CHECK(run_program({entry}).status == 0);
  const std::string server = line_in(shop.file("server"));
  CHECK(lives(server));
  ::kill(std::stoi(server), SIGKILL);
  CHECK(end_orphans() == 0);  // The program's own one has ended.
}

TEST_CASE("what is left by what a script has started before it became triage is not ended",
          "[surroundings]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  const std::string program = shop.script(
      "a",
      "echo go > $W/go\n"
      "until [ \"$(cut -d ' ' -f 4 /proc/$(cat $W/server)/stat)\" = $PPID ]; do sleep 0.02; done");
  const std::string entry = shop.script(
      "entry", std::string("{ sleep 1000 & echo $! > $W/server; read go < $W/go; } &\n") +
                   "until [ -s $W/server ]; do :; done\n"
                   // What begins from here on has a later start time, of which one is 10 ms.
                   "begun() { cut -d ' ' -f 22 /proc/$1/stat; }\n"
                   "while [ $(begun self) = $(begun $(cat $W/server)) ]; do :; done\nexec " +
                   TRIAGE_COMMAND + " run --timeout 20s --store $W/runs.db -- " + program);
  CHECK(run_program({entry}).status == 0);
  const std::string server = line_in(shop.file("server"));
  CHECK((lives(server) && !is_being_killed(server)));
  ::kill(std::stoi(server), SIGKILL);
  CHECK(end_orphans() == 0);
}

TEST_CASE("whoever is left by the program is asked to end, however deep", "[surroundings]") {
  const Workshop shop;
  const std::string deep = shop.script("deep",
                                       "trap 'echo asked > $W/asked; exit 0' TERM\n: > $W/there\n"
                                       "while :; do sleep 0.02; done");
  const std::string deaf =
      shop.script("deaf", "trap '' TERM\nenv --default-signal=TERM " + deep + " &\nwait");
  const std::string program =
      shop.script("a", "setsid " + deaf + " &\nuntil [ -e $W/there ]; do sleep 0.02; done");
  CHECK(shop.run({"--kill-after", "1s"}, {program}).status == 0);
  CHECK(line_in(shop.file("asked")) == "asked");
}

TEST_CASE("processes that replace each other for ever do not outlive the attempt",
          "[surroundings]") {
  const Workshop shop;
  // Each ignores SIGTERM, and starts the next one when its own parent has been killed.
  const std::string heir = shop.script(
      "heir",
      "trap '' TERM\n[ \"$1\" = 0 ] || while kill -0 $1 2>/dev/null; do sleep 0.02; done\n"
      "setsid \"$0\" $$ &\nwhile :; do sleep 0.02; done");
  CHECK(shop.run({"--kill-after", "200ms"}, {shop.script("a", "setsid " + heir + " 0 &")}).status ==
        0);
}

TEST_CASE("an attempt begins although the folder of its socket was tidied away", "[surroundings]") {
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "[ -S $TRIAGE_SOCKET ] || exit 2\n"
                  "[ $TRIAGE_ATTEMPT = 2 ] && exit 0\n"
                  "rm -r \"$(dirname $TRIAGE_SOCKET)\"\necho HTTP 503 >&2\nexit 1");
  CHECK(shop.run({"--max-attempts", "2"}, {program}).status == 0);
}

TEST_CASE("a folder for temporary files with a long path is no obstacle", "[surroundings]") {
  const Workshop shop;
  const std::string deep = shop.file(std::string(100, 'd'));
  std::filesystem::create_directory(deep);
  auto line = shop.run_line({}, {"sh", "-c", TRIAGE_COMMAND " step a && echo $TRIAGE_SOCKET"});
  line.insert(line.begin(), {"/usr/bin/env", "--unset=XDG_RUNTIME_DIR", "TMPDIR=" + deep});
  const Printed printed = run_program(line);
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(printed.out.starts_with("/tmp/triage-run-"));
}

TEST_CASE("folders of dead supervisors are removed, but not those of other containers",
          "[surroundings]") {
  const Workshop shop;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid").string();
  const std::string number = space.substr(5, space.size() - 6);  // "pid:[4026531836]".
  const std::string gone = shop.file("triage-run-" + number + ".999999999-abcdef");
  const std::string elsewhere = shop.file("triage-run-1" + number + ".999999999-abcdef");
  std::filesystem::create_directory(gone);
  std::filesystem::create_directory(elsewhere);
  CHECK(triage::supervise::PrivateFolder::make(std::filesystem::path(gone).parent_path()));
  CHECK_FALSE(std::filesystem::exists(gone));
  CHECK(std::filesystem::exists(elsewhere));
}

TEST_CASE("two effects within an effect have keys of their own", "[surroundings]") {
  const Workshop shop;
  const std::string triage = TRIAGE_COMMAND;
  const std::string inner =
      shop.script("inner", "printenv TRIAGE_IDEMPOTENCY_KEY > $W/outer\n" + triage +
                               " effect b -- printenv TRIAGE_IDEMPOTENCY_KEY > $W/one\n" + triage +
                               " effect c -- printenv TRIAGE_IDEMPOTENCY_KEY > $W/other");
  CHECK(shop.run({}, {TRIAGE_COMMAND, "effect", "a", "--", inner}).status == 0);
  const std::string outer = line_in(shop.file("outer"));
  const std::string one = line_in(shop.file("one"));
  CHECK_FALSE(outer.empty());
  CHECK(one != outer);
  CHECK(line_in(shop.file("other")) != outer);
  CHECK(read_text(shop.file("one")) == one + "\n");  // No second value behind it.
}

TEST_CASE("a group with the numbers of another container's is left alone", "[surroundings]") {
  const Workshop shop;
  const Beside bystander(
      {"/usr/bin/env", "setsid", shop.script("a", "echo $$ > $W/told\nsleep 1000")});
  const std::string pid = shop.next_word();
  auto mark = mark_of(std::stoi(pid));
  REQUIRE(mark);
  mark.value().token = "of-another-run";
  const std::string here = mark.value().boot;
  mark.value().boot = here.substr(0, here.find('/')) + "/12345";
  CHECK(end_leftovers(mark.value()).value() == 0);
  CHECK(lives(pid));
  mark.value().boot = here;
  CHECK(end_leftovers(mark.value()).value() > 0);
  CHECK_FALSE(lives(pid));
}

TEST_CASE("what is executing a program is looked at again until its environment is known",
          "[surroundings]") {
  const std::string token = "of-test-" + std::to_string(::getpid());
  const std::string variable = std::string(lineage_variable) + "=/" + token + "/";
  std::array<char*, 3> command{const_cast<char*>("/bin/sleep"), const_cast<char*>("1000"), nullptr};
  std::array<char*, 2> environment{const_cast<char*>(variable.c_str()), nullptr};
  std::array<int, 2> hidden{};
  REQUIRE(::pipe(hidden.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setsid();
    hide_environment();
    static_cast<void>(::write(hidden[1], "", 1));
    ::poll(nullptr, 0, 200);  // Long enough for two looks at all processes.
    ::execve(command[0], command.data(), environment.data());
    ::_exit(127);
  }
  char byte = 0;
  REQUIRE(::read(hidden[0], &byte, 1) == 1);
  auto mark = mark_of(::getpid());
  REQUIRE(mark);
  mark.value().pid = 0;
  mark.value().token = token;
  const auto ended = end_leftovers(mark.value());
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(ended.value() == 1);
  ::close(hidden[0]);
  ::close(hidden[1]);
}

TEST_CASE("the socket of a program stays where its user logs out", "[surroundings]") {
  const Workshop shop;
  std::filesystem::create_directory(shop.file("session"));
  auto line = shop.run_line(
      {}, {shop.script("a", "rm -r $W/session\n" TRIAGE_COMMAND " state set page=1")});
  line.insert(line.begin(), {"/usr/bin/env", "XDG_RUNTIME_DIR=" + shop.file("session")});
  const Printed printed = run_program(line);
  INFO(printed.error);
  CHECK(printed.status == 0);
}

TEST_CASE("where no folder for sockets can be made, nothing is run", "[surroundings]") {
  const Workshop shop;
  const std::string own = "'" + shop.file("") + "'";
  std::string line = "set -e; unset XDG_RUNTIME_DIR TMPDIR; mount --bind " + own + ' ' + own;
  for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"}) {
    line += std::string("; mount --rbind ") + folder + ' ' + folder +
            " && mount -o remount,bind,ro " + folder;
  }
  line += "; exec";
  for (const std::string& word : shop.run_line({}, {"touch", shop.file("ran")})) {
    line += " '" + word + "'";
  }
  const Printed printed = run_program(in_namespace(line));
  if (printed.status == 1) {
    WARN("no user namespace can be made: " << printed.error);
    return;
  }
  INFO(printed.error);
  CHECK(printed.status == 9);
  CHECK_THAT(printed.error, ContainsSubstring("nothing was run: no folder can be made in /tmp (") &&
                                !ContainsSubstring("attempt"));
  CHECK_FALSE(std::filesystem::exists(shop.file("ran")));
}

TEST_CASE("what the next attempt is told goes where there is room", "[surroundings]") {
  const Workshop shop;
  const std::string program = shop.script(
      "a",
      "[ $TRIAGE_ATTEMPT = 2 ] && wc -c < $TRIAGE_RECOVERY && exit 0\n"
      "(printf '{\"state\": {\"x\": \"'; head -c 300000 /dev/zero | tr '\\0' x; echo '\"}}')"
      " >&$TRIAGE_FD\necho 'HTTP 503' >&2\nexit 1");
  std::string line = "mount -t tmpfs -o size=100k none '" + shop.file("small") + "' && TMPDIR='" +
                     shop.file("small") + "' exec";
  std::filesystem::create_directory(shop.file("small"));
  for (const std::string& word : shop.run_line({}, {program})) line += " '" + word + "'";
  const Printed printed = run_program(in_namespace(line));
  if (printed.status != 0 && printed.error.find("unshare") != std::string::npos) {
    WARN("no user namespace can be made");
    return;
  }
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(std::atoi(printed.out.c_str()) > 300'000);
}

TEST_CASE("an outer effect's idempotency key is not the one of an inner run's program",
          "[surroundings]") {
  const Workshop shop;
  auto line = shop.run_line({}, {"sh", "-c", "echo \"<$TRIAGE_IDEMPOTENCY_KEY>\""});
  line.insert(line.begin(), {"/usr/bin/env", "TRIAGE_IDEMPOTENCY_KEY=outer"});
  CHECK(run_program(line).out == "<>\n");
}

TEST_CASE("a workspace without a place for its files is refused before anything is run",
          "[surroundings][workspace]") {
  const Workshop shop;
  std::filesystem::create_directory(shop.file("tree"));
  auto line = shop.run_line({"--workspace", shop.file("tree")}, {"touch", shop.file("ran")});
  line.insert(line.begin(), {"/usr/bin/env", "--unset=HOME", "--unset=XDG_STATE_HOME"});
  const Printed printed = run_program(line);
  CHECK(printed.status == 2);
  CHECK_THAT(printed.error, ContainsSubstring("neither XDG_STATE_HOME nor HOME"));
  CHECK_FALSE(std::filesystem::exists(shop.store()));
}
