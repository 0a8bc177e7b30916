// SPDX-License-Identifier: MIT
// What the agents of a workflow file may give, and what is told of the rest.
#include "command_kit.hpp"
#include "support/scripted_server.hpp"
#include "triage/json.hpp"

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
