// SPDX-License-Identifier: MIT
// Which step of a conversation is blamed, when, and with what confidence.
#include "classifier/blame/talk_blame.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <numeric>
#include <random>

using namespace triage;

namespace {

const std::string task = "How many lighthouses stand along the northern coast of Jutland today?";
const Failure wrong{.text = "the final answer is wrong"};

Step says(const std::string& agent, const std::string& text) {
  return {.action = "say", .llm_output = text, .agent_id = agent};
}
Step writes(const std::string& agent, const std::string& code) {
  return says(agent, "We need the list, so run this.\n```python\n" + code + "\n```");
}
Step runs(const std::string& output) {
  return {.action = "act", .tool_called = "shell", .tool_output = output, .agent_id = "shell"};
}
const Step plan = says("chief",
                       "The task: count the lighthouses that stand along the northern "
                       "coast of Jutland today. Begin with a list of them.");
const Step broken =
    runs("exitcode: 1 (execution failed)\nModuleNotFoundError: No module named 'x'");

Classification blame(std::vector<Step> steps, const Failure& failure = wrong,
                     const AgentContract& contract = {}) {
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  return default_classifier()->classify(
      {.failure = failure, .trajectory = trajectory, .task = task, .contract = &contract});
}

std::vector<Step> with(std::vector<Step> steps, const std::vector<Step>& more) {
  steps.insert(steps.end(), more.begin(), more.end());
  return steps;
}

// A conversation in which one program raises, at `*at`.
std::vector<Step> conversation(std::uint64_t seed, std::size_t& at) {
  std::mt19937_64 dice(seed);
  const auto upto = [&](std::size_t most) { return static_cast<std::size_t>(dice() % (most + 1)); };
  std::vector<Step> steps{plan};
  const auto go_on = [&](std::size_t count) {
    for (; count > 0; --count) {
      steps.push_back(writes(upto(1) == 0 ? "coder" : "tester",
                             "print(page(" + std::to_string(upto(900)) + "))"));
      steps.push_back(runs("exitcode: 0\nlights on page " + std::to_string(upto(900))));
    }
  };
  go_on(upto(2));
  at = steps.size();
  steps.push_back(writes("coder", "import x; print(x.lights())"));
  steps.push_back(broken);
  go_on(upto(2));
  return steps;
}

}  // namespace

TEST_CASE("the author of what raised first is to blame, not the shell that ran it",
          "[classifier][talk]") {
  const auto found = blame({plan, writes("coder", "import x"), broken,
                            says("coder", "The module is missing, so I cannot go on with that."),
                            writes("coder", "print(12)"), runs("exitcode: 0\n12")});
  CHECK(found.critical_step == 1U);
  REQUIRE(found.critical_step_confidence);
  CHECK(*found.critical_step_confidence > 0.3);
  CHECK(*found.critical_step_confidence < 1);
  CHECK(found.evidence.back().source == "critical_step");
  CHECK(found.evidence.back().confidence == *found.critical_step_confidence);
  CHECK_THAT(found.evidence.back().detail, ContainsSubstring("raised"));
}

TEST_CASE("a plan that speaks of something else is to blame, and surely so", "[classifier][talk]") {
  const auto found =
      blame({says("chief",
                  "The script fails with an unknown language. Find the bug in it, mend it "
                  "and run the tests of the parser again."),
             runs("There is no code to execute."), writes("coder", "print('parsed')"),
             runs("exitcode: 0\nparsed"), says("chief", "The parser works again. TERMINATE")});
  CHECK(found.critical_step == 0U);
  REQUIRE(found.critical_step_confidence);
  CHECK(*found.critical_step_confidence >= 0.5);
}

