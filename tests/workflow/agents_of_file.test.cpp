// SPDX-License-Identifier: MIT
// What the agents of a workflow file may give, and what is told of the rest.
#include "command_kit.hpp"
#include "support/scripted_server.hpp"
#include "triage/json.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Printed with_agent(const Place& place, const std::string& agent) {
  return place.run(place.write(
      "w.yaml", "workflow: w\nagents: {a: {" + agent + "}}\ntasks: [{id: x, description: d}]\n"));
}

std::string content_and(const std::string& more) {
  return R"({"choices": [{"message": {"content": "text"}}])" + more + "}";
}

}  // namespace

TEST_CASE("a command that prints too much is killed, and told so", "[cli][workflow]") {
  const Place place;
  const Printed printed =
      with_agent(place, "command: [sh, -c, \"head -c 17000000 /dev/zero; exec sleep 600\"]");
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error, ContainsSubstring("it printed more than 16 MB, the most that is"));
}

TEST_CASE("what a command prints is kept as it is, or refused", "[cli][workflow]") {
  const auto printing = [](const std::string& json) {
    const Place place;
    return with_agent(place, "command: [echo, '" + json + "']");
  };
  const Printed large = printing(R"({"id": 123456789012345678901})");
  CHECK(large.status == 5);
  CHECK_THAT(large.error, ContainsSubstring("the number 123456789012345678901 is too large"));
  const Printed twice = printing(R"([{"a": {"b": 1}, "b": 2}, {"a": 1, "\u0061": 2}])");
  CHECK(twice.status == 5);
  CHECK_THAT(twice.error, ContainsSubstring("the key \"a\" is twice in one object"));
  const std::string exact = R"({"a":{"a":18446744073709551615},"b":[-9223372036854775808,1e+300]})";
  const Printed kept = printing(exact);
  CHECK(kept.status == 0);
  CHECK(Json::parse(kept.out).at("tasks").at(0).at("output").dump() == exact);
}

TEST_CASE("a text counts whatever an endpoint says of its tokens", "[cli][workflow]") {
  for (const char* more : {"", R"(, "usage": null)", R"(, "usage": "none")",
                           R"(, "usage": {"prompt_tokens": "5", "completion_tokens": 7})",
                           R"(, "usage": {"prompt_tokens": -5, "completion_tokens": 1.5})"}) {
    const Place place;
    const ScriptedServer server(std::vector<ServerAnswer>{{.body = content_and(more)}});
    const Printed printed = with_agent(place, "url: \"" + server.url() + "/v1\", model: m");
    INFO(more << "\n" << printed.error);
    REQUIRE(printed.status == 0);
    CHECK_THAT(printed.out, ContainsSubstring("\"text\""));
  }
}

TEST_CASE("an endpoint that says nothing is told with its status", "[cli][workflow]") {
  const Place place;
  const ScriptedServer server(std::vector<ServerAnswer>{{.status = 503}});
  const Printed printed = with_agent(place, "url: \"" + server.url() + "/v1\", model: m");
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error, ContainsSubstring("the endpoint answered with status 503"));
}

TEST_CASE("a command has ended when it ends, whatever it has left running", "[cli][workflow]") {
  const auto time = [] { return std::chrono::steady_clock::now(); };
  const auto begun = time();
  const Place place;
  const Printed printed = with_agent(place, "command: [sh, -c, 'sleep 60 & echo 1'], timeout: 50s");
  INFO(printed.error);
  CHECK(printed.status == 0);
  const Place other;
  const Printed failed =
      with_agent(other, "command: [sh, -c, 'sleep 60 & echo boom >&2; exit 3'], timeout: 50s");
  CHECK(failed.status == 5);
  CHECK_THAT(failed.error, ContainsSubstring("boom (exit status 3)"));
  CHECK(time() - begun < std::chrono::seconds(50));
}

TEST_CASE("all that a command has printed when it ends is its output", "[cli][workflow]") {
  const Place place;
  const Printed printed = with_agent(
      place,
      R"(command: [sh, -c, 'sleep 60 & printf "["; head -c 3000000 /dev/zero | tr "\0" " "; printf 1]'])");
  INFO(printed.error.substr(0, 1000));
  REQUIRE(printed.status == 0);
  CHECK(Json::parse(printed.out).at("tasks").at(0).at("output") == Json::array({1}));
}

TEST_CASE("a command that takes too long is told with what it had said", "[cli][workflow]") {
  const Place place;
  const Printed printed =
      with_agent(place, "command: [sh, -c, 'echo partial >&2; exec sleep 600'], timeout: 300ms");
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error,
             ContainsSubstring("executor \"x\" took longer than its timeout; it ended with: the "
                               "command was killed; its standard error ended with: partial"));
}

