// SPDX-License-Identifier: MIT
// The evidence found in a run that is mostly words, one kind after the other.
#include "classifier/blame/signals.hpp"
#include "classifier/blame/talk_words.hpp"
#include "classifier/support.hpp"
#include "support/catch.hpp"

using namespace triage;
using detail::Candidate;
using detail::Part;
using detail::Signal;
using detail::Talk;

namespace {

const std::string task = "How many lighthouses stand along the northern coast of Jutland today?";

Step says(const std::string& agent, const std::string& text) {
  return {.action = "say", .llm_output = text, .agent_id = agent};
}
Step writes(const std::string& agent, const std::string& code) {
  return says(agent, "Let us find out with this program.\n```python\n" + code + "\n```");
}
Step runs(const std::string& output) {
  return {.action = "act", .tool_called = "shell", .tool_output = output, .agent_id = "shell"};
}
Step calls(const std::string& tool, Json input, Json output) {
  return {.action = "call",
          .tool_called = tool,
          .tool_input = std::move(input),
          .tool_output = std::move(output),
          .agent_id = "clerk"};
}

// Signals by index of the step; steps that cannot be to blame have none.
class Seen {
 public:
  explicit Seen(std::vector<Step> steps, const AgentContract& contract = {},
                const std::string& asked = task)
      : trajectory_(test::trajectory_of(std::move(steps))),
        talk_({.failure = failure_, .trajectory = trajectory_, .task = asked}),
        candidates_(weigh_candidates(talk_, &contract)) {}

  float operator()(std::size_t step, Signal signal) const {
    for (const Candidate& candidate : candidates_) {
      if (talk_.steps()[candidate.position].index == step) return candidate[signal];
    }
    return -1;
  }
  const Talk& talk() const { return talk_; }

 private:
  Failure failure_{};
  Trajectory trajectory_;
  Talk talk_;
  std::vector<Candidate> candidates_;
};

const Step plan = says("chief",
                       "The task: count the lighthouses that stand along the northern "
                       "coast of Jutland today. Begin with a list of them.");

}  // namespace

TEST_CASE("a hand-over that speaks of something else than the task is seen", "[classifier][talk]") {
  const Step other = says("chief",
                          "An exception was thrown: unknown language. Find the bug in the "
                          "program, mend it, and test the program again.");
  const Step reply = says("coder", "I will look at the program and mend what is wrong with it.");
  CHECK(Seen({plan, reply, reply})(0, Signal::off_task) == 0);
  CHECK(Seen({plan, reply, reply})(0, Signal::restates_task) == 1);
  CHECK(Seen({other, reply, reply})(0, Signal::off_task) == 1);
  CHECK(Seen({other, reply, reply})(1, Signal::off_task) == 0);
  // Without a task, nothing is off task.
  CHECK(Seen({other, reply, reply}, {}, "")(0, Signal::off_task) == 0);
  // If the task is given in the run, its first message is the task.
  const Seen asked({says("human", task), other, reply, reply}, {}, "");
  CHECK(asked(1, Signal::off_task) == 1);
}

TEST_CASE("whoever wrote what raised is seen, and not who ran it", "[classifier][talk]") {
  const Seen seen({plan, writes("coder", "print(count)"),
                   runs("exitcode: 1 (execution failed)\nNameError: name 'count' is not defined"),
                   writes("tester", "print(1/0)"),
                   runs("Traceback (most recent call last):\n  …\nZeroDivisionError: x"),
                   writes("coder", "print(7)"), runs("exitcode: 0 (execution succeeded)\n7")});
  CHECK(seen(1, Signal::raised) == 1);
  CHECK(seen(1, Signal::first_raised) == 1);
  CHECK(seen(3, Signal::raised) == 1);
  CHECK(seen(3, Signal::first_raised) == 0);
  CHECK(seen(3, Signal::raised_before) == 1);
  CHECK(seen(5, Signal::raised) == 0);
  CHECK(seen(2, Signal::raised) == -1);
  // A message about missing code is not anyone's output.
  const Seen idle({plan, runs("There is no code to execute."), says("coder", "I see.")});
  CHECK_FALSE(idle.talk().steps().at(0).output);
}

TEST_CASE("what is assumed or left to people is seen in the words", "[classifier][talk]") {
  const std::string page = "Here is a screenshot of a page. The viewport shows typical values.";
  const Seen seen({plan, says("coder", "Let us assume some typical values for a coast like this."),
                   says("coder", "Please look through the pages manually and count what is there."),
                   says("coder", "The list has every light from Hanstholm down to Skagen in it."),
                   says("browser", page)});
  CHECK(seen(1, Signal::assumes) == 1);
  CHECK(seen(2, Signal::by_hand) == 1);
  CHECK(seen(3, Signal::assumes) + seen(3, Signal::by_hand) == 0);
  CHECK(seen(4, Signal::assumes) == 0);  // The page says so.
}

