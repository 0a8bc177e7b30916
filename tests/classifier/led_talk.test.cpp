// SPDX-License-Identifier: MIT
// Conversations in which one agent plans and gives orders: who that is, and which step is blamed.
#include "classifier/blame/leader.hpp"
#include "classifier/blame/signals.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace triage;

namespace {

using Said = std::vector<std::pair<std::string, std::string>>;  // Agent and words.

const std::string asked = "In which year did the lifeboat museum of Sandhaven open its doors?";

Step said_so(const std::string& agent, const std::string& text) {
  return {.action = "say", .llm_output = text, .agent_id = agent};
}

Classification blamed(const Said& said) {
  std::vector<Step> steps;
  for (const auto& [agent, text] : said) steps.push_back(said_so(agent, text));
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  const Failure failure{.text = "the final answer is wrong"};
  const AgentContract contract;
  return default_classifier()->classify(
      {.failure = failure, .trajectory = trajectory, .task = asked, .contract = &contract});
}

bool is_led(const Said& said) {
  std::vector<Step> steps;
  for (const auto& [agent, text] : said) steps.push_back(said_so(agent, text));
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  const Failure failure{.text = "the final answer is wrong"};
  return detail::Talk({.failure = failure, .trajectory = trajectory, .task = asked}).is_led();
}

std::string page(const std::string& title, const std::string& text) {
  return "I clicked '" + title + "'.\n\nHere is a screenshot of [" + title +
         "](https://sandhaven.example). The viewport shows 30% of the webpage.\n" + text;
}

Said with_orders(const Said& replies, const Said& ending) {
  Said all{{"Chief (thought)", "Plan for: " + asked + " Look it up on the pages of the town."}};
  for (const auto& [order, reply] : replies) {
    all.push_back({"Chief (-> Browser)", order});
    all.push_back({"Browser", reply});
    all.push_back({"Chief (thought)", "{\"progress\": true, \"done\": \"" + order + "\"}"});
  }
  all.insert(all.end(), ending.begin(), ending.end());
  return all;
}

}  // namespace

TEST_CASE("who gives orders is known by the name, by naming others, or by standing in the middle",
          "[classifier][talk]") {
  Said arrows;
  Said named;
  Said middle;
  Said equals;
  for (int i = 0; i < 4; ++i) {
    const std::string other = i % 2 == 0 ? "reader" : "clerk";
    arrows.push_back({"Chief (-> reader)", "Please look at the next page of the register."});
    arrows.push_back({"reader", "The register goes on with the names of four more boats."});
    named.push_back({"lead", "The reader should look at the next page of the register."});
    named.push_back({"reader", "The register goes on with the names of four more boats."});
    middle.push_back({"lead", "What does the next page of the register say about the boats?"});
    middle.push_back({other, "The register goes on with the names of four more boats."});
    equals.push_back({"reader", "The register goes on with the names of four more boats."});
    equals.push_back({"clerk", "I have written the names of these four boats to the list."});
    equals.push_back({"checker", "The list has the names that the register has, in its order."});
  }
  Said pair;
  Said common;  // "bot" stands in "both", and is not named by it.
  for (int i = 0; i < 6; ++i) {
    pair.push_back({"anna", "Now bruno could look at the next page of the register again."});
    pair.push_back({"bruno", "Now anna could look at the next page of the register again."});
    common.push_back({"reader", "There are names on both of the pages that the register has."});
    common.push_back({"bot", "The register goes on with the names of four more boats."});
  }
  CHECK(is_led(arrows));
  CHECK_FALSE(is_led(pair));
  CHECK_FALSE(is_led(common));
  CHECK(is_led(named));
  CHECK(is_led(middle));
  CHECK_FALSE(is_led(equals));
}

TEST_CASE("one who writes code is no leader, though the others speak behind it",
          "[classifier][talk]") {
  Said said;
  for (int i = 0; i < 5; ++i) {
    const std::string other = i % 2 == 0 ? "reader" : "clerk";
    said.push_back({"coder", "This counts them:\n```python\nprint(count(" + other + "))\n```"});
    said.push_back({"shell", "It printed the number of four more boats of that register."});
    said.push_back({"coder", "The " + other + " could look whether that number is the right one."});
    said.push_back({other, "The register has the names of four more boats, as it was printed."});
  }
  CHECK_FALSE(is_led(said));
}

