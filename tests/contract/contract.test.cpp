// SPDX-License-Identifier: MIT
// An agent's contract in operation: what a run refuses, and what the next attempt is told.
#include "triage/contract.hpp"

#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/policies/manifest.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/resume.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

struct NoJson {
  int value = 0;
};

AgentOptions bare_with(AgentContract contract) {
  AgentOptions options = Kit().bare();
  options.classifier = nullptr;
  options.contract = std::move(contract);
  return options;
}

FailurePolicy again() { return answers({RecoveryAction::retry()}); }

const AgentContract report_contract{
    .output_schema = {{"type", "object"},
                      {"required", {"title"}},
                      {"properties", {{"title", {{"type", "string"}}}}}}};

}  // namespace

TEST_CASE("a result that breaks its schema fails the attempt that returned it", "[contract]") {
  std::vector<std::string> hints;
  const TriageAgent agent{[&](int, Attempt& attempt) -> Json {
                            if (attempt.number() == 1) return {{"titel", "x"}};
                            REQUIRE(attempt.recovery() != nullptr);
                            const Recovery& told = *attempt.recovery();
                            CHECK(told.failure_type == FailureType::schema_mismatch);
                            CHECK(told.reason == "result_mismatch");
                            REQUIRE_FALSE(told.evidence.empty());
                            CHECK(told.evidence.front().source == "contract");
                            CHECK_FALSE(told.evidence.front().facts.empty());
                            REQUIRE(told.contract != nullptr);
                            CHECK_FALSE(told.contract->output_schema.empty());
                            hints.push_back(told.hint);
                            return {{"title", "x"}};
                          },
                          again(), bare_with(report_contract)};
  const Result<Json> result = agent.run(1);
  REQUIRE_OK(result);
  CHECK(result.value() == Json{{"title", "x"}});
  REQUIRE(hints.size() == 1);
  CHECK_THAT(hints[0], ContainsSubstring("The result breaks its schema") &&
                           ContainsSubstring(R"({"required":["title"]})"));
}

TEST_CASE("a result that never fits is no success", "[contract]") {
  const TriageAgent agent{[](int) {
                            return Json{{"title", 5}};
                          },
                          answers({RecoveryAction::escalate()}), bare_with(report_contract)};
  const Result<Json> result = agent.run(1);
  CHECK_ERRC(Errc::escalated, result);
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->type() == FailureType::schema_mismatch);
  CHECK_THAT(result.error().detail, ContainsSubstring("at /title"));
}

TEST_CASE("a result without a conversion to JSON is refused, not waved through", "[contract]") {
  const TriageAgent agent{[](int) { return NoJson{1}; }, again(), bare_with(report_contract)};
  const auto result = agent.run(1);
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(
      result.error().detail,
      ContainsSubstring("the contract cannot be checked: the agent's result has no conversion"));
}

TEST_CASE("open subgoals make a returned value an incomplete plan", "[contract]") {
  FailurePolicy policy;
  policy.on(FailureType::plan_incomplete, resume_from_subgoal());
  std::vector<std::string> told;
  const TriageAgent agent{
      [&](int, Attempt& attempt) {
        if (attempt.number() == 1) {
          attempt.complete_subgoal("search");
          return 1;
        }
        told = {attempt.recovery()->subgoal, attempt.recovery()->hint};
        // Restored steps count: "search" is still done.
        attempt.record_step(
            {.action = "write and send", .metadata = {{"completes_subgoal", {"write", "send"}}}});
        return 2;
      },
      policy, bare_with({.subgoals = {"search", "write", "send"}})};
  const Result<int> result = agent.run(1);
  REQUIRE_OK(result);
  CHECK(result.value() == 2);
  REQUIRE(told.size() == 2);
  CHECK(told[0] == "write");
  CHECK_THAT(told[1], ContainsSubstring("2 of its 3 subgoals are open: write, send"));
}

TEST_CASE("a retry opens the subgoals again, and a failure knows the first open one",
          "[contract]") {
  std::vector<std::string> open;
  AgentOptions options = bare_with({.subgoals = {"search", "write"}});
  options.hooks.on_failure = [&](const FailureContext& context) {
    open.push_back(context.incomplete_subgoal.value_or("none"));
  };
  const TriageAgent agent{[](int, Attempt& attempt) -> Result<int> {
                            attempt.complete_subgoal("search");
                            if (attempt.number() == 1) return attempt.fail({.text = "broken"});
                            if (attempt.number() == 3) attempt.complete_subgoal("write");
                            return attempt.number();
                          },
                          again(), options};
  CHECK(agent.run(1).value() == 3);
  CHECK(open == std::vector<std::string>{"write", "write"});
}

TEST_CASE("the callable can set the contract, and a bad one ends the run", "[contract]") {
  const TriageAgent agent{[](int, Attempt& attempt) {
                            attempt.set_contract({.output_schema = {{"minimum", 2}}});
                            return attempt.number();
                          },
                          again(), bare_with({})};
  CHECK(agent.run(1).value() == 2);
  const TriageAgent bad{[](int, Attempt& attempt) {
                          attempt.set_contract({.output_schema = {{"minimum", "2"}}});
                          return attempt.number();
                        },
                        again(), bare_with({})};
  const auto refused = bad.run(1);
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("/minimum"));
}

