// SPDX-License-Identifier: MIT
// `triage run`: programs that succeed, fail, hang, or leave something behind.
#include "supervise/running.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <thread>

using namespace triage;
using namespace triage::test;

TEST_CASE("a program that works is passed through, and its status is the command's", "[run]") {
  const Workshop shop;
  const Printed printed = shop.run({}, {"sh", "-c", "echo out; echo err >&2; exit 0"});
  CHECK(printed.status == 0);
  CHECK(printed.out == "out\n");
  CHECK(printed.error == "err\n");
  struct stat store {};
  REQUIRE(::stat(shop.store().c_str(), &store) == 0);
  CHECK((store.st_mode & 0777U) == 0600U);
}

TEST_CASE("a program that dies by a signal is begun anew, and one line says why", "[run]") {
  const Workshop shop;
  const Printed printed =
      shop.run({}, {shop.script("a",
                                "[ $TRIAGE_ATTEMPT -gt 1 ] && echo done && exit 0\n"
                                "kill -SEGV $$")});
  CHECK(printed.status == 0);
  CHECK(printed.out == "done\n");
  CHECK_THAT(printed.error, ContainsSubstring("attempt 1 failed: crashed (killed_by_signal)"));
  CHECK_THAT(printed.error, ContainsSubstring("SIGSEGV"));
  CHECK_THAT(printed.error, ContainsSubstring("retry"));
}

TEST_CASE("the line about a failure quotes the last line of what the program said", "[run]") {
  const Workshop shop;
  const Printed printed = shop.run(
      {}, {shop.script("a",
                       "[ $TRIAGE_ATTEMPT -gt 1 ] && exit 0\n"
                       "echo 'page 1 is done'; echo 'HTTP 503 Service Unavailable'; exit 1")});
  CHECK(printed.status == 0);
  // Whatever type the model gives these two lines.
  CHECK_THAT(printed.error, ContainsSubstring(R"(, "HTTP 503 Service Unavailable";)"));
}

TEST_CASE("a program that goes on failing gives its own status, or the run's", "[run]") {
  const Workshop shop;
  const std::vector<std::string> command{"sh", "-c", "echo x; exit 9"};
  CHECK(shop.run({"--max-attempts", "1"}, command).status == 9);
  CHECK(shop.run({"--max-attempts", "1", "--exit-status", "triage"}, command).status == 5);
  CHECK(shop.run({"--max-attempts", "1"}, {"sh", "-c", "kill -KILL $$"}).status == 128 + SIGKILL);
}

TEST_CASE("what never starts has a small budget of its own", "[run]") {
  const Workshop shop;
  const Printed printed = shop.run({"--start-ups", "2", "--run", "r"}, {"sh", "-c", "exit 3"});
  CHECK(printed.status == 3);
  CHECK_THAT(printed.error, ContainsSubstring("failed 2 times before it had done anything"));
}

TEST_CASE("a limit with a printed reset suspends the run with status 75", "[run]") {
  const Workshop shop;
  const std::vector<std::string> limited{
      "sh", "-c",
      R"(echo '{"error": {"message": "Too many requests, retry after 3600 seconds", "status": 429}}'; exit 1)"};
  const Printed printed = shop.run({"--run", "r"}, limited);
  CHECK(printed.status == 75);
  CHECK_THAT(printed.error, ContainsSubstring("run r is suspended until"));
  CHECK(shop.run({"--exit-status", "triage"}, limited).status == 7);
}

TEST_CASE("a hanging program and all it has started end at the timeout", "[run]") {
  const Workshop shop;
  const std::string hangs = shop.script(
      "a",
      "sleep 1000 & echo $! > $W/in_group\nsetsid sleep 1000 & echo $! > $W/away\necho x\nwait");
  for (const char* option : {"--timeout", "--idle-timeout"}) {
    const Printed printed = shop.run({option, "300ms", "--max-attempts", "1"}, {hangs});
    CHECK(printed.status == 128 + SIGTERM);
    CHECK_THAT(printed.error, ContainsSubstring("timeout"));
    for (const char* name : {"in_group", "away"}) {
      const std::string pid = read_text(shop.file(name));
      CHECK_FALSE(lives(pid.substr(0, pid.find('\n'))));
    }
  }
}

TEST_CASE("a limit of less than a millisecond is a limit", "[run]") {
  const Workshop shop;
  const std::string hangs = shop.script("a", "exec sleep 3");
  for (const char* option : {"--timeout", "--idle-timeout"}) {
    CHECK(shop.run({option, "500us", "--max-attempts", "1", "--quiet"}, {hangs}).status ==
          128 + SIGTERM);
  }
  const std::vector<std::string> limited{"sh", "-c",
                                         "echo HTTP 429, retry after 2 seconds >&2; exit 1"};
  CHECK(shop.run({"--max-wait", "500us", "--max-attempts", "2", "--quiet"}, limited).status == 75);
}

