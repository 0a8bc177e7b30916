// SPDX-License-Identifier: MIT
// Steps are checked against the contract as they are recorded.
#include "triage/contract.hpp"

#include "contract/step_breaches.hpp"
#include "support/deep_values.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

const AgentContract manifest{.tools = {{.name = "fetch",
                                        .input_schema = {{"required", {"url"}}},
                                        .output_schema = {{"type", "object"}}},
                                       {.name = "save"}},
                             .constraints = {"internal only"}};

Step call(std::string tool, Json input = Json::object()) {
  return {.tool_called = std::move(tool), .tool_input = std::move(input)};
}

std::vector<std::string> reasons(const std::vector<StepBreach>& found) {
  std::vector<std::string> all;
  for (const StepBreach& breach : found) all.emplace_back(breach.reason);
  return all;
}

using Reasons = std::vector<std::string>;

// An agent whose newest failure is kept with all its evidence.
struct Looking {
  Kit kit{};
  bool stores = false;
  AgentContract contract = manifest;
  std::vector<std::vector<Evidence>> evidence{};
  std::vector<FailureType> types{};
  std::vector<std::optional<std::size_t>> critical{};

  template <class Callable>
  Result<int> run(Callable callable, FailurePolicy policy = answers({RecoveryAction::escalate()})) {
    AgentOptions options = stores ? kit.options() : kit.bare();
    options.classifier = nullptr;
    options.contract = contract;
    options.hooks.on_failure = [this](const FailureContext& context) {
      evidence.push_back(context.classification.evidence);
      types.push_back(context.type());
      critical.push_back(context.classification.critical_step);
    };
    return TriageAgent{std::move(callable), std::move(policy), options}.run(1);
  }
  [[nodiscard]] std::vector<std::size_t> broken_steps() const {
    std::vector<std::size_t> steps;
    for (const Evidence& one : evidence.back()) {
      if (one.source == "contract" && one.step) steps.push_back(*one.step);
    }
    std::sort(steps.begin(), steps.end());
    return steps;
  }
};

}  // namespace

TEST_CASE("one step is judged by itself", "[contract]") {
  CHECK(judge_step(manifest, call("save")).empty());
  CHECK(judge_step(manifest, call("fetch", {{"url", "x"}})).empty());
  CHECK(judge_step({}, call("anything")).empty());
  const auto unknown = judge_step(manifest, call("fetsh"));
  REQUIRE(reasons(unknown) == Reasons{"tool_not_in_manifest"});
  CHECK(unknown[0].evidence.suggests == FailureType::wrong_tool_called);
  CHECK(unknown[0].evidence.facts.back() ==
        std::pair<std::string, std::string>{"nearest", "fetch"});
  CHECK(reasons(judge_step(manifest, call("fetch"))) == Reasons{"tool_input_mismatch"});
  Step answered = call("fetch", {{"url", "x"}});
  answered.tool_output = "a page";
  CHECK(reasons(judge_step(manifest, answered)) == Reasons{"tool_output_mismatch"});
  answered.error = "it failed, so that its output promises nothing";
  CHECK(judge_step(manifest, answered).empty());
  Step both = call("fetsh");
  both.llm_output = "This is Internal Only.";
  CHECK(reasons(judge_step(manifest, both)) == Reasons{"tool_not_in_manifest", "forbidden_text"});
}

TEST_CASE("a step that breaks the contract is told as it is recorded", "[contract][events]") {
  Looking agent{.stores = GENERATE(true, false)};
  REQUIRE_OK(agent.run([](int, Attempt& attempt) {
    attempt.record_step(call("save"));
    attempt.record_step(call("fetsh"));
    attempt.record_step({.llm_output = "internal only"});
    attempt.record_step({.llm_output = "nothing secret"});
    return 1;
  }));
  std::vector<std::pair<std::uint64_t, std::string>> told;
  EventKind before = EventKind::run_started;
  for (const auto& entry : agent.kit.log->entries()) {
    if (entry.kind == EventKind::contract_broken) {
      CHECK(before == EventKind::step_recorded);
      told.emplace_back(entry.number, entry.text);
    }
    before = entry.kind;
  }
  REQUIRE(told.size() == 2);
  CHECK(told[0].first == 1);
  CHECK_THAT(told[0].second, ContainsSubstring("has no tool \"fetsh\""));
  CHECK(told[1] ==
        std::make_pair(std::uint64_t{2},
                       std::string("The model's output contains the forbidden text \"internal "
                                   "only\"")));
}