TEST_CASE("an agent with a bad contract runs nothing", "[contract]") {
  int calls = 0;
  const TriageAgent agent{
      [&](int) { return ++calls; }, again(),
      bare_with({.tools = {{.name = "a", .input_schema = Json{{"pattern", "(?=x)"}}}}})};
  const auto refused = agent.run(1);
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("contract.tools[0] (a).input_schema") &&
                                         ContainsSubstring("/pattern"));
  CHECK(calls == 0);
}

TEST_CASE("usage beyond the limit explains a failure, and not the next attempt's", "[contract]") {
  std::vector<FailureType> types;
  AgentOptions options = bare_with({.context_limit = 100});
  options.hooks.on_failure = [&](const FailureContext& context) {
    types.push_back(context.type());
  };
  const TriageAgent agent{[](int, Attempt& attempt) -> Result<int> {
                            if (attempt.number() == 1) {
                              attempt.record_usage({.input_tokens = 90, .output_tokens = 11});
                            } else if (attempt.number() == 2) {
                              attempt.record_usage({.input_tokens = 500, .calls = 10});
                            } else {
                              return 1;
                            }
                            return attempt.fail({.text = "it broke"});
                          },
                          again(), options};
  REQUIRE_OK(agent.run(1));
  REQUIRE(types.size() == 2);
  CHECK(types[0] == FailureType::context_overflow);
  CHECK(types[1] != FailureType::context_overflow);
}

TEST_CASE("the manifest reaches the next attempt with its schemas", "[contract]") {
  FailurePolicy policy;
  policy.otherwise(retry_with_tool_manifest());
  const AgentContract contract{
      .tools = {{.name = "web_search", .input_schema = {{"required", {"query"}}}},
                {.name = "save", .input_schema = {{"required", {"path"}}}}}};
  std::vector<std::string> hints;
  std::vector<Json> schemas;
  const TriageAgent agent{
      [&](int, Attempt& attempt) -> Result<int> {
        if (attempt.recovery() != nullptr) {
          hints.push_back(attempt.recovery()->hint);
          REQUIRE(attempt.recovery()->contract != nullptr);
          schemas.push_back(attempt.recovery()->contract->tools[0].input_schema.json());
        }
        if (attempt.number() == 1) {
          attempt.record_step({.tool_called = "web_serch"});
        } else if (attempt.number() == 2) {
          attempt.record_step({.tool_called = "save", .tool_input = Json::object()});
        } else {
          return 1;
        }
        return attempt.fail({.text = "it broke"});
      },
      policy, bare_with(contract)};
  REQUIRE_OK(agent.run(1));
  REQUIRE(hints.size() == 2);
  CHECK_THAT(hints[0], ContainsSubstring("\"web_serch\" does not exist") &&
                           ContainsSubstring("Did you mean \"web_search\"?") &&
                           ContainsSubstring(R"(web_search: {"required":["query"]})"));
  CHECK_THAT(hints[1],
             ContainsSubstring("The input of the tool \"save\" breaks its schema") &&
                 ContainsSubstring(R"(inputs: save: {"required":["path"]}; web_search)") &&
                 !ContainsSubstring("does not exist"));
  CHECK(schemas[1] == Json{{"required", {"query"}}});
}

TEST_CASE("a strategy without a hint gets the sentence of the contract", "[contract]") {
  std::string hint;
  const auto broken_once = [&](int, Attempt& attempt) -> Result<int> {
    if (attempt.number() == 2) {
      hint = attempt.recovery()->hint;
      return 1;
    }
    attempt.record_step({.llm_output = "the password is 1234"});
    return attempt.fail({.text = "refused by the reviewer"});
  };
  const AgentContract contract{.forbidden_patterns = {"password"}};
  REQUIRE_OK(TriageAgent(broken_once, again(), bare_with(contract)).run(1));
  CHECK(hint == "The model's output matches the forbidden pattern \"password\".");
  FailurePolicy policy;
  policy.otherwise(replan());
  REQUIRE_OK(TriageAgent(broken_once, policy, bare_with(contract)).run(1));
  CHECK_THAT(hint, ContainsSubstring("forbidden pattern") && ContainsSubstring("Make a new plan"));
}