TEST_CASE("SIGTERM ends a run whose output nobody reads, and that has ended otherwise", "[run]") {
  const Workshop shop;
  const std::string pipe = shop.file("unread");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int kept_open = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(kept_open >= 0);
  // More than this pipe holds, and less than it and the one of the program hold together.
  Beside running(
      shop.run_line({"--kill-after", "50ms", "--run", "r"},
                    {shop.script("prints", "head -c 100000 /dev/zero\necho $$ > $W/told")}),
      pipe);
  const std::string pid = shop.next_word();
  while (std::filesystem::exists("/proc/" + pid)) std::this_thread::yield();
  CHECK(running.end_with(SIGTERM) == 0);
  ::close(kept_open);
  CHECK_THAT(shop.triage({"explain", "r"}).out, ContainsSubstring("finished with a result"));
}

TEST_CASE("a program that ignores SIGTERM is killed", "[run]") {
  const Workshop shop;
  const std::vector<std::string> stubborn{
      shop.script("a", "trap '' TERM\necho ready > $W/told\nwhile :; do sleep 1000; done")};
  SECTION("after a timeout") {
    Beside running(shop.run_line(
        {"--timeout", "10ms", "--kill-after", "50ms", "--max-attempts", "1"}, stubborn));
    CHECK(running.wait() == 128 + SIGKILL);
  }
  SECTION("when the supervisor is asked to end") {
    Beside running(shop.run_line({"--kill-after", "50ms", "--run", "r"}, stubborn));
    REQUIRE(shop.next_word() == "ready");
    CHECK(running.end_with(SIGTERM) == 128 + SIGKILL);
  }
}

TEST_CASE("a program that has stopped itself hears SIGTERM, too", "[run]") {
  const Workshop shop;
  const Printed printed = shop.run({"--timeout", "100ms", "--max-attempts", "1"},
                                   {shop.script("a", "trap 'exit 4' TERM\nkill -STOP $$")});
  CHECK(printed.status == 4);
}

TEST_CASE("what a program leaves behind when it has finished is ended with it", "[run]") {
  const Workshop shop;
  const Printed printed = shop.run({}, {shop.script("a", "setsid sleep 1000 &\necho $!")});
  CHECK(printed.status == 0);
  CHECK_FALSE(lives(printed.out.substr(0, printed.out.find('\n'))));
}

TEST_CASE("a stop is passed on, is no failure, and the run can go on", "[run]") {
  const Workshop shop;
  const std::string waits = shop.script(
      "a", "[ $TRIAGE_ATTEMPT -gt 1 ] && exit 0\necho ready > $W/told\nexec sleep 1000");
  Beside running(shop.run_line({"--run", "r"}, {waits}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(running.end_with(SIGTERM) == 128 + SIGTERM);
  CHECK(shop.triage({"resume", "r"}).status == 0);
}

TEST_CASE("any bytes and any amount of them pass through", "[run]") {
  const Workshop shop;
  const Printed printed =
      shop.run({}, {"sh", "-c", "head -c 3000000 /dev/zero; printf '\\377\\376'; exit 0"});
  CHECK(printed.status == 0);
  CHECK(printed.out.size() == 3'000'002);
  CHECK(printed.out.ends_with("\377\376"));
}

TEST_CASE("a finished run is not run again", "[run]") {
  const Workshop shop;
  const std::vector<std::string> command{"sh", "-c", "echo once"};
  CHECK(shop.run({"--run", "r"}, command).out == "once\n");
  const Printed again = shop.run({"--run", "r"}, command);
  CHECK(again.status == 0);
  CHECK(again.out.empty());
}

TEST_CASE("a run that exists does not go on as something else", "[run]") {
  const Workshop shop;
  CHECK(shop.run({"--run", "r"}, {"sh", "-c", "exit 0"}).status == 0);
  const Printed other = shop.run({"--run", "r", "--timeout", "1m"}, {"sh", "-c", "exit 1"});
  CHECK(other.status == 2);
  CHECK_THAT(other.error, ContainsSubstring("run \"r\" was begun with another command, timeout;"));
  CHECK(shop.run({"--run", "r"}, {"sh", "-c", "exit 0"}).status == 0);
}

TEST_CASE("a status code in a program's last words is why it failed", "[run]") {
  const Workshop shop;
  for (const char* words : {"HTTP 503", "got 429", "status 503", "Error code: 529",
                            "request failed with 502", "HTTP status 500"}) {
    for (const char* stream : {"", " >&2"}) {
      const std::string says = "echo '" + std::string(words) + "'" + stream + "; exit 1";
      const Printed printed = shop.run({"--max-attempts", "1"}, {"sh", "-c", says});
      INFO(says);
      CHECK_THAT(printed.error, ContainsSubstring("external_fault"));
    }
  }
  const Printed lacking = shop.run({"--max-attempts", "1"}, {"sh", "-c", "echo oh; exit 127"});
  CHECK_THAT(lacking.error, ContainsSubstring("command_not_found"));
}

TEST_CASE("an error that a program reports as JSON is judged alike, whatever status it exits with",
          "[run]") {
  const Workshop shop;
  const auto typed = [&](const std::string& message, int status) {
    const std::string says =
        R"(echo '{"error": ")" + message + R"("}'; exit )" + std::to_string(status);
    const Printed printed = shop.run({"--max-attempts", "1"}, {"sh", "-c", says});
    const std::size_t failed = printed.error.find("failed: ");
    REQUIRE(failed != std::string::npos);
    CHECK_THAT(printed.error, !ContainsSubstring("exited with status"));
    return printed.error.substr(failed, printed.error.find(" (", failed) - failed);
  };
  for (const std::string message :
       {"the calendar server hung up", "field start must be a date", "tool book_room is not known",
        "no permission to read the ledger"}) {
    const std::string first = typed(message, 1);
    for (const int status : {2, 70, 125, 126, 130, 255}) {
      INFO(message << ", status " << status);
      CHECK(typed(message, status) == first);
    }
  }
}

TEST_CASE("a policy document decides, and a wrong one is refused before anything runs", "[run]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json")) << R"({"default": {"strategy": "retry", "max_attempts": 2}})";
  std::ofstream(shop.file("wrong.json")) << R"({"default": "rettry"})";
  const std::vector<std::string> fails{"sh", "-c", "echo try; exit 4"};
  CHECK(shop.run({"--policy", shop.file("p.json")}, fails).out == "try\ntry\n");
  const Printed refused = shop.run({"--policy", shop.file("wrong.json")}, fails);
  CHECK(refused.status == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.error, ContainsSubstring("wrong.json"));
}

