// SPDX-License-Identifier: MIT
// Programs that take their supervisor down, each time: the run comes to an end all the same.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

constexpr int killed = 128 + SIGKILL;

std::string status_of(const Workshop& shop) {
  return Json::parse(shop.triage({"runs", "--json"}).out)["runs"][0]["status"];
}

// How many attempts there have been.
std::string attempts(const Workshop& shop) { return read_text(shop.file("attempts")); }

std::string deadly(const Workshop& shop) {
  return shop.script("a", "printf x >> $W/attempts\nkill -KILL $PPID");
}

}  // namespace

TEST_CASE("attempts that took their supervisor down count against --max-attempts", "[deadly]") {
  const Workshop shop;
  const std::vector<std::string> options{"--run", "r", "--max-attempts", "2"};
  const std::string program = deadly(shop);
  CHECK(shop.run(options, {program}).status == killed);
  CHECK(shop.triage({"resume", "--all"}).status == killed);
  const Printed ended = shop.triage({"resume", "--all"});
  CHECK(ended.status == 5);
  CHECK_THAT(ended.error, ContainsSubstring("gave up: limits.max_attempts (2) reached") &&
                              ContainsSubstring("the process of the run died"));
  CHECK(attempts(shop) == "xx");
  CHECK(status_of(shop) == "escalated");
  CHECK(shop.triage({"resume", "--all"}).status == 0);  // Nothing is left to do.
  // Who names the run asks for one attempt more.
  CHECK(shop.triage({"resume", "r"}).status == killed);
  CHECK(shop.triage({"resume", "--all"}).status == 5);
  CHECK(attempts(shop) == "xxx");
}

TEST_CASE("no attempt starts after a budget was spent in one that took its supervisor down",
          "[deadly]") {
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "printf x >> $W/attempts\n"
                  "echo '{\"usage\": {\"input_tokens\": 90, \"output_tokens\": 20}}' "
                  ">&$TRIAGE_FD\n" TRIAGE_COMMAND " effect once -- true\nkill -KILL $PPID");
  CHECK(shop.run({"--run", "r", "--budget", "tokens=100"}, {program}).status == killed);
  const Printed ended = shop.triage({"resume", "r"});
  CHECK(ended.status == 5);
  CHECK_THAT(ended.error, ContainsSubstring("limits.max_tokens (100) reached"));
  CHECK(attempts(shop) == "x");
}

TEST_CASE("a program that takes its supervisor down again and again poisons its run", "[deadly]") {
  const Workshop shop;
  const std::string program = deadly(shop);
  CHECK(shop.run({"--run", "r"}, {program}).status == killed);
  for (int i = 0; i < 3; ++i) CHECK(shop.triage({"resume", "--all"}).status == killed);
  CHECK_THAT(shop.triage({"resume", "--all"}).error,
             ContainsSubstring("run \"r\" is poisoned") &&
                 ContainsSubstring("`triage resume r --revive --store " + shop.store() + "`"));
  CHECK(status_of(shop) == "poisoned");
  CHECK(shop.triage({"resume", "--all"}).status == 0);
  CHECK(shop.triage({"resume", "r"}).status == 2);
  CHECK(attempts(shop) == "xxxx");
  CHECK(shop.triage({"resume", "r", "--revive"}).status == killed);
  CHECK(attempts(shop) == "xxxxx");
}

TEST_CASE("a program that makes progress between deaths does not poison its run", "[deadly]") {
  const Workshop shop;
  const std::string program = shop.script(
      "a", "printf x >> $W/attempts\n" TRIAGE_COMMAND
           " effect page:$TRIAGE_ATTEMPT -- true\n[ $TRIAGE_ATTEMPT -lt 7 ] && kill -KILL $PPID\n"
           "exit 0");
  CHECK(shop.run({"--run", "r"}, {program}).status == killed);
  for (int i = 2; i < 7; ++i) CHECK(shop.triage({"resume", "--all"}).status == killed);
  CHECK(shop.triage({"resume", "--all"}).status == 0);
  CHECK(attempts(shop) == "xxxxxxx");
}
