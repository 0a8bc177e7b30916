// SPDX-License-Identifier: MIT
// What is no longer there, or no longer wanted, when a run is to go on: programs, folders, runs
// that were aborted.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// A program that kills its supervisor in the first attempt of run r.
std::string deadly(const Workshop& shop, const std::string& name) {
  return shop.script(name, "[ $TRIAGE_ATTEMPT = 1 ] && kill -KILL $PPID\necho done");
}

}  // namespace

TEST_CASE("a program that has gone since is missed once, with the status of shells",
          "[resume][gone]") {
  const Workshop shop;
  const std::string program = deadly(shop, "a");
  CHECK(shop.run({"--run", "r"}, {program}).status == 128 + SIGKILL);
  SECTION("removed") {
    std::filesystem::remove(program);
    const Printed printed = shop.triage({"resume", "r"});
    INFO(printed.error);
    CHECK(printed.status == 127);
    CHECK_THAT(printed.error, ContainsSubstring("gave up: the program cannot be executed") &&
                                  ContainsSubstring("does not exist") &&
                                  !ContainsSubstring("retry"));
  }
  SECTION("no longer to be executed") {
    std::filesystem::permissions(program, std::filesystem::perms::owner_read);
    const Printed printed = shop.triage({"resume", "r"});
    CHECK(printed.status == 126);
    CHECK_THAT(printed.error, ContainsSubstring("cannot be executed: Permission denied") &&
                                  !ContainsSubstring("retry"));
  }
  SECTION("back again") {
    std::filesystem::rename(program, program + ".kept");
    CHECK(shop.triage({"resume", "r"}).status == 127);
    std::filesystem::rename(program + ".kept", program);
    CHECK(shop.triage({"resume", "r"}).out == "done\n");
  }
}

TEST_CASE("a run whose folder has gone since says so", "[resume][gone]") {
  const Workshop shop;
  std::filesystem::create_directory(shop.file("its folder"));
  std::string line = "cd '" + shop.file("its folder") + "' && exec";
  for (const std::string& word : shop.run_line({"--run", "r"}, {deadly(shop, "a")})) {
    line += " '" + word + "'";
  }
  CHECK(run_program({"/bin/sh", "-c", line}).status == 128 + SIGKILL);
  std::filesystem::remove(shop.file("its folder"));
  const Printed printed = shop.triage({"resume", "r"});
  CHECK(printed.status == 126);
  CHECK_THAT(printed.error, ContainsSubstring("the folder of the run, \"" +
                                              shop.file("its folder") + "\", is gone"));
}

TEST_CASE("a branch whose command is missing ends as shells do, and is not begun", "[run][gone]") {
  const Workshop shop;
  CHECK(shop.run({"--run", "r"}, {"sh", "-c", TRIAGE_COMMAND " step x"}).status == 0);
  const Json listed = Json::parse(shop.triage({"checkpoint", "list", "--run", "r", "--json"}).out);
  const std::string step = listed["checkpoints"][0]["id"];
  std::ofstream(shop.file("plain")) << "text";
  const auto fork = [&](const std::string& program) {
    return run_program({TRIAGE_COMMAND, "fork", step, "--store", shop.store(), "--", program});
  };
  CHECK(fork("no-such-command-anywhere").status == 127);
  CHECK(fork(shop.file("plain")).status == 126);
  CHECK(fork("true").status == 0);
  CHECK(Json::parse(shop.triage({"runs", "--json"}).out)["runs"].size() == 2);
}

TEST_CASE("an aborted run goes on if that is asked for, and says how to ask", "[resume][gone]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json")) << R"({"default": {"strategy": "abort_run"}})";
  const std::vector<std::string> options{"--run", "r", "--policy", shop.file("p.json")};
  const std::vector<std::string> command{"sh", "-c", "echo x; [ $TRIAGE_ATTEMPT -gt 1 ]"};
  CHECK(shop.run(options, command).status == 1);
  const Printed refused = shop.triage({"resume", "r"});
  CHECK(refused.status == 6);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.error, ContainsSubstring("only `triage resume r --revive --store " +
                                              shop.store() + "` goes on"));
  CHECK(shop.triage({"resume", "r", "--revive"}).status == 0);
}

TEST_CASE("a run that was given up and is begun again repeats its program's status",
          "[run][gone]") {
  const Workshop shop;
  const std::vector<std::string> command{"sh", "-c", "echo x; exit 3"};
  CHECK(shop.run({"--run", "r", "--max-attempts", "1"}, command).status == 3);
  const Printed again = shop.run({"--run", "r", "--max-attempts", "1"}, command);
  CHECK(again.status == 3);
  CHECK(again.out.empty());  // Nothing was run.
  CHECK(
      shop.run({"--run", "r", "--max-attempts", "1", "--exit-status", "triage"}, command).status ==
      5);
  CHECK_THAT(again.error, ContainsSubstring("`triage resume r --store " + shop.store() + "`") &&
                              !ContainsSubstring("ResumeOptions"));
  const Printed other = shop.run({"--run", "r"}, command);
  CHECK(other.status == 2);
  CHECK_THAT(other.error, ContainsSubstring("`triage resume r --store " + shop.store() + "`"));
}

TEST_CASE("of a run whose program gave no status only the run's can be repeated", "[run][gone]") {
  const Workshop shop;
  const std::vector<std::string> command{"sh", "-c", "kill -KILL $$"};
  CHECK(shop.run({"--run", "r", "--max-attempts", "1"}, command).status == 128 + SIGKILL);
  CHECK(shop.run({"--run", "r", "--max-attempts", "1"}, command).status == 5);
}

TEST_CASE("a run that waits for a decision says where the token is", "[run][gone]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json")) << R"({"default": {"strategy": "suspend"}})";
  const std::vector<std::string> options{"--run", "r", "--policy", shop.file("p.json")};
  const std::vector<std::string> command{"sh", "-c", "echo x; exit 1"};
  CHECK_THAT(shop.run(options, command).error, ContainsSubstring(" ACTION --store "));
  const Printed again = shop.run(options, command);
  CHECK(again.status == 75);
  CHECK(again.out.empty());
  CHECK_THAT(again.error, ContainsSubstring("waits for a decision: a decision is needed") &&
                              ContainsSubstring("`triage reissue r --store " + shop.store() +
                                                "` prints a new one"));
  CHECK_THAT(shop.triage({"explain", "r"}).out, ContainsSubstring("`triage reissue` prints"));
}