TEST_CASE("a command that is missing or cannot be executed is said so, as shells do", "[run]") {
  const Workshop shop;
  std::ofstream(shop.file("plain")) << "text";
  CHECK(shop.run({}, {"no-such-command-anywhere"}).status == 127);
  CHECK(shop.run({}, {shop.file("missing")}).status == 127);
  CHECK(shop.run({}, {shop.file("plain")}).status == 126);
  const Printed folder = shop.run({}, {shop.file("")});
  CHECK(folder.status == 126);
  CHECK_THAT(folder.error, ContainsSubstring("cannot be executed: Is a directory"));
  CHECK(shop.run({}, {}).status == 2);
  CHECK_FALSE(std::filesystem::exists(shop.store()));
}

TEST_CASE("a script whose interpreter is missing ends as one that cannot be executed", "[run]") {
  const Workshop shop;
  std::ofstream(shop.file("a")) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(shop.file("a"), std::filesystem::perms::owner_all);
  const Printed printed = shop.run({"--run", "r"}, {shop.file("a")});
  CHECK(printed.status == 126);
  CHECK_THAT(printed.error, ContainsSubstring("its interpreter /no/such/interpreter does not"));
  // Another attempt could not come further.
  CHECK_THAT(printed.error, ContainsSubstring("run r gave up: the program cannot be executed") &&
                                !ContainsSubstring("attempt 2"));
}

TEST_CASE("nothing is run while the store cannot be written, and one line says so", "[run]") {
  const Workshop shop;
  REQUIRE(shop.run({}, {"true"}).status == 0);
  // As on a full disk: no file may exceed 40 KB.
  std::string line = "trap '' XFSZ; ulimit -f 40; exec";
  std::vector<std::string> options;
  SECTION("a run without a name") {}
  SECTION("one with a name") { options = {"--run", "r"}; }
  for (const std::string& word : shop.run_line(options, {"touch", shop.file("ran")})) {
    line += " '" + word + "'";
  }
  const Printed printed = run_program({"/usr/bin/env", "bash", "-c", line});
  CHECK(printed.status == 9);
  CHECK_THAT(printed.error,
             ContainsSubstring("nothing was run, since the store cannot be written"));
  CHECK(std::count(printed.error.begin(), printed.error.end(), '\n') == 1);
  CHECK_FALSE(std::filesystem::exists(shop.file("ran")));
}

TEST_CASE("closed standard streams do no harm to a run or its store", "[run]") {
  const Workshop shop;
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    const std::string line = "exec '" TRIAGE_COMMAND "' run --store '" + shop.store() +
                             "' -- sh -c 'echo out; echo err >&2; exit 0' " + closed;
    CHECK(run_program({"/bin/sh", "-c", line}).status == 0);
  }
  CHECK(shop.triage({"checkpoint", "verify"}).status == 0);
}

