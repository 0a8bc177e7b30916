// SPDX-License-Identifier: MIT
// `triage run` of programs that are stopped, and signals that reach them then.
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

bool is_stopped(const std::string& pid) {
  const std::string stat = read_text("/proc/" + pid + "/stat");
  return stat[stat.rfind(") ") + 2] == 'T';
}

}  // namespace

TEST_CASE("time in which everything is stopped is not the program's", "[signals]") {
  const Workshop shop;
  REQUIRE(::mkfifo(shop.file("go").c_str(), 0600) == 0);
  const int go = ::open(shop.file("go").c_str(), O_RDWR | O_CLOEXEC);
  const std::string program = shop.script("a",
                                          "echo $PPID:$$ > $W/told\n"
                                          "read x < $W/go\n"
                                          "sleep 0.3; exit 0");
  const auto check = [&](const char* limit, bool asked) {
    Beside running(shop.run_line({limit, "1s", "--max-attempts", "1"}, {program}));
    const std::string both = shop.next_word();
    const std::string supervisor = both.substr(0, both.find(':'));
    const std::string child = both.substr(both.find(':') + 1);
    if (asked) {
      running.signal(SIGTSTP);
    } else {  // As a container that is paused.
      ::kill(std::stoi(child), SIGSTOP);
      running.signal(SIGSTOP);
    }
    while (!is_stopped(supervisor)) std::this_thread::yield();
    REQUIRE(run_program({"/bin/sleep", "1.5"}).status == 0);  // Longer than the limit.
    REQUIRE(::write(go, "x\n", 2) == 2);
    ::kill(std::stoi(child), SIGCONT);
    running.signal(SIGCONT);
    INFO(limit << (asked ? ", asked to stop" : ", stopped"));
    CHECK(running.wait() == 0);
  };
  check("--idle-timeout", true);
  check("--idle-timeout", false);
  check("--timeout", true);
  ::close(go);
}

TEST_CASE("a program of another user that cannot be ended is told of", "[signals]") {
  if (::getuid() != 0 || run_program({"/bin/sh", "-c", "command -v setpriv"}).status != 0) {
    WARN("only root can become another user, with setpriv");
    return;
  }
  const std::vector<std::string> as_another{"/usr/bin/env", "setpriv", "--reuid", "65534",
                                            "--clear-groups"};
  std::vector<std::string> look = as_another;
  look.insert(look.end(), {"test", "-x", std::filesystem::current_path().string()});
  if (run_program(look).status != 0) {
    WARN("another user cannot come to the tests");
    return;
  }
  const Workshop shop;
  std::filesystem::permissions(std::filesystem::path(shop.file("a")).parent_path(),
                               std::filesystem::perms::all);
  // What sudo does: both of its user ids are root's.
  const std::string copy =
      "p=$(command -v setpriv); cp $p " + shop.file("sudo") + " && chmod 4755 " + shop.file("sudo");
  REQUIRE(run_program({"/bin/sh", "-c", copy}).status == 0);
  std::vector<std::string> line = as_another;
  for (const std::string& word :
       shop.run_line({"--timeout", "100ms", "--kill-after", "50ms", "--max-attempts", "1"},
                     {shop.file("sudo"), "--reuid", "0", "sleep", "1"})) {
    line.push_back(word);
  }
  const std::string told = run_program(line).error;
  const std::size_t at = told.find("cannot be ended: it belongs to another user");
  INFO(told);
  CHECK(at != std::string::npos);
  CHECK(told.find("another user", at + 40) == std::string::npos);
}

TEST_CASE("a program that is stopped hears that it is to end", "[signals]") {
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "trap 'echo bye > $W/said; exit 3' TERM\n"
                  "{ until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done\n"
                  "  echo stopped > $W/told; } &\n"
                  "kill -STOP $$\n"
                  "wait; exit 4");
  Beside running(
      shop.run_line({"--max-attempts", "1", "--kill-after", "10s", "--quiet"}, {program}));
  CHECK(shop.next_word() == "stopped");
  CHECK(running.end_with(SIGTERM) == 3);
  CHECK(read_text(shop.file("said")) == "bye\n");
}