TEST_CASE("what decided before conversations were read decides still", "[classifier][talk]") {
  const std::vector<Step> talk{plan, writes("coder", "import x"), broken,
                               says("chief", "It would be good to have the list by tomorrow.")};
  SECTION("a step whose error is the failure") {
    Step step{.action = "call",
              .tool_called = "fetch",
              .tool_input = {{"page", 3}},
              .error = "connection reset by peer",
              .agent_id = "coder"};
    const auto found = blame(with(talk, {step}), {.text = "connection reset by peer"});
    CHECK(found.critical_step == 4U);
    CHECK_FALSE(found.critical_step_confidence);
  }
  SECTION("a failure that explains itself, without a step that failed") {
    CHECK_FALSE(blame({plan, says("coder", "I ask the server for the list of lights now."), plan},
                      {.text = "Service Unavailable", .http_status = 503})
                    .critical_step);
  }
  SECTION("a run of calls") {
    const auto found = blame({runs("x"), runs("y"), broken, runs("z"), plan});
    CHECK_FALSE(found.critical_step_confidence);
  }
  SECTION("a tool that the failure names, and the contract does not") {
    AgentContract contract;
    contract.tools = {{.name = "fetch"}};
    Step step{.action = "call",
              .tool_called = "serve",
              .tool_input = {{"page", 3}},
              .tool_output = "ok",
              .agent_id = "coder"};
    const auto named = blame(with({step}, talk), {.text = "serve gave us nothing"}, contract);
    CHECK(named.critical_step == 0U);
    CHECK_FALSE(named.critical_step_confidence);
    CHECK(blame(with({step}, talk), wrong, contract).critical_step == 2U);
  }
}

TEST_CASE("thanks at the end, and other names, do not move the blame", "[classifier][talk]") {
  const std::vector<Step> thanks{says("chief", "TERMINATE"),
                                 says("chief", "Thank you all; this was a pleasure, as ever."),
                                 says("coder", "Agreed. I confirm that the task is complete now.")};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO(seed);
    std::size_t at = 0;
    std::vector<Step> steps = conversation(seed, at);
    const auto before = blame(steps).critical_step;
    CHECK(before == at);
    for (const Step& more : thanks) {
      steps.push_back(more);
      CHECK(blame(steps).critical_step == before);
    }
    for (Step& step : steps) *step.agent_id += "_Expert";
    CHECK(blame(steps).critical_step == before);
  }
}

TEST_CASE("what is likely adds up to one, however odd the signals", "[classifier][talk]") {
  std::mt19937_64 dice(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<detail::Candidate> candidates(1 + dice() % 40);
    for (auto& one : candidates) {
      for (float& signal : one.signals) signal = static_cast<float>(dice() % 7) - 3;
    }
    const auto likely = detail::likelihoods(
        candidates, detail::built_in_talk_weights(detail::TalkKind::among_agents).of, 1.0);
    CHECK(std::accumulate(likely.begin(), likely.end(), 0.0) == Approx(1));
  }
}

TEST_CASE("hostile conversations are read without harm", "[classifier][talk]") {
  Json deep = "x";
  for (int i = 0; i < 250; ++i) deep = Json::array({deep});
  const std::vector<std::string> texts{std::string(1U << 20U, '*'),
                                       std::string(1U << 20U, '"'),
                                       std::string(1U << 20U, '{'),
                                       std::string(300000, '\xff'),
                                       std::string(4096, '\0'),
                                       "```",
                                       "\"progress\": {\"answer\": " + std::string(100000, '{'),
                                       std::string(1U << 20U, '`')};
  for (const std::string& text : texts) {
    INFO(text.substr(0, 4));
    Step odd{.action = "call", .tool_called = text, .tool_input = deep, .tool_output = deep};
    odd.agent_id = text;
    const auto found = blame({plan, says("", text), says(text, text), runs(text), odd,
                              says("user", text), says("user", text)});
    if (found.critical_step) CHECK(*found.critical_step < 7);
  }
}

TEST_CASE("of very many steps the first thousand are read, and a few megabytes",
          "[classifier][talk]") {
  std::vector<Step> steps{plan, writes("coder", "import x"), broken};
  const std::string large(1U << 20U, 'y');
  for (int i = 0; i < 4; ++i) steps.push_back(runs("exitcode: 0\n" + large));
  while (steps.size() < 100'000) {
    steps.push_back(says("tester", "Page " + std::to_string(steps.size()) + " was read by all."));
  }
  const auto found = blame(std::move(steps));
  REQUIRE(found.critical_step);
  CHECK((*found.critical_step < 1024 || *found.critical_step >= 100'000 - 32));
}
