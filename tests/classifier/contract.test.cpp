// SPDX-License-Identifier: MIT
#include "triage/contract.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"
#include "support/deep_values.hpp"

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

TEST_CASE("a failed call is found however many calls came after it", "[classifier][contract]") {
  std::vector<Step> steps;
  for (int i = 0; i < 200; ++i)
    steps.push_back({.tool_called = i % 2 == 0 ? "search" : "fetch", .tool_input = i});
  steps[3] = {.tool_called = "serch", .error = "no"};
  CHECK(judge(manifest, steps).type == FailureType::wrong_tool_called);
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

namespace {

const AgentContract typed{
    .tools = {{.name = "fetch",
               .aliases = {"get"},
               .input_schema = {{"type", "object"},
                                {"properties", {{"url", {{"type", "string"}}}}},
                                {"required", {"url"}}},
               .output_schema = {{"type", "object"}}},
              {.name = "save"}},
    .context_limit = 1'000,
    .forbidden_patterns = {R"(\bpass(word|phrase)s?\b)"}};

std::string fact(const Evidence& evidence, std::string_view key) {
  for (const auto& [name, value] : evidence.facts) {
    if (name == key) return value;
  }
  return "<none>";
}

}  // namespace

TEST_CASE("an input that breaks the tool's schema is a schema mismatch, with path and schema",
          "[classifier][contract]") {
  for (const std::string name : {"fetch", "get"}) {
    const Classification found =
        judge(typed, {{.tool_called = name, .tool_input = {{"url", 5}}}}, 0, {});
    CHECK(found.type == FailureType::schema_mismatch);
    CHECK(found.reason == "tool_input_mismatch");
    REQUIRE(found.evidence.front().source == "contract");
    CHECK(fact(found.evidence.front(), "tool") == "fetch");
    CHECK(fact(found.evidence.front(), "path") == "/url");
    CHECK(fact(found.evidence.front(), "expected") == R"({"type":"string"})");
    CHECK(fact(found.evidence.front(), "found") == "5");
    CHECK(found.evidence.front().detail ==
          R"(The input of the tool "fetch" breaks its schema at /url: expected {"type":"string"}, )"
          "found 5");
  }
  CHECK(judge(typed, {{.tool_called = "save", .tool_input = 5}}).type == FailureType::unknown);
  CHECK(judge(typed, {{.tool_called = "fetch", .tool_input = {{"url", "x"}}}}).type ==
        FailureType::unknown);
  CHECK(judge(typed, {{.tool_called = "fetch"}}).type == FailureType::unknown);  // Not recorded.
}

TEST_CASE("arguments that are text are read as the JSON they hold", "[classifier][contract]") {
  const auto type_of = [](const char* input) {
    return judge(typed, {{.tool_called = "fetch", .tool_input = input}}).type;
  };
  CHECK(type_of(R"({"url": "x"})") == FailureType::unknown);
  CHECK(type_of(R"({"uri": "x"})") == FailureType::schema_mismatch);
  CHECK(type_of(R"({"url": "x)") == FailureType::schema_mismatch);
  CHECK(type_of("5") == FailureType::schema_mismatch);
}

TEST_CASE("an output is checked unless its step failed", "[classifier][contract]") {
  Step step{.tool_called = "fetch", .tool_input = {{"url", "x"}}, .tool_output = "<html>"};
  const Classification found = judge(typed, {step});
  CHECK(found.type == FailureType::schema_mismatch);
  CHECK(found.reason == "tool_output_mismatch");
  step.error = "it failed";
  CHECK(judge(typed, {step}).type == FailureType::unknown);
}

TEST_CASE("a broken call decides if it is the newest one or the one that failed",
          "[classifier][contract]") {
  const Step broken{.tool_called = "fetch", .tool_input = {{"uri", 1}}};
  Step failed = broken;
  failed.error = "HTTP 429 Too Many Requests";
  const Step fine{.tool_called = "save"};
  const Failure limited{.text = "HTTP 429 Too Many Requests"};
  CHECK(judge(typed, {fine, broken}, 0, limited).type == FailureType::schema_mismatch);
  CHECK(judge(typed, {failed, fine}, 0, limited).type == FailureType::schema_mismatch);
  CHECK(judge(typed, {broken, fine}, 0, limited).type == FailureType::external_fault);
  CHECK(judge(typed, {broken, {.action = "think"}}, 1, {}).type == FailureType::unknown);
}

TEST_CASE("a forbidden pattern in the model's output is an ignored constraint",
          "[classifier][contract]") {
  const Classification found = judge(typed, {{.llm_output = "The PASSWORD is 1234."}});
  CHECK(found.type == FailureType::constraint_ignored);
  CHECK(found.reason == "forbidden_pattern");
  CHECK(judge(typed, {{.llm_output = "compassphrases"}}).type == FailureType::unknown);
}

TEST_CASE("a call that takes more tokens than allowed is a context overflow",
          "[classifier][contract]") {
  const Failure failure{.text = "it failed"};
  const Trajectory none;
  const auto type_of = [&](std::uint64_t tokens) {
    return RulesClassifier()
        .classify({.failure = failure,
                   .trajectory = none,
                   .contract = &typed,
                   .newest_call_tokens = tokens})
        .type;
  };
  CHECK(type_of(1'000) == FailureType::unknown);
  CHECK(type_of(1'001) == FailureType::context_overflow);
  CHECK(judge(typed, {{.metadata = {{"tokens", 1'001}}}}).reason == "context_limit_exceeded");
  CHECK(judge(typed, {{.metadata = {{"tokens", 1'001}}}, {.metadata = {{"tokens", 9}}}}).type ==
        FailureType::unknown);
}

TEST_CASE("what cannot be checked is told and held against nobody", "[classifier][contract]") {
  const AgentContract hard{
      .tools = {{.name = "fetch", .input_schema = test::schema_that_multiplies()}}};
  const Classification found =
      judge(hard, {{.tool_called = "fetch", .tool_input = test::nested_arrays(101)}}, 0, {});
  CHECK(found.type == FailureType::unknown);
  REQUIRE(found.evidence.size() == 1);
  CHECK_THAT(found.evidence[0].detail, ContainsSubstring("was not checked"));
}

TEST_CASE("a contract with a bad schema or pattern is refused, naming the place",
          "[classifier][contract]") {
  const auto refused = [](const AgentContract& contract) {
    const auto checked = check_contract(contract);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Errc::invalid_argument);
    return checked.error().detail;
  };
  const Json bad = Json::parse(R"({"properties": {"url": {"type": "strin"}}})");
  CHECK(check_contract(typed));
  CHECK_THAT(refused({.tools = {{.name = "a"}, {.name = "fetch", .input_schema = bad}}}),
             ContainsSubstring("tools[1] (fetch).input_schema") &&
                 ContainsSubstring("/properties/url/type"));
  CHECK_THAT(refused({.tools = {{.name = "fetch", .output_schema = bad}}}),
             ContainsSubstring("tools[0] (fetch).output_schema"));
  CHECK_THAT(refused({.output_schema = bad}), ContainsSubstring("output_schema: "));
  CHECK_THAT(refused({.forbidden_patterns = {"ok", "(?!x)"}}),
             ContainsSubstring("forbidden_patterns[1]"));
  // A classifier given one nevertheless does not fail.
  CHECK(judge({.tools = {{.name = "fetch", .input_schema = bad}}},
              {{.tool_called = "fetch", .tool_input = 5}})
            .type == FailureType::unknown);
}
