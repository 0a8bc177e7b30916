// SPDX-License-Identifier: MIT
// triage replay RUN --confirm: repeats a supervised program from before the blamed step.
#include "supervise/running.hpp"

#include "triage/json.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

const std::string T = std::string("T='") + TRIAGE_COMMAND + "'\n";

Json report_of(const Printed& printed) {
  INFO(printed.out << printed.error);
  CHECK(printed.status == 0);
  const Json json = Json::parse(printed.out, nullptr, false);
  REQUIRE(json.is_object());
  return json;
}

// Looks something up under the name in its state, and reports what it mails.
std::string looking_up(const Workshop& shop) {
  return shop.script("look", T + R"sh(name=$($T state get name || echo usrs)
[ -n "$TRIAGE_RECOVERY" ] && grep -q 'called users' "$TRIAGE_RECOVERY" && name=users
[ "$1" = users ] && name=users
$T step plan
echo "$name" >> $W/asked
if [ "$name" != users ]; then
  $T step lookup --tool lookup --error "no such table: $name"
  echo "HTTP 404 no such table: $name" >&2; exit 1
fi
$T step lookup --tool lookup
[ "$2" = mail ] && { $T effect mail -- sh -c "echo mailed >> $W/mails" || exit 4; }
exit 0)sh");
}

}  // namespace

TEST_CASE("a program runs again from before the blamed step, with a hint and without",
          "[confirm]") {
  const Workshop shop;
  const std::string program = looking_up(shop);
  const Printed failed = shop.run({"--run", "r", "--max-attempts", "1"}, {program});
  INFO(failed.error);
  REQUIRE(failed.status == 1);
  const Printed told = shop.triage(
      {"replay", "r", "--confirm", "--times", "6", "--hint", "The table is called users."});
  INFO(told.error);
  CHECK(told.status == 0);
  CHECK_THAT(told.out, ContainsSubstring("step 1 (lookup) is blamed") &&
                           ContainsSubstring("unchanged: 0 of 6 finished") &&
                           ContainsSubstring("changed: 6 of 6 finished") &&
                           ContainsSubstring("The cause is at step 1 (lookup)"));
  // The store is unchanged, and the program's output is not shown.
  CHECK_THAT(shop.triage({"runs"}).out, !ContainsSubstring("changed"));
  CHECK_THAT(told.error, !ContainsSubstring("404"));
}

TEST_CASE("another state and another command are changes of a program", "[confirm]") {
  const Workshop shop;
  const std::string program = looking_up(shop);
  REQUIRE(shop.run({"--run", "r", "--max-attempts", "1"}, {program}).status == 1);
  const Json state = report_of(
      shop.triage({"replay", "r", "--confirm", "--times", "6", "--set", "name=users", "--json"}));
  CHECK(state["finding"] == "cause");
  CHECK(state["change"] == R"(the state "{"name":"users"}")");
  const Json other =
      report_of(run_program({TRIAGE_COMMAND, "replay", shop.store(), "r", "--confirm", "--times",
                             "6", "--json", "--", program, "users"}));
  CHECK(other["finding"] == "cause");
  CHECK(other["unchanged"]["failed_alike"] == 6);
  const Json same = report_of(run_program({TRIAGE_COMMAND, "replay", shop.store(), "r", "--confirm",
                                           "--times", "6", "--json", "--", program, "usrs"}));
  CHECK(same["finding"] == "not_shown");
}

TEST_CASE("no re-run mails, and one that would is undecided until an answer is given",
          "[confirm]") {
  const Workshop shop;
  const std::string program = looking_up(shop);
  REQUIRE(shop.run({"--run", "r", "--max-attempts", "1"}, {program, "usrs", "mail"}).status == 1);
  const std::vector<std::string> question{"replay", "r",     "--confirm",  "--times",
                                          "6",      "--set", "name=users", "--json"};
  const Json undecided = report_of(shop.triage(question));
  CHECK(undecided["finding"] == "undecided");
  CHECK(undecided["refused_effects"] == Json{"mail"});
  auto answered = question;
  answered.insert(answered.end(), {"--assume", R"(mail={"status": 0, "out": ""})"});
  CHECK(report_of(shop.triage(answered))["finding"] == "cause");
  CHECK_FALSE(std::filesystem::exists(shop.file("mails")));
}