TEST_CASE("a command's failure is told once, in one line, with its exit status",
          "[cli][workflow]") {
  const Place place;
  const Printed said = with_agent(place, "command: [sh, -c, 'echo boom >&2; exit 3']");
  CHECK_THAT(said.error, ContainsSubstring("executor \"x\": boom (exit status 3)\n"));
  CHECK_THAT(said.error, !ContainsSubstring("the failure was"));
  const Place other;
  const Printed silent = with_agent(other, "command: [sh, -c, 'echo >&2; exit 3']");
  CHECK_THAT(silent.error, ContainsSubstring("the command exited with status 3"));
}

TEST_CASE("an answer that the endpoint cut off or withheld is a failure", "[cli][workflow]") {
  const auto answered = [](const std::string& choice) {
    const Place place;
    const ScriptedServer server(
        std::vector<ServerAnswer>{{.body = "{\"choices\": [" + choice + "]}"}});
    return with_agent(place, "url: \"" + server.url() + "/v1\", model: m");
  };
  const Printed cut =
      answered(R"({"finish_reason": "length", "message": {"content": "half of the"}})");
  CHECK(cut.status == 5);
  CHECK_THAT(cut.error, ContainsSubstring("cut the answer off"));
  const Printed withheld =
      answered(R"({"finish_reason": "content_filter", "message": {"content": "a"}})");
  CHECK(withheld.status == 5);
  CHECK_THAT(withheld.error, ContainsSubstring("content filter"));
  const Printed empty = answered(R"({"finish_reason": "stop", "message": {"content": ""}})");
  CHECK(empty.status == 5);
  CHECK_THAT(empty.error, ContainsSubstring("has no text"));
  CHECK(answered(R"({"finish_reason": "stop", "message": {"content": "all"}})").status == 0);
}

TEST_CASE("an endpoint's key is neither told nor stored, whatever its variable is called",
          "[cli][workflow]") {
  const std::string key = "hunter2-Tr0ub4dor-value";
  ::setenv("TRIAGE_TEST_MINE", key.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const ScriptedServer server([](const ServerRequest& request) {
    return ServerAnswer{
        .status = 401,
        .body = "Incorrect API key provided: " + request.headers.at("authorization").substr(7)};
  });
  const Place place;
  const Printed printed =
      with_agent(place, "url: \"" + server.url() + "/v1\", model: m, key_env: TRIAGE_TEST_MINE");
  CHECK(printed.status == 5);
  CHECK_THAT(printed.error, ContainsSubstring("key provided: [redacted]"));
  for (const std::string& text : {printed.out, printed.error, read_text(place.file("runs.db")),
                                  read_text(place.file("runs.db-wal"))}) {
    CHECK_THAT(text, !ContainsSubstring(key));
  }
}

TEST_CASE("what has failed is tried again after the wait that is asked for, and told",
          "[cli][workflow]") {
  const std::string tried_again = "x failed, and is tried again in 1.0 s: ";
  const auto begun = std::chrono::steady_clock::now();
  const Place place;
  const auto run = [&](const std::string& agent) {
    return place.run(place.write("w.yaml", "workflow: w\nattempts: 2\nagents: {a: {" + agent +
                                               "}}\ntasks: [{id: x, description: d}]\n"));
  };
  SECTION("by a command") {
    const Printed printed =
        run("command: [sh, -c, 'test -e tried && echo 1 && exit; touch tried; "
            "echo \"HTTP 429 Too Many Requests; retry after 1 second\" >&2; exit 3']");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.error, ContainsSubstring(tried_again + "HTTP 429"));
  }
  SECTION("by an endpoint's header") {
    const ScriptedServer server(std::vector<ServerAnswer>{
        {.status = 429, .body = "slow down", .headers = {{"Retry-After", "1"}}},
        {.body = content_and("")}});
    const Printed printed = run("url: \"" + server.url() + "/v1\", model: m");
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.error, ContainsSubstring(tried_again + "slow down"));
  }
  SECTION("also in a nested graph") {
    const Printed printed = place.run(place.write(
        "w.yaml",
        "workflow: w\nattempts: 2\nagents: {a: {command: [sh, -c, 'test -e tried && echo 1 && "
        "exit; touch tried; echo \"HTTP 429; retry after 1 second\" >&2; exit 3']}}\n"
        "start: n\nexecutors: [{id: n, start: x, executors: [{id: x}]}]\n"));
    INFO(printed.error);
    CHECK(printed.status == 0);
    CHECK_THAT(printed.error, ContainsSubstring("n/" + tried_again + "HTTP 429"));
  }
  CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::seconds(1));
}
