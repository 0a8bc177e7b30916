// SPDX-License-Identifier: MIT
// What `triage run` says: quotes of a program's words, and commands to go on with.
#include "supervise/running.hpp"

#include "support/catch.hpp"
#include "triage/journal.hpp"

using namespace triage;
using namespace triage::test;

namespace {

Printed failing_with(const Workshop& shop, const std::string& text) {
  std::ofstream(shop.file("text")) << text;
  return shop.run({"--run", "r", "--max-attempts", "1"},
                  {"sh", "-c", "cat " + shop.file("text") + " >&2; exit 1"});
}

}  // namespace

TEST_CASE("the line about a failure quotes the line that says why, not what follows it",
          "[run][said]") {
  struct Said {
    const char* text;
    const char* quoted;
  };
  for (const auto& [text, quoted] :
       {Said{"file:///a.mjs:1\nthrow new Error(\"x\");\n      ^\n\nError: the page is gone\n"
             "    at file:///a.mjs:1:7\n\nNode.js v20.20.2\n",
             "Error: the page is gone"},
        Said{"panic: the page is gone\n\ngoroutine 1 [running]:\nmain.(*Site).get(0x1, {0xc00, "
             "0x8})\n\t/a.go:8 +0x1d\nmain.main()\n\t/a.go:9 +0x1d\nexit status 2\n",
             "panic: the page is gone"},
        Said{"thread 'main' panicked at src/main.rs:2:5:\nthe page is gone\nnote: run with "
             "`RUST_BACKTRACE=1` environment variable to display a backtrace\n",
             "the page is gone"},
        Said{"fetching\nsite.PageGone(404 on /a)\n", "site.PageGone(404 on /a)"},
        Said{"one page\n}\n", "one page"}, Said{"    indented\n", "    indented"}}) {
    const Workshop shop;
    const Printed printed = failing_with(shop, text);
    INFO(printed.error);
    CHECK_THAT(printed.error, ContainsSubstring(", \"" + std::string(quoted) + "\"\n"));
    CHECK_THAT(printed.error, ContainsSubstring("the failure was: " + std::string(quoted) + ";"));
  }
}

TEST_CASE("an explanation quotes a short text whole, and of a long one the line that says why",
          "[run][said]") {
  const Workshop shop;
  CHECK(failing_with(shop, "first\nthe page is gone\n").status == 1);
  CHECK_THAT(shop.triage({"explain", "r"}).out,
             ContainsSubstring(R"(It said: "first\nthe page is gone".)"));
  const Workshop other;
  CHECK(
      failing_with(other, std::string(400, 'x') + "\nthe page is gone!\n    at a.mjs:1\n").status ==
      1);
  CHECK_THAT(other.triage({"explain", "r"}).out,
             ContainsSubstring(R"(It said: "the page is gone!".)"));
}

TEST_CASE("commands to go on with name the store, as a shell takes it", "[run][said]") {
  const Workshop shop;
  std::filesystem::create_directory(shop.file("it's here"));
  const std::string store = shop.file("it's here/runs.db");
  const std::string quoted = "'" + shop.file("it'\\''s here/runs.db") + "'";
  const auto run = [&](const std::vector<std::string>& options, const std::string& command) {
    std::vector<std::string> line{TRIAGE_COMMAND, "run", "--store", store};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", "sh", "-c", command});
    return run_program(line);
  };
  const Printed failed = run({"--run", "r", "--max-attempts", "1"}, "echo x; exit 1");
  CHECK_THAT(failed.error, ContainsSubstring("`triage explain r --store " + quoted + "` tells"));
  CHECK(run_program({"/bin/sh", "-c", TRIAGE_COMMAND " explain r --store " + quoted}).status == 0);
  const Printed waits = run({}, "echo HTTP 429, retry after 3600 seconds; exit 1");
  CHECK_THAT(waits.error,
             ContainsSubstring("`triage resume --due --store " + quoted + "` goes on"));
  const Printed stopped = run({"--run", "s"}, "kill -TERM $PPID; exec sleep 1000");
  CHECK_THAT(stopped.error, ContainsSubstring("`triage resume s --store " + quoted + "` goes on"));
  // Of the default store nothing has to be said.
  const Printed other =
      run_program({"/usr/bin/env", "XDG_STATE_HOME=" + shop.file("state"), TRIAGE_COMMAND, "run",
                   "--run", "r", "--max-attempts", "1", "--", "sh", "-c", "echo x; exit 1"});
  CHECK_THAT(other.error, ContainsSubstring("`triage explain r` tells why"));
}

