// SPDX-License-Identifier: MIT
// Programs and effects that catch the signals which are to end them.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Tells that it is ready, tidies up at `signal`, and exits with `status`; ends well when resumed.
std::string graceful(const Workshop& shop, const std::string& signal, const std::string& status) {
  return shop.script("a", "[ $TRIAGE_ATTEMPT -gt 1 ] && echo done && exit 0\ntrap 'exit " + status +
                              "' " + signal +
                              "\necho ready > $W/told\nwhile :; do sleep 0.01; done");
}

std::string status_of(const Workshop& shop) {
  return Json::parse(shop.triage({"runs", "--json"}).out)["runs"][0]["status"];
}

}  // namespace

TEST_CASE("a program that exits with 0 at a signal is cancelled, and the run can go on", "[run]") {
  const Workshop shop;
  const auto [name, number] = GENERATE(std::pair{"TERM", SIGTERM}, std::pair{"INT", SIGINT},
                                       std::pair{"HUP", SIGHUP}, std::pair{"QUIT", SIGQUIT});
  Beside running(shop.run_line({"--run", "r"}, {graceful(shop, name, "0")}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(running.end_with(number) == 128 + number);
  CHECK(status_of(shop) == "cancelled");
  CHECK(shop.triage({"resume", "r"}).out == "done\n");
}

TEST_CASE("a status of its own that a program gives at a signal is kept", "[run]") {
  const Workshop shop;
  Beside running(shop.run_line({"--run", "r"}, {graceful(shop, "TERM", "7")}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(running.end_with(SIGTERM) == 7);
  CHECK(status_of(shop) == "cancelled");
}

TEST_CASE("a program that goes on after SIGINT, and ends much later, has finished", "[run]") {
  const Workshop shop;
  const std::string program =
      shop.script("a",
                  "trap 'echo heard > $W/told' INT\necho ready > $W/told\n"
                  "n=0\nwhile [ $n -lt 30 ]; do sleep 0.01; n=$((n + 1)); done\necho all\nexit 0");
  Beside running(shop.run_line({"--run", "r", "--kill-after", "1ms"}, {program}));
  REQUIRE(shop.next_word() == "ready");
  running.signal(SIGINT);
  REQUIRE(shop.next_word() == "heard");
  CHECK(running.wait() == 0);
  CHECK(status_of(shop) == "finished");
}

TEST_CASE("a program whose events say that it is done is done, although a signal came", "[run]") {
  const Workshop shop;
  std::ofstream(shop.file("adapter.json"))
      << R"({"adapter": 1, "name": "tool", "programs": ["a"],)"
         R"( "events": [{"when": {"e": "end"}, "end": "finished"}]})";
  const std::string program =
      shop.script("a",
                  "trap 'exit 0' TERM\necho '{\"e\": \"end\"}'\necho ready > $W/told\n"
                  "while :; do sleep 0.01; done");
  Beside running(shop.run_line({"--run", "r", "--adapter", shop.file("adapter.json")}, {program}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(running.end_with(SIGTERM) == 0);
  CHECK(status_of(shop) == "finished");
}

TEST_CASE("an effect's command comes to its end when its program is asked to end",
          "[run][effect]") {
  const Workshop shop;
  const std::string pays = shop.script(
      "pays",
      "trap : TERM INT\necho ready > $W/told\nn=0\n"
      "while [ $n -lt 30 ]; do sleep 0.01; n=$((n + 1)); done\necho paid >> $W/paid\necho receipt");
  const std::string program = shop.script("a", "exec '" TRIAGE_COMMAND "' effect pay -- " + pays);
  const int number = GENERATE(SIGTERM, SIGINT);
  Beside running(shop.run_line({"--run", "r"}, {program}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(running.end_with(number) == 128 + number);
  const Printed resumed = shop.triage({"resume", "r"});
  INFO(resumed.error);
  CHECK(resumed.status == 0);
  CHECK(resumed.out == "receipt\n");
  CHECK(read_text(shop.file("paid")) == "paid\n");
}

TEST_CASE("an effect whose command fails at a signal is in doubt", "[run][effect]") {
  const Workshop shop;
  const std::string pays =
      shop.script("pays", "echo ready > $W/told\nwhile :; do sleep 0.01; done");
  const std::string program = shop.script("a", "exec '" TRIAGE_COMMAND "' effect pay -- " + pays);
  Beside running(shop.run_line({"--run", "r"}, {program}));
  REQUIRE(shop.next_word() == "ready");
  CHECK(running.end_with(SIGTERM) == 128 + SIGTERM);
  CHECK(shop.triage({"resume", "r"}).status == 5);
  CHECK(shop.triage({"settle", "r", "pay", "not-done"}).status == 0);
}

TEST_CASE("the command of an effect that was killed is asked to end", "[run][effect]") {
  const Workshop shop;
  const std::string pays = shop.script("pays",
                                       "trap 'echo asked > $W/told; exit 0' TERM\n"
                                       "kill -KILL $PPID\nwhile :; do sleep 0.01; done");
  const std::string program =
      shop.script("a", "'" TRIAGE_COMMAND "' effect pay -- " + pays + "\nsleep 1000");
  Beside running(shop.run_line({"--run", "r"}, {program}));
  CHECK(shop.next_word() == "asked");
  CHECK(running.end_with(SIGTERM) == 128 + SIGTERM);
}