TEST_CASE("what a leader guesses after the first reply speaks against it, not what it plans",
          "[classifier][talk]") {
  const std::string guess = "It is well known that such museums opened at about that time.";
  std::vector<Step> steps{said_so("Chief (thought)", guess)};
  for (const std::string order : {"Search for it.", "Open the page.", "Look at its museums."}) {
    steps.push_back(said_so("Chief (-> Browser)", order + " Then report what is there."));
    steps.push_back(said_so("Browser", page("Sandhaven", order)));
  }
  steps.push_back(said_so("Chief (thought)", guess));
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  const Failure failure{.text = "the final answer is wrong"};
  const detail::Talk talk({.failure = failure, .trajectory = trajectory, .task = asked});
  REQUIRE(talk.is_led());
  const std::vector<detail::Candidate> candidates = detail::weigh_candidates(talk, nullptr);
  CHECK(candidates.front()[detail::Signal::assumes] == 0);
  CHECK(candidates.back().position == talk.steps().size() - 1);
  CHECK(candidates.back()[detail::Signal::assumes] == 1);
}

TEST_CASE("one whose name says that it gives orders leads, whatever the others are called",
          "[classifier][talk]") {
  for (const std::string helper : {"Aide", "Zeno"}) {
    Said said;
    for (int i = 0; i < 4; ++i) {
      said.push_back({"Chief (-> " + helper + ")", "Look at the next page of the register."});
      said.push_back({helper, "The browser should open the next page of the register now."});
      said.push_back({"browser", "The register goes on with the names of four more boats."});
      said.push_back({helper, "The pager should turn to the next page of the register now."});
      said.push_back({"pager", "The register goes on with the names of five more boats."});
    }
    std::vector<Step> steps;
    for (const auto& [agent, text] : said) steps.push_back(said_so(agent, text));
    const Trajectory trajectory = test::trajectory_of(std::move(steps));
    const Failure failure{.text = "the final answer is wrong"};
    const detail::Talk talk({.failure = failure, .trajectory = trajectory, .task = asked});
    CHECK(detail::leader_of(talk.steps()) == "Chief");
  }
}

TEST_CASE("a leader leads coders, too", "[classifier][talk]") {
  Said said;
  for (int i = 0; i < 5; ++i) {
    said.push_back({"lead", "The coder should count the boats on the next page of the register."});
    said.push_back({"coder", "This counts them:\n```python\nprint(count())\n```"});
  }
  CHECK(is_led(said));
}

TEST_CASE("under a leader the reply that first stated the answer is to blame",
          "[classifier][talk]") {
  const Said said = with_orders(
      {{"Search for the lifeboat museum.", page("Search results", "Lifeboats of the coast")},
       {"Open the page of the town.", page("Sandhaven", "Harbour, school, church")},
       {"Open the page of its museums.", page("Museums", "Lifeboat house, built as a shed") +
                                             "\n\nThe lifeboat museum has been open since 1874."},
       {"Scroll down and look for more.", page("Museums", "Opening hours in summer")}},
      {{"Chief (termination condition)", "Request satisfied.\n\nFINAL ANSWER: 1874"},
       {"user", "Was your final answer checked against the harbour, the school or the church?"}});
  const Classification found = blamed(said);
  CHECK(found.critical_step.value_or(99) == 8);
  CHECK(found.critical_step_confidence.value_or(0) > 0.2);
}

TEST_CASE("a leader that answers from memory is to blame", "[classifier][talk]") {
  const Said said = with_orders(
      {{"Search for the lifeboat museum.", page("Search results", "Lifeboats of the coast")},
       {"Open the page of the town.", page("Sandhaven", "Harbour, school, church")}},
      {{"Chief (thought)",
        "The pages do not say it. It is well known that such museums opened in 1931, so the answer "
        "is probably that."},
       {"Chief (termination condition)", "FINAL ANSWER: 1931"}});
  CHECK(blamed(said).critical_step.value_or(99) == 7);
}

TEST_CASE("an order that leaves nothing to run is to blame", "[classifier][talk]") {
  Said said = with_orders(
      {{"Search for the lifeboat museum.", page("Search results", "Lifeboats of the coast")},
       {"Open the page of the town.", page("Sandhaven", "Harbour, school, church")}},
      {});
  said.push_back({"Chief (-> Terminal)", "Please count the museums of the town in the list."});
  said.push_back({"Terminal", "No code block was found in the last message, so nothing was run."});
  said.push_back({"Chief (termination condition)", "The time is over. FINAL ANSWER: unknown"});
  CHECK(blamed(said).critical_step.value_or(99) == 7);
}

TEST_CASE("names that nearly occur everywhere do no harm, however long", "[classifier][talk]") {
  const std::string name(static_cast<std::size_t>(GENERATE(63, 100'000)), 'a');
  Said said;
  for (int i = 0; i < 300; ++i) {
    said.push_back({"lead", std::string(6'000, 'a')});
    said.push_back({name + (i % 2 == 0 ? "b" : "c"), std::string(6'000, 'a')});
  }
  CHECK(is_led(said));
}
