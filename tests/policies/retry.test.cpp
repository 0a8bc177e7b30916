// SPDX-License-Identifier: MIT
#include "triage/policies/retry.hpp"

#include "support/catch.hpp"
#include "triage/policies/manifest.hpp"
#include "triage/policies/replan.hpp"
#include "triage/testing/context.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::context_for;
using Kind = RecoveryAction::Kind;

TEST_CASE("retry runs again with its delay and hint until its attempts are used up",
          "[policies][retry]") {
  const Strategy strategy = retry({.max_attempts = 3, .delay = 2s, .hint = "be careful"});

  const RecoveryAction first = strategy(context_for(FailureType::timeout));
  CHECK(first.kind == Kind::retry);
  CHECK(first.delay == 2s);
  CHECK(first.hint == "be careful");

  CHECK(strategy(context_for(FailureType::timeout).after(1)).kind == Kind::retry);
  const RecoveryAction third = strategy(context_for(FailureType::timeout).after(2));
  CHECK(third.kind == Kind::escalate);
  CHECK_THAT(third.message, ContainsSubstring("retry") && ContainsSubstring("timeout") &&
                                ContainsSubstring("max_attempts (3)"));
  CHECK(strategy(context_for(FailureType::timeout).after(50)).kind == Kind::escalate);
}

TEST_CASE("one attempt means no retry", "[policies][retry]") {
  CHECK(retry({.max_attempts = 1})(context_for(FailureType::timeout)).kind == Kind::escalate);
}

TEST_CASE("retries that another failure type used up do not count", "[policies][retry]") {
  const Strategy strategy = retry({.max_attempts = 2});
  CHECK(strategy(context_for(FailureType::timeout).after(9, FailureType::external_fault)).kind ==
        Kind::retry);
}

TEST_CASE("every option of retry is part of its description", "[policies][retry]") {
  CHECK(retry().description() == "retry(max_attempts=3, delay=0s)");
  CHECK(retry({.max_attempts = 2, .delay = 90s, .hint = "a \"b\"\n"}).description() ==
        R"(retry(max_attempts=2, delay=1m30s, hint="a \"b\"\n"))");
  // A newline and a backslash with an n are different hints.
  CHECK(retry({.hint = "\n"}).description() != retry({.hint = "\\n"}).description());
  CHECK(retry({.max_attempts = 2}).max_attempts() == 2);
}

TEST_CASE("retry reports options that make no sense", "[policies][retry]") {
  CHECK(retry().problem().empty());
  CHECK(retry({.max_attempts = 0}).problem() == "max_attempts is 0; allowed is 1 or more");
  CHECK(retry({.delay = -1ms}).problem() == "delay is -1ms; allowed is 0s or more");
}

TEST_CASE("the manifest hint names the wrong tool, the tools there are, and the nearest",
          "[policies][manifest]") {
  const RecoveryAction action = retry_with_tool_manifest()(
      context_for(FailureType::wrong_tool_called)
          .tools({"fetch", "search", "save"})
          .step({.action = "look", .tool_called = "serach", .error = "no such tool"})
          .evidence({.source = "contract",
                     .suggests = FailureType::wrong_tool_called,
                     .detail = "tool serach is not in the manifest"}));
  CHECK(action.kind == Kind::retry);
  CHECK_THAT(action.hint, ContainsSubstring("\"serach\" does not exist"));
  CHECK_THAT(action.hint, ContainsSubstring("fetch, search, save"));
  CHECK_THAT(action.hint, ContainsSubstring("Did you mean \"search\"?"));
  CHECK_THAT(action.hint, ContainsSubstring("not in the manifest"));
}