TEST_CASE("the command that settles an effect names it, whatever its key is", "[run][said]") {
  const Workshop shop;
  const std::string key = "it's\ntwo lines\\";
  const std::string program =
      shop.script("pays", "T='" TRIAGE_COMMAND
                          "'\n$T effect \"$(cat $W/key)\" -- sh -c \"[ -e $W/dead ] || { touch "
                          "$W/dead; kill -KILL \\$PPID; }\" || exit");
  std::ofstream(shop.file("key")) << key;
  const Printed asked = shop.run({"--run", "r"}, {program});
  const std::string settle = R"(settle r $'it\'s\ntwo lines\\' done --store )" + shop.store();
  CHECK_THAT(asked.error, ContainsSubstring("`triage " + settle + "`"));
  if (run_program({"/bin/sh", "-c", "command -v bash"}).status != 0) return;
  const Printed settled = run_program({"/usr/bin/env", "bash", "-c", TRIAGE_COMMAND " " + settle});
  INFO(settled.error);
  CHECK(settled.status == 0);
  CHECK(shop.triage({"resume", "r"}).status == 0);
}

TEST_CASE("a poisoned run says how it goes on all the same", "[resume][said]") {
  const Workshop shop;
  CHECK(shop.run({"--run", "r", "--max-attempts", "1"}, {"sh", "-c", "echo x; exit 1"}).status ==
        1);
  {
    const auto store = SqliteStore::open(shop.store()).value();
    const Lease lease = store->acquire("r").value();
    Journal journal = Journal::fold(store->read("r", {}).value()).value();
    const Record record =
        journal.add(RecordKind::stopped, WallTime(), Json{{"status", "poisoned"}, {"crashes", 3}});
    REQUIRE_OK(store->append(lease, {&record, 1}, RunStatus::poisoned));
    REQUIRE_OK(store->release(lease));
  }
  const Printed refused = shop.triage({"resume", "r"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.error, ContainsSubstring("is poisoned: its process died 3 times") &&
                                ContainsSubstring("find out why, and `triage resume r --revive "
                                                  "--store " +
                                                  shop.store() + "` goes on\n"));
}

TEST_CASE("a run that has finished before says that nothing was run", "[run][said]") {
  const Workshop shop;
  REQUIRE(shop.run({"--run", "r"}, {"true"}).error.empty());
  for (const Printed& again : {shop.run({"--run", "r"}, {"true"}), shop.triage({"resume", "r"})}) {
    CHECK(again.status == 0);
    CHECK(again.error == "triage: run r has finished before; nothing was run\n");
  }
  CHECK(shop.run({"--run", "r", "--quiet"}, {"true"}).error.empty());
}

TEST_CASE("runs that are continued together end with their own statuses", "[run][said]") {
  const Workshop shop;
  for (const char* run : {"a", "b"}) {
    const std::string stops = shop.script(
        run, std::string("[ $TRIAGE_ATTEMPT = 1 ] || exit 0\nkill -KILL $PPID\nexec sleep 1000"));
    CHECK(shop.run({"--run", run}, {stops}).status != 0);
  }
  CHECK(shop.triage({"resume", "--all"}).status == 0);
  const Json runs = Json::parse(shop.triage({"runs", "--json", "--status", "finished"}).out);
  CHECK(runs["runs"].size() == 2);
}

TEST_CASE("words that a command does not expect, and values that are empty, are named",
          "[run][said]") {
  const Workshop shop;
  const Printed unknown = shop.run({"--nope"}, {"true"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.error, ContainsSubstring("not expected: --nope\n"));
  for (const char* option : {"--store", "--run", "--workspace", "--max-wait", "--key-file",
                             "--budget", "--policy", "--contract", "--adapter", "--timeout",
                             "--idle-timeout", "--kill-after", "--redact-pattern"}) {
    const Printed printed = run_program({TRIAGE_COMMAND, "run", option, "", "--", "true"});
    CHECK(printed.status == 2);
    CHECK_THAT(printed.error, ContainsSubstring(std::string(option) + ": it is empty"));
  }
  const Printed state = run_program({TRIAGE_COMMAND, "state", "get", "", "--default", "0"});
  CHECK(state.status == 2);
  CHECK_THAT(state.error, ContainsSubstring("KEY: it is empty"));
  const Printed twice = shop.run({"--budget", "tokens=1,tokens=2"}, {"true"});
  CHECK(twice.status == 2);
  CHECK_THAT(twice.error, ContainsSubstring("\"tokens\" is given twice"));
  const Printed nothing = shop.triage({"fork"});
  CHECK(nothing.status == 2);
  CHECK_THAT(nothing.error, ContainsSubstring("CHECKPOINT is missing"));
}

TEST_CASE("a new token is told as one, and a program by its command line", "[run][said]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json")) << R"({"default": {"strategy": "suspend"}})";
  const Printed waits =
      shop.run({"--run", "r", "--policy", shop.file("p.json")}, {"sh", "-c", "echo x; exit 1"});
  INFO(waits.error);
  REQUIRE(waits.status == 75);
  REQUIRE(shop.triage({"reissue", "r"}).status == 0);
  const std::string told = shop.triage({"explain", "r"}).out;
  INFO(told);
  const std::size_t first = told.find("Suspended: ");
  REQUIRE(first != std::string::npos);
  CHECK(told.find("Suspended: ", first + 1) == std::string::npos);
  CHECK_THAT(told, ContainsSubstring("It got a new token.\n"));
  CHECK_THAT(told, ContainsSubstring("attempt): sh -c echo x; exit 1\n"));
  const std::string shown = shop.triage({"checkpoint", "show", "r"}).out;
  CHECK_THAT(shown, ContainsSubstring("Task        sh -c echo x; exit 1\n") &&
                        ContainsSubstring("  Task     sh -c echo x; exit 1\n"));
}