TEST_CASE("an agent that keeps notes only plans", "[classifier][talk]") {
  const auto notes = [](bool progress, bool loop) {
    const Json ledger{{"in_loop", {{"reason", "…"}, {"answer", loop}}},
                      {"making_progress", {{"reason", "…"}, {"answer", progress}}}};
    return says("chief", "Ledger: " + ledger.dump());
  };
  const Step work = says("browser", "I opened the page of the lighthouse society and scrolled.");
  const Seen seen(
      {plan, work, notes(true, false), work, notes(false, false), work, notes(true, true), work});
  CHECK(seen.talk().steps().at(2).part == Part::notes);
  CHECK(seen(0, Signal::idle) == 1);
  CHECK(seen(2, Signal::idle) == 1);
  CHECK(seen(1, Signal::idle) == 0);
  CHECK(Seen({says("chief (-> browser)", *work.llm_output), work, work})(0, Signal::idle) == 1);
}

TEST_CASE("a statement that nothing was run for is a claim without a source",
          "[classifier][talk]") {
  const Step claim = says("expert",
                          "Nineteen towers: Hanstholm, Lodbjerg, Bovbjerg, Hirtshals, "
                          "Skagen and their smaller neighbours.");
  const Step late = says("expert",
                         "Besides, Rubjerg Knude was moved inland on rails in October "
                         "after dunes had buried it.");
  const Step ask = says("chief", "Could you count all towers, piers, beacons and lamps for us?");
  const Seen seen({plan, ask, claim, writes("coder", "print(19)"), runs("exitcode: 0\n19"), late});
  CHECK(seen(1, Signal::asks) == 1);
  CHECK(seen(1, Signal::claims) == 0);
  CHECK(seen(2, Signal::claims) == 1);
  CHECK(seen(5, Signal::claims) == 1);
  CHECK(seen(3, Signal::claims) == 0);
  CHECK(seen(2, Signal::order) < seen(3, Signal::order));
}

TEST_CASE("the parts of the final answer are followed to where they were said first",
          "[classifier][talk]") {
  const Step end = says("chief", "All in all the answer is **19 towers**, of which 7 are lit.");
  const Step thanks = says("chief", "Thank you all; it was a pleasure to work with you again.");
  const Seen seen({plan, says("expert", "I know of 19 towers that were built on this shore."),
                   writes("coder", "print(lit)"), runs("exitcode: 0\n7"), end, thanks});
  CHECK(seen(1, Signal::answer) > 0);
  CHECK(seen(2, Signal::answer) > 0);  // The output of its program.
  CHECK(seen(1, Signal::answer) > seen(2, Signal::answer));
  CHECK(seen(4, Signal::answer) == 0);
}

TEST_CASE("the first call that changes something is seen where somebody is served",
          "[classifier][talk]") {
  const std::vector<Step> steps{says("user", "I want my order 4711 cancelled, please."),
                                calls("get_order", {{"id", 4711}}, {{"state", "sent"}}),
                                says("clerk", "It was sent already. Shall I take it back instead?"),
                                says("user", "Yes, please do that, and tell me when it is done."),
                                calls("take_back", {{"id", 4711}}, {{"state", "returning"}}),
                                calls("cancel_order", {{"id", 4711}}, {{"state", "cancelled"}}),
                                says("clerk", "It is done: order 4711 comes back to our store.")};
  CHECK(Seen(steps)(5, Signal::first_change) == 1);
  CHECK(Seen(steps)(4, Signal::first_change) == 0);
  AgentContract contract;
  contract.tools = {{.name = "get_order", .mutates = false},
                    {.name = "take_back", .mutates = true},
                    {.name = "cancel_order"}};
  CHECK(Seen(steps, contract)(4, Signal::first_change) == 1);
  CHECK(Seen(steps, contract)(5, Signal::first_change) == 0);
  contract.tools = {{.name = "cancel_order", .mutates = false}};
  CHECK(Seen(steps, contract)(5, Signal::first_change) == 0);
}

TEST_CASE("tools that change something are known by the verb they begin with",
          "[classifier][talk]") {
  for (const char* name : {"cancel_order", "deleteRow", "SendMail", "db.update_row",
                           "mcp__shop__refund_payment", "server/create-issue"}) {
    INFO(name);
    CHECK(detail::name_says_change(name));
  }
  for (const char* name : {"get_order", "address_of", "settings", "list_cancelled", "order_details",
                           "think", "", "42", "..."}) {
    INFO(name);
    CHECK_FALSE(detail::name_says_change(name));
  }
}

TEST_CASE("a run of calls, or of one voice, is no conversation", "[classifier][talk]") {
  CHECK(Seen({plan, says("expert", "x"), plan}).talk().is_conversation());
  CHECK_FALSE(Seen({plan, plan, plan}).talk().is_conversation());
  CHECK_FALSE(
      Seen({plan, says("expert", "x"), runs("1"), runs("2"), runs("3")}).talk().is_conversation());
  CHECK_FALSE(Seen({}).talk().is_conversation());
}
