// SPDX-License-Identifier: MIT
#include "triage/contract.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

using namespace triage;

namespace {

Classification judge(const AgentContract& contract, std::vector<Step> steps,
                     std::size_t restored = 0, const Failure& failure = {.text = "it failed"}) {
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  return RulesClassifier().classify({.failure = failure,
                                     .trajectory = trajectory,
                                     .restored_steps = restored,
                                     .contract = &contract});
}

const AgentContract manifest{
    .tools = {{.name = "web_search", .aliases = {"search"}}, {.name = "fetch"}, {.name = "save"}}};

}  // namespace

TEST_CASE("a tool that is not in the manifest is a wrong tool", "[classifier][contract]") {
  const Classification found = judge(manifest, {{.tool_called = "web_serch"}});
  CHECK(found.type == FailureType::wrong_tool_called);
  CHECK(found.reason == "tool_not_in_manifest");
  CHECK_THAT(found.evidence.front().detail, ContainsSubstring("web_search"));
  CHECK(found.evidence.front().step == 0U);
}

TEST_CASE("names and aliases of the manifest are accepted", "[classifier][contract]") {
  CHECK(judge(manifest, {{.tool_called = "web_search"}}).type == FailureType::unknown);
  CHECK(judge(manifest, {{.tool_called = "search"}}).type == FailureType::unknown);
  CHECK(judge({}, {{.tool_called = "anything"}}).type == FailureType::unknown);
}

TEST_CASE("a breach beats words, and an older breach does not", "[classifier][contract]") {
  const Failure limited{.text = "HTTP 429 Too Many Requests"};
  CHECK(judge(manifest, {{.tool_called = "serch"}}, 0, limited).type ==
        FailureType::wrong_tool_called);
  CHECK(judge(manifest, {{.tool_called = "serch"}, {.tool_called = "fetch"}}, 0, limited).type ==
        FailureType::external_fault);
}

TEST_CASE("restored calls are not held against the agent", "[classifier][contract]") {
  CHECK(judge(manifest, {{.tool_called = "serch"}, {.action = "think"}}, 1).type ==
        FailureType::unknown);
}

TEST_CASE("forbidden text in the model's output is an ignored constraint",
          "[classifier][contract]") {
  const AgentContract contract{.constraints = {"", "Internal Only"}};
  const Classification found = judge(contract, {{.llm_output = "This is INTERNAL ONLY, sorry."}});
  CHECK(found.type == FailureType::constraint_ignored);
  CHECK(found.reason == "forbidden_text");
  CHECK(judge(contract, {{.llm_output = "This is public."}}).type == FailureType::unknown);
  CHECK(judge({}, {{.llm_output = "INTERNAL ONLY"}}).type == FailureType::unknown);
}