TEST_CASE("forbidden texts in what is returned fail the attempt", "[contract]") {
  const auto found_in = [](Json first) {
    std::string hint;
    const TriageAgent agent{
        [&](int, Attempt& attempt) -> Json {
          if (attempt.number() == 1) return first;
          CHECK(attempt.recovery()->failure_type == FailureType::constraint_ignored);
          hint = attempt.recovery()->hint;
          return "fine";
        },
        again(),
        bare_with({.constraints = {"Internal Only"}, .forbidden_patterns = {R"(\b\d{16}\b)"}})};
    const Result<Json> result = agent.run(1);
    REQUIRE_OK(result);
    CHECK(result.value() == (hint.empty() ? first : Json("fine")));
    return hint;
  };
  CHECK(found_in("this is INTERNAL ONLY") ==
        "The result contains the forbidden text \"Internal Only\".");
  CHECK_THAT(found_in({{"cards", {{{"number", "card 4111111111111111"}}}}}),
             ContainsSubstring("The result matches the forbidden pattern"));
  CHECK_FALSE(found_in({{"internal only", 1}}).empty());
  CHECK(found_in({{"number", 4111111111111111}, {"note", "for everybody"}}).empty());
}

TEST_CASE("what the model said last before the callable returned is judged, too", "[contract]") {
  std::vector<std::string> hints;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            if (attempt.number() == 1) {
                              attempt.record_step({.llm_output = "Internal only: it is late."});
                              attempt.record_step({.tool_called = "send"});
                            } else {
                              hints.push_back(attempt.recovery()->hint);
                              attempt.record_step({.llm_output = "Internal only. No, again:"});
                              attempt.record_step({.llm_output = "It is late."});
                            }
                            return NoJson{attempt.number()};
                          },
                          again(), bare_with({.constraints = {"internal only"}})};
  const auto result = agent.run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value == 2);
  CHECK(hints == std::vector<std::string>{
                     "The model's output contains the forbidden text \"internal only\"."});
}

TEST_CASE("what was said before a resumption is not held against what is returned", "[contract]") {
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            if (attempt.number() > 1) return attempt.number();
                            attempt.record_step({.llm_output = "Internal only."});
                            return attempt.fail({.text = "it broke"});
                          },
                          answers({RecoveryAction::resume()}),
                          bare_with({.constraints = {"internal only"}})};
  CHECK(agent.run(1).value() == 2);
}

TEST_CASE("a model that says nothing beside a call of a tool has said what it said before",
          "[contract]") {
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            attempt.record_step({.llm_output = "Internal only."});
                            attempt.record_step({.tool_called = "send", .llm_output = ""});
                            return attempt.number();
                          },
                          answers({RecoveryAction::escalate()}),
                          bare_with({.constraints = {"internal only"}})};
  CHECK_ERRC(Errc::escalated, agent.run(1));
}

TEST_CASE("a refusal to start is not taken for the fault of the attempt before", "[contract]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.contract = {.constraints = {"internal only"}};
  options.classifier = nullptr;
  options.expected_duration = std::chrono::seconds(10);
  std::vector<FailureType> types;
  options.hooks.on_failure = [&](const FailureContext& context) {
    types.push_back(context.type());
  };
  const TriageAgent agent{[&](int, Attempt&) {
                            kit.clock->advance(std::chrono::seconds(10));
                            return std::string("internal only");
                          },
                          again(), options};
  CHECK_ERRC(Errc::escalated,
             agent.run(1, {.deadline = kit.clock->now() + std::chrono::seconds(15)}));
  CHECK(types == std::vector<FailureType>{FailureType::constraint_ignored, FailureType::timeout});
}

TEST_CASE("a conversion that throws is refused, not waved through", "[contract]") {
  Json deep = "internal only";
  for (int i = 0; i < 300; ++i) deep = Json::array({std::move(deep)});
  const TriageAgent agent{[&](int) { return deep; }, again(),
                          bare_with({.constraints = {"internal only"}})};
  CHECK_FALSE(agent.run(1).has_value());
}

TEST_CASE("a contract with schemas changes the fingerprint", "[contract]") {
  Kit kit;
  const auto agent_with = [&](AgentContract contract) {
    AgentOptions options = kit.options();
    options.contract = std::move(contract);
    return TriageAgent{
        [](int, Attempt& attempt) -> Result<int> { return attempt.fail({.text = "broken"}); },
        answers({RecoveryAction::escalate()}), options};
  };
  CHECK_ERRC(Errc::escalated, agent_with({}).run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::conflict, agent_with({.output_schema = JsonSchema(true)}).resume_run("r"));
  CHECK_ERRC(Errc::escalated, agent_with({}).resume_run("r"));
}

TEST_CASE("what the contract found is in the journal", "[contract]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.contract = report_contract;
  const TriageAgent agent{[](int) {
                            return Json{{"title", 5}};
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run(1, {.run_id = "r"}));
  bool found = false;
  const JournalReading reading = kit.store->read("r", {}).value();
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::failure_classified) continue;
    const Json fields = record.body().value();
    CHECK(fields["type"] == "schema_mismatch");
    CHECK(fields["evidence"][0]["facts"][0] == Json::array({"path", "/title"}));
    found = true;
  }
  CHECK(found);
}

TEST_CASE("one contract serves many runs at once", "[contract]") {
  const TriageAgent agent{[](int task) {
                            return Json{{"title", task % 2 == 0 ? Json("x") : Json(task)}};
                          },
                          answers({RecoveryAction::escalate()}), bare_with(report_contract)};
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) good += agent.run(i).has_value() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 400);
}