TEST_CASE("shells that know only small numbers can write to the pipe", "[run]") {
  const Workshop shop;
  const Printed printed = shop.run(
      {"--run", "r"}, {"/bin/sh", "-c", "echo '{\"step\": \"s\"}' >&$TRIAGE_FD; echo $TRIAGE_FD"});
  CHECK(printed.status == 0);
  CHECK(printed.out.size() == 2);
  CHECK_THAT(shop.triage({"checkpoint", "show", "r"}).out, ContainsSubstring("1 step"));
  // Inherited file descriptors keep their numbers.
  const std::string line = "exec '" TRIAGE_COMMAND "' run --store '" + shop.store() +
                           "' -- sh -c 'echo mine >&3; echo $TRIAGE_FD' 3> '" + shop.file("mine") +
                           "'";
  CHECK(run_program({"/bin/sh", "-c", line}).out != "3\n");
  CHECK(read_text(shop.file("mine")) == "mine\n");
}

TEST_CASE("limits bind the child", "[run]") {
  const Workshop shop;
  CHECK(shop.run({"--files", "64"}, {"sh", "-c", "ulimit -n"}).out == "64\n");
  // SIGXCPU, which says what was too much, comes before SIGKILL.
  CHECK(shop.run({"--cpu", "7"}, {"sh", "-c", "ulimit -t; ulimit -Ht"}).out == "7\n8\n");
  // A limit that is above the one of the caller leaves that.
  const std::string line = "ulimit -n 50; exec '" TRIAGE_COMMAND "' run --store '" + shop.store() +
                           "' --files 64 -- sh -c 'ulimit -n'";
  CHECK(run_program({"/bin/sh", "-c", line}).out == "50\n");
}

TEST_CASE("a limit that keeps the program from starting is named, once", "[run]") {
  const Workshop shop;
  for (const auto& [option, number] : {std::pair{"--memory", "1"}, std::pair{"--files", "3"}}) {
    const Printed printed = shop.run({option, number}, {"/bin/true"});
    INFO(printed.error);
    CHECK(printed.status == 127);
    CHECK_THAT(printed.error, ContainsSubstring("(limit_too_low)") &&
                                  ContainsSubstring(std::string("true cannot start within ") +
                                                    option + " " + number) &&
                                  ContainsSubstring("error while loading shared libraries") &&
                                  !ContainsSubstring("attempt 2"));
  }
  const Printed killed =
      shop.run({"--memory", "60", "--max-attempts", "1"}, {"sh", "-c", "kill -SEGV $$"});
  CHECK_THAT(killed.error, ContainsSubstring("its limit is --memory 60 (MB of address space)"));
  // A library that is missing is no matter of limits.
  const Printed missing = shop.run({"--memory", "1000", "--max-attempts", "1"},
                                   {"sh", "-c",
                                    "echo 'x: error while loading shared libraries: y.so: cannot "
                                    "open shared object file: No such file or directory' >&2\n"
                                    "exit 127"});
  CHECK_THAT(missing.error, !ContainsSubstring("limit_too_low"));
}

TEST_CASE("without enough files to open nothing is run, and one line says so", "[run]") {
  const Workshop shop;
  const auto with_limit = [&](int files) {
    std::string line = "ulimit -n " + std::to_string(files) + "; exec";
    for (const std::string& word : shop.run_line({}, {"touch", shop.file("ran")})) {
      line += " '" + word + "'";
    }
    return run_program({"/usr/bin/env", "bash", "-c", line});
  };
  for (const int files : {5, 20, 40}) {
    const Printed printed = with_limit(files);
    INFO(printed.error);
    CHECK(printed.status == 9);
    CHECK_THAT(printed.error,
               ContainsSubstring("the limit of " + std::to_string(files) + " (ulimit -n)"));
    CHECK(std::count(printed.error.begin(), printed.error.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(shop.file("ran")));
  }
  CHECK(with_limit(60).status == 0);
}

TEST_CASE("recoveries are told as JSON Lines, or not at all", "[run]") {
  const Workshop shop;
  const std::vector<std::string> fails{"sh", "-c", "echo x; exit 4"};
  const Printed told = shop.run({"--json", "--max-attempts", "1", "--run", "r"}, fails);
  const Json first = Json::parse(told.error.substr(0, told.error.find('\n')), nullptr, false);
  REQUIRE(first.is_object());
  CHECK(first["event"] == "recovery");
  CHECK(first["run"] == "r");
  CHECK(first["attempt"] == 1);
  CHECK(shop.run({"--quiet", "--max-attempts", "1"}, fails).error.empty());
  CHECK(shop.run({"--quiet", "--json", "--max-attempts", "1"}, fails).error.empty());
}