TEST_CASE("an explanation says until when a run waits", "[run][said]") {
  const Workshop shop;
  CHECK(shop.run({"--run", "r"}, {"sh", "-c", "echo HTTP 429, retry after 3600 seconds; exit 1"})
            .status == 75);
  const Printed told = shop.triage({"explain", "r"});
  CHECK_THAT(told.out, ContainsSubstring("\nWaits until 20") && ContainsSubstring(" UTC: waits "));
}

TEST_CASE("a budget that is no number is refused", "[run][said]") {
  const Workshop shop;
  for (const char* budget : {"tokens=99999999999999999999999", "calls=18446744073709551616",
                             "tokens=+5", "calls= 5", "tokens=0", "tokens=-1", "usd=nan"}) {
    const Printed printed = shop.run({"--budget", budget}, {"true"});
    INFO(budget);
    CHECK(printed.status == 2);
    CHECK_THAT(printed.error, ContainsSubstring("is not part of a budget"));
  }
  CHECK_THAT(
      shop.run({"--budget", "calls=2,usd=0"}, {"true"}).error,
      ContainsSubstring("\"usd=0\" is not part of a budget; allowed is usd=N, a number above "
                        "0 and below 1000000000000\n"));
  CHECK_THAT(shop.run({"--budget", "tokens=0"}, {"true"}).error,
             ContainsSubstring("allowed is tokens=N, a whole number above 0\n"));
  CHECK_THAT(shop.run({"--budget", "euro=3"}, {"true"}).error,
             ContainsSubstring("allowed are tokens=N, usd=N, calls=N and time=LENGTH"));
  CHECK(shop.run({"--budget", "tokens=18446744073709551615,usd=0.5"}, {"true"}).status == 0);
}

TEST_CASE("a line of ours begins on a line of its own", "[run][said]") {
  const Workshop shop;
  const std::string program = shop.script("a",
                                          "printf 'half a line' >&2\n"
                                          "[ $1 = fail ] && exit 1\n"
                                          "[ $1 = warn ] && echo no JSON >&$TRIAGE_FD\n"
                                          "exit 0");
  const Printed failed = shop.run({"--json", "--max-attempts", "1"}, {program, "fail"});
  CHECK_THAT(failed.error, ContainsSubstring("half a line\n{\"action\"") ||
                               ContainsSubstring("half a line\n{\"attempt\""));
  const std::string warned = "\n" + shop.run({}, {program, "warn"}).error;
  CHECK_THAT(warned, ContainsSubstring("\ntriage: a line of the program was skipped"));
  // Where we say nothing, nothing is added.
  CHECK(shop.run({}, {program, "work"}).error == "half a line");
  CHECK(shop.run({"--quiet", "--max-attempts", "1"}, {program, "fail"}).error == "half a line");
}
