// SPDX-License-Identifier: MIT
// What the command tells of a store whose URL has a password.
#include "command_kit.hpp"
#include "support/redis_server.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("commands that are told for going on do not contain a store's password",
          "[cli][workflow][redis]") {
  const RedisServer server({"--requirepass", "hunter2"});
  REQUIRE(server.ready());
  const std::string at = "127.0.0.1:" + std::to_string(server.port());
  const std::string store = "redis://:hunter2@" + at;
  const Place place;
  const std::string file = place.write("ask.yaml", R"(workflow: ask
agents: {cat: {command: [cat]}}
start: ask
executors: [{id: ask, ask: "May it be printed?", answer: boolean}, {id: print, agent: cat}]
edges: [{from: ask, to: print}]
)");
  const auto told = [&](std::vector<std::string> words, int status) {
    words.insert(words.begin(), TRIAGE_COMMAND);
    const Printed printed = run_program(words);
    INFO(printed.out << printed.error);
    CHECK(printed.status == status);
    CHECK_THAT(printed.out + printed.error, !ContainsSubstring("hunter2"));
    return printed.out + printed.error;
  };
  CHECK_THAT(told({"workflow", "run", file, "--store", store, "--run", "one"}, 7),
             ContainsSubstring("triage workflow run " + file) && ContainsSubstring("***@" + at));
  const Json all =
      Json::parse(run_program({TRIAGE_COMMAND, "workflow", "show", store, "one", "--json"}).out);
  CHECK_THAT(
      told({"fork", store, all.at("checkpoint"), "--run", "two"}, 0),
      ContainsSubstring("to run it: triage workflow run FILE") && ContainsSubstring("***@" + at));
}