TEST_CASE("a breach is remembered however many steps follow", "[contract]") {
  Looking agent{.stores = GENERATE(true, false)};
  CHECK_ERRC(Errc::escalated, agent.run([](int, Attempt& attempt) -> Result<int> {
    attempt.record_step(call("fetsh"));
    for (int i = 0; i < 1'000; ++i) attempt.record_step({.action = "think"});
    return attempt.fail({.text = "it broke"});
  }));
  CHECK(agent.broken_steps() == std::vector<std::size_t>{0});
  CHECK(agent.types.back() == FailureType::unknown);  // Too long ago: the run survived it.
}

TEST_CASE("of many breaches the oldest and the newest are kept", "[contract]") {
  Looking agent;
  CHECK_ERRC(Errc::escalated, agent.run([](int, Attempt& attempt) -> Result<int> {
    for (int i = 0; i < 100; ++i) attempt.record_step(call("fetch" + std::to_string(i)));
    return attempt.fail({.text = "it broke"});
  }));
  const std::vector<std::size_t> broken = agent.broken_steps();
  REQUIRE(broken.size() == 32);
  CHECK(broken[15] == 15);
  CHECK(broken[16] == 84);
  CHECK(agent.types.back() == FailureType::wrong_tool_called);
  CHECK(agent.evidence.back().front().step == 99);
}

TEST_CASE("a contract holds from when it is set, in later attempts too", "[contract]") {
  Looking agent{.contract = {}};
  REQUIRE_OK(agent.run(
      [](int, Attempt& attempt) -> Result<int> {
        if (attempt.number() == 4) return 4;
        attempt.record_step(call("fetsh"));
        if (attempt.number() == 1) attempt.set_contract(manifest);
        if (attempt.number() <= 2) attempt.record_step(call("save"));
        return attempt.fail({.text = "it broke"});
      },
      answers({RecoveryAction::resume()})));
  CHECK(agent.types == std::vector<FailureType>{FailureType::unknown, FailureType::unknown,
                                                FailureType::wrong_tool_called});
  CHECK(agent.critical.front() == std::nullopt);  // The contract was set after that step.
}

TEST_CASE("what could not be checked hides nothing and crowds nothing out", "[contract]") {
  const AgentContract hard{.tools = {{.name = "sort",
                                      .input_schema = schema_that_multiplies(),
                                      .output_schema = {{"type", "object"}}}},
                           .forbidden_patterns = {"^$"}};
  Step step = call("sort", nested_arrays(61));
  step.tool_output = "sorted";
  step.llm_output = "";  // Nothing was said.
  detail::JudgingBudget small{.schema_rules = 2'000};
  const std::vector<StepBreach> found = detail::judge_step(hard, step, small);
  REQUIRE(reasons(found) == Reasons{"not_checked", "tool_output_mismatch"});
  CHECK(small.schema_rules > 900);
  std::vector<StepBreach> kept;
  detail::keep_breaches({found[1]}, 0, kept);
  for (std::size_t i = 1; i <= 40; ++i) detail::keep_breaches({found[0]}, i, kept);
  detail::keep_breaches({found[1]}, 41, kept);
  CHECK(kept.size() == 10);
  CHECK(kept.front().evidence.step == 0);
  CHECK(kept[8].evidence.step == 8);
  CHECK(kept.back().evidence.step == 41);
}

TEST_CASE("what an earlier attempt broke is not held against the next one", "[contract]") {
  Looking agent;
  REQUIRE_OK(agent.run(
      [](int, Attempt& attempt) -> Result<int> {
        if (attempt.number() == 1) attempt.record_step(call("fetsh"));
        if (attempt.number() == 2) attempt.record_step({.action = "think"});
        if (attempt.number() == 3) return 3;
        return attempt.fail({.text = "it broke"});
      },
      answers({RecoveryAction::resume(), RecoveryAction::retry()})));
  CHECK(agent.types ==
        std::vector<FailureType>{FailureType::wrong_tool_called, FailureType::unknown});
  CHECK(agent.broken_steps().empty());
}

TEST_CASE("steps of several threads are judged, each under its own index", "[contract][threads]") {
  Looking agent;
  CHECK_ERRC(Errc::escalated, agent.run([](int, Attempt& attempt) -> Result<int> {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&attempt] {
        for (int i = 0; i < 4; ++i) {
          attempt.record_step(call("save"));
          attempt.record_step(call("fetsh"));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Trajectory steps = attempt.trajectory();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].tool_called == "fetsh") attempt.update_state({{std::to_string(i), true}});
    }
    return attempt.fail({.text = attempt.state().json().dump()});
  }));
  CHECK(agent.kit.log->count(EventKind::contract_broken) == 16);
  const std::vector<std::size_t> broken = agent.broken_steps();
  CHECK(broken.size() == 16);
  for (const std::size_t step : broken) {
    CHECK_THAT(agent.kit.log->last(EventKind::attempt_failed).text,
               ContainsSubstring("\"" + std::to_string(step) + "\":true"));
  }
}

TEST_CASE("several checks may share what they take", "[contract][schema]") {
  const JsonSchema easy(Json{{"required", {"a"}}});
  std::size_t rules_left = 5'000;
  REQUIRE_OK(easy.check(Json::object(), rules_left));
  CHECK(rules_left < 5'000);
  CHECK(rules_left > 4'990);
  CHECK_ERRC(Errc::unsupported, schema_that_multiplies().check(nested_arrays(61), rules_left));
  CHECK(rules_left == 0);
  CHECK_ERRC(Errc::unsupported, easy.check(Json::object(), rules_left));
}
