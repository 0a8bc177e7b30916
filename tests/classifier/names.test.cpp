// SPDX-License-Identifier: MIT
#include "classifier/text/names.hpp"

#include "support/catch.hpp"
#include "triage/classifier.hpp"

#include <array>

using namespace triage;

namespace {

std::string masked(std::string_view line) {
  std::vector<detail::NamePlace> places;
  detail::find_names(line, places);
  return detail::without_names(line, places);
}

FailureType type_of(const std::string& text) {
  const Failure failure{.text = text};
  const Trajectory none;
  return default_classifier()->classify({.failure = failure, .trajectory = none}).type;
}

// Names that consist of words of every failure type, in every spelling.
std::vector<std::string> names() {
  constexpr std::array<std::string_view, 30> words{
      "timeout", "refund", "quota",   "permission", "rate_limit", "schema",
      "context", "plan",   "crash",   "loop",       "billing",    "overload",
      "auth",    "memory", "process", "validate",   "deadline",   "content",
      "refuse",  "step",   "disk",    "network",    "token",      "budget",
      "search",  "retry",  "denied",  "json",       "unfinished", "policy"};
  constexpr std::array<std::string_view, 5> verbs{"check", "get", "lookup", "handler", "report"};
  std::vector<std::string> all;
  for (const std::string_view word : words) {
    for (const std::string_view verb : verbs) {
      all.push_back(std::string(word) + "_" + std::string(verb));
      all.push_back(std::string(verb) + "-" + std::string(word));
    }
  }
  return all;
}

constexpr std::array<std::string_view, 20> frames{
    "Tool {} not found",
    "Tool '{}' does not exist",
    "Unknown tool: {}",
    "No such tool: {}.",
    "There is no tool named {}",
    "The tool `{}` is not registered",
    "No such function: {}",
    "{} is not a valid tool, try one of [first_one, second_one]",
    "Error: tool \"{}\" is unknown to this agent",
    "Tool {} not found. Available tools: alpha, beta_two, gamma",
    "Unknown tool '{}'. Available tools are: alpha, beta and gamma",
    "The model called {}, which is not one of the available tools: alpha, beta",
    "Function {} is not defined; known functions: alpha, beta",
    "The agent asked for a tool {} that is not registered",
    "Unknown tool requested: '{}'",
    "tool_call references unknown function {}",
    "The function {} does not exist in this agent",
    "The model requested a nonexistent tool '{}' (valid: alpha, beta)",
    "I tried to call {} but that tool does not exist",
    "'{}' is not an available tool"};

}  // namespace

TEST_CASE("the names of tools are masked where they stand", "[classifier][names]") {
  CHECK(masked("Tool refund not found") == "Tool '_' not found");
  CHECK(masked("no such tool: 'refund'") == "no such tool: '_'");
  CHECK(masked("a_b is not a known tool") == "'_' is not a known tool");
  CHECK(masked("Available tools: search, get_page and click") ==
        "Available tools: '_', '_' and '_'");
  CHECK(masked("it called get_page, but no tool has that name") ==
        "it called '_', but no tool has that name");
}

TEST_CASE("words about tools are no names", "[classifier][names]") {
  for (const std::string_view line :
       {"Tool call failed", "the tool was not found", "tool arguments are invalid",
        "Function timed out after 30 s", "the agent is unavailable", "tool output is too long",
        "118 of 300 tools were tried", "calling the operation: Transaction is ongoing",
        "Service unavailable", "the command returned 3"}) {
    CHECK(masked(line) == line);
  }
}

TEST_CASE("a sentence about a missing tool is told alike whatever the tool is called",
          "[classifier][names]") {
  for (const std::string_view frame : frames) {
    std::size_t missed = 0;
    for (const std::string& name : names()) {
      std::string text(frame);
      text.replace(text.find("{}"), 2, name);
      if (type_of(text) != FailureType::wrong_tool_called) ++missed;
    }
    INFO(frame);
    CHECK(missed <= 3);  // Of 300.
  }
}

TEST_CASE("a tool that is called like a failure is no evidence of it", "[classifier][names]") {
  const Failure failure{.text = "Unknown tool rate_limit_exceeded. Available: too_many_requests"};
  const Trajectory none;
  const Classification found =
      default_classifier()->classify({.failure = failure, .trajectory = none});
  CHECK(found.type == FailureType::wrong_tool_called);
  for (const Evidence& evidence : found.evidence) {
    CHECK(evidence.suggests != FailureType::external_fault);
  }
}