TEST_CASE("of many tools the manifest hint names the nearest first", "[policies][manifest]") {
  std::vector<std::string> tools;
  for (int i = 0; i < 200'000; ++i) tools.push_back("far_away_" + std::to_string(i));
  tools.push_back("search");
  tools.push_back("sarch");
  const RecoveryAction action =
      retry_with_tool_manifest()(context_for(FailureType::wrong_tool_called)
                                     .tools(tools)
                                     .step({.action = "look", .tool_called = "serach"}));
  CHECK_THAT(action.hint, ContainsSubstring("Available tools: search, sarch, far_away_0") &&
                              ContainsSubstring("and 199970 more"));
}

TEST_CASE("the manifest hint blames the critical step, and never a tool that exists",
          "[policies][manifest]") {
  auto context = context_for(FailureType::wrong_tool_called)
                     .tools({"fetch"})
                     .step({.action = "one", .tool_called = "fetsh"})
                     .step({.action = "two", .tool_called = "fetch"});
  CHECK_THAT(retry_with_tool_manifest()(context).hint, !ContainsSubstring("\"fetch\" does not"));
  CHECK_THAT(retry_with_tool_manifest()(context.critical_step(0)).hint,
             ContainsSubstring("\"fetsh\" does not exist"));
  // An index beyond the trajectory, which a custom classifier may return, is ignored.
  CHECK(retry_with_tool_manifest()(context.critical_step(99)).kind == Kind::retry);
}

TEST_CASE("the manifest hint carries schemas, that of the tool in question first, and stays small",
          "[policies][manifest]") {
  AgentContract contract;
  for (int i = 0; i < 100; ++i) {
    contract.tools.push_back(
        {.name = "tool_" + std::to_string(i),
         .input_schema = {{"type", "object"}, {"title", std::string(5'000, 'x')}}});
  }
  contract.tools.push_back({.name = "search", .input_schema = {{"required", {"query"}}}});
  const RecoveryAction action =
      retry_with_tool_manifest()(context_for(FailureType::wrong_tool_called)
                                     .contract(contract)
                                     .step({.tool_called = "serach", .error = "no such tool"}));
  CHECK_THAT(
      action.hint,
      ContainsSubstring(R"(Schemas of their inputs: search: {"required":["query"]}; tool_0)"));
  CHECK_THAT(action.hint, ContainsSubstring("more."));
  CHECK(action.hint.size() < 12'000);
}

TEST_CASE("without a contract the manifest hint has the evidence", "[policies][manifest]") {
  const RecoveryAction action =
      retry_with_tool_manifest()(context_for(FailureType::wrong_tool_called)
                                     .evidence({.source = "text",
                                                .suggests = FailureType::wrong_tool_called,
                                                .detail = "the text says: unknown tool"}));
  CHECK_THAT(action.hint, ContainsSubstring("unknown tool") && ContainsSubstring("manifest"));
}

TEST_CASE("a huge manifest gives a small hint that still has the nearest tool",
          "[policies][manifest]") {
  std::vector<std::string> tools;
  for (int i = 0; i < 5000; ++i) tools.push_back("tool_number_" + std::to_string(i));
  tools.emplace_back("send_invoice");
  const RecoveryAction action =
      retry_with_tool_manifest()(context_for(FailureType::wrong_tool_called)
                                     .tools(tools)
                                     .step({.action = "pay", .tool_called = "send_invoce"})
                                     .evidence({.source = "text",
                                                .suggests = FailureType::wrong_tool_called,
                                                .detail = std::string(1'000'000, 'x')}));
  CHECK(action.hint.size() < 2000);
  CHECK_THAT(action.hint, ContainsSubstring("\"send_invoice\"") && ContainsSubstring("more"));
}

TEST_CASE("the nearest tool is one that could have been meant", "[policies][manifest]") {
  const auto hint = [](const std::string& wrong, const std::vector<std::string>& tools) {
    return retry_with_tool_manifest()(context_for(FailureType::wrong_tool_called)
                                          .tools(tools)
                                          .step({.action = "a", .tool_called = wrong}))
        .hint;
  };
  // Swapped neighbours are one slip; the first of equal candidates wins; dissimilar names are not
  // suggested.
  CHECK_THAT(hint("serach", {"serax", "search"}), ContainsSubstring("Did you mean \"search\"?"));
  CHECK_THAT(hint("fetch_c", {"fetch_a", "fetch_b"}), ContainsSubstring("mean \"fetch_a\"?"));
  CHECK_THAT(hint("launch_rocket", {"fetch", "search"}), !ContainsSubstring("Did you mean"));
}

TEST_CASE("the manifest retry ends at its limit and counts its own type only",
          "[policies][manifest]") {
  const Strategy strategy = retry_with_tool_manifest({.max_attempts = 2});
  CHECK(strategy(context_for(FailureType::wrong_tool_called).after(5, FailureType::timeout)).kind ==
        Kind::retry);
  const RecoveryAction last = strategy(context_for(FailureType::wrong_tool_called).after(1));
  CHECK(last.kind == Kind::escalate);
  CHECK_THAT(last.message, ContainsSubstring("retry_with_tool_manifest") &&
                               ContainsSubstring("wrong_tool_called") && ContainsSubstring("(2)"));
  CHECK(retry_with_tool_manifest({.max_attempts = -1}).problem() ==
        "max_attempts is -1; allowed is 1 or more");
}

TEST_CASE("replan passes its hint on, or says what failed", "[policies][replan]") {
  CHECK(replan({.hint = "use fewer tools"})(context_for(FailureType::loop_detected)).hint ==
        "use fewer tools");
  const RecoveryAction stock =
      replan()(context_for(FailureType::constraint_ignored).reason("forbidden_word"));
  CHECK(stock.kind == Kind::replan);
  CHECK_THAT(stock.hint,
             ContainsSubstring("constraint_ignored") && ContainsSubstring("forbidden_word"));
}

TEST_CASE("replan ends after max_replans replans of its type, however many retries there were",
          "[policies][replan]") {
  const Strategy strategy = replan({.max_replans = 2});
  const auto type = FailureType::loop_detected;
  CHECK(strategy(context_for(type).after(1, Kind::replan)).kind == Kind::replan);
  CHECK(strategy(context_for(type).after(7, Kind::retry)).kind == Kind::replan);
  CHECK(strategy(context_for(type).after(7, FailureType::timeout, Kind::replan)).kind ==
        Kind::replan);
  const RecoveryAction last = strategy(context_for(type).after(2, Kind::replan));
  CHECK(last.kind == Kind::escalate);
  CHECK_THAT(last.message, ContainsSubstring("replan") && ContainsSubstring("loop_detected") &&
                               ContainsSubstring("max_replans (2)"));
}

TEST_CASE("no replans allowed means escalate at once; a negative number is refused",
          "[policies][replan]") {
  CHECK(replan({.max_replans = 0}).problem().empty());
  CHECK(replan({.max_replans = 0})(context_for(FailureType::timeout)).kind == Kind::escalate);
  CHECK(replan({.max_replans = -1}).problem() == "max_replans is -1; allowed is 0 or more");
  CHECK(replan({.max_replans = 3}).max_attempts() == 4);
}