TEST_CASE("what cannot be confirmed says why, and runs nothing", "[confirm]") {
  const Workshop shop;
  const std::string program = looking_up(shop);
  REQUIRE(shop.run({"--run", "r", "--max-attempts", "1"}, {program}).status == 1);
  REQUIRE(shop.run({"--run", "good"}, {program, "users"}).status == 0);
  const std::string mailing = shop.script(
      "mail", T + "$T effect mail -- true; $T effect pay -- true; $T step lookup --tool lookup "
                  "--error 'no such table: t'; echo HTTP 404 no such table: t >&2; exit 1");
  const std::string asked = read_text(shop.file("asked"));
  const auto refused = [&](std::vector<std::string> words, int status, const std::string& why) {
    words.insert(words.begin(), "replay");
    const Printed printed = shop.triage(words);
    INFO(printed.out << printed.error);
    CHECK(printed.status == status);
    CHECK_THAT(printed.error, ContainsSubstring(why));
  };
  refused({"r"}, 2, "--policy FILE or --confirm is missing");
  refused({"r", "--confirm"}, 2, "nothing is changed; give one of these");
  refused({"r", "--confirm", "--hint", "x", "--policy", "p"}, 2, "two questions");
  refused({"r", "--policy", "p", "--hint", "x"}, 2, "are for --confirm");
  refused({"r", "--confirm", "--hint", "x", "--set", "a=1"}, 2, "more than one thing is changed");
  refused({"r", "--confirm", "--hint", "x", "--times", "3"}, 2, "allowed are 6 to 10000");
  refused({"r", "--confirm", "--hint", "x", "--attempt", "7"}, 2, "these did: 1");
  refused({"r", "--confirm", "--set", "name"}, 2, "not of the form KEY=VALUE");
  refused({"r", "--confirm", "--answer", "lookup=1"}, 2,
          "run \"r\" has asked for no effect \"lookup\"; it has asked for none");
  REQUIRE(shop.run({"--run", "mails", "--max-attempts", "1"}, {mailing}).status == 1);
  refused({"mails", "--confirm", "--answer", "mial=1"}, 2,
          "run \"mails\" has asked for no effect \"mial\"; allowed are mail, pay; did you mean "
          "\"mail\"?");
  refused({"r", "--confirm", "--hint", "x", "--from", "r@999"}, 1, "r@999");
  refused({"r", "--confirm", "--hint", "x", "--from", "yesterday"}, 2, "RUN@SEQUENCE");
  refused({"good", "--confirm", "--hint", "x"}, 2, "nothing failed in run \"good\"");
  refused({"nobody", "--confirm", "--hint", "x"}, 1, "nobody");
  CHECK(read_text(shop.file("asked")) == asked);
}

TEST_CASE("a run with a workspace is tried out in copies, with its files as they were",
          "[confirm]") {
  const Workshop shop;
  ::setenv("XDG_STATE_HOME", shop.file("state").c_str(), 1);
  const std::string tree = shop.file("tree");
  std::filesystem::create_directories(tree);
  std::ofstream(tree + "/name") << "usrs\n";
  std::ofstream(tree + "/.gitignore") << "cache\n";
  std::ofstream(tree + "/cache") << "warm\n";
  std::ofstream(tree + "/look") << "#!/bin/sh\nW='" << shop.file("") << "'\n"
                                << T << R"sh(
$T step plan
[ -n "$TRIAGE_RECOVERY" ] && grep -q 'called users' "$TRIAGE_RECOVERY" && echo users > name
read name < name
echo "$name in $(cat cache)$(ls | grep conflict)" >> ${W}asked
echo x >> made
if [ "$name" != users ]; then
  echo spoilt > name
  $T step lookup --tool lookup --error "no such table: $name"
  echo "HTTP 404 no such table: $name" >&2; exit 1
fi)sh";
  std::filesystem::permissions(tree + "/look", std::filesystem::perms::owner_all);
  const auto in_tree = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/env", "-C", tree});
    return run_program(words);
  };
  const Printed failed =
      in_tree(shop.run_line({"--run", "r", "--max-attempts", "1", "--workspace", "."}, {"./look"}));
  INFO(failed.error);
  REQUIRE(failed.status == 1);
  REQUIRE(read_text(tree + "/name") == "spoilt\n");
  std::ofstream(tree + "/name") << "changed by hand\n";
  const Json json = report_of(shop.triage({"replay", "r", "--confirm", "--times", "6", "--json",
                                           "--hint", "The table is called users."}));
  CHECK(json["finding"] == "cause");
  CHECK(json["unchanged"]["failed_alike"] == 6);
  std::string expected = "usrs in warm\n";
  for (int i = 0; i < 12; ++i) {
    expected += i % 4 == 1 || i % 4 == 2 ? "users in warm\n" : "usrs in warm\n";
  }
  CHECK(read_text(shop.file("asked")) == expected);
  // The user's folder is unchanged.
  CHECK(read_text(tree + "/name") == "changed by hand\n");
  CHECK(read_text(tree + "/made") == "x\n");
  // A program that knows the folder's path would leave the copy.
  const Printed elsewhere = shop.run({"--run", "e", "--max-attempts", "1", "--workspace", tree},
                                     {"sh", "-c", "echo x; exit 1"});
  REQUIRE(elsewhere.status == 1);
  const Printed refused = shop.triage({"replay", "e", "--confirm", "--from", "e@0", "--hint", "x"});
  CHECK(refused.status == 9);
  CHECK_THAT(refused.error, ContainsSubstring("outside of its workspace"));
  ::unsetenv("XDG_STATE_HOME");
}
