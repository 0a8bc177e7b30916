// SPDX-License-Identifier: MIT
// docs/policies.md describes what the library does: its documents are parsed, and its code is
// compiled here or in testing/decision_table.test.cpp.
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/triage.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

using triage::Json;

namespace {

std::string content(const std::string& path) {
  std::ifstream file(std::string(TRIAGE_SOURCE_DIR) + "/" + path);
  INFO(path);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The fenced blocks of one language, without complete programs: other tests build those.
std::vector<std::string> blocks(const std::string& language) {
  const std::string text = content("docs/policies.md");
  const std::string fence = "```" + language + "\n";
  std::vector<std::string> found;
  for (auto at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const auto from = at + fence.size();
    if (at >= 4 && text.compare(at - 4, 4, "-->\n") == 0) continue;
    found.push_back(text.substr(from, text.find("```", from) - from));
  }
  return found;
}

// Without indentation, so that code may be nested deeper in a test than in the text.
std::string flat(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find_first_not_of(' ');
    if (first != std::string::npos) out += line.substr(first) + "\n";
  }
  return out;
}

// The introductory example in C++.
triage::FailurePolicy first_example() {
  triage::FailurePolicy policy;
  policy.on(triage::FailureType::external_fault, triage::retry_with_backoff({.max_attempts = 5}))
      .on(triage::FailureType::wrong_tool_called,
          triage::sequence({triage::retry_with_tool_manifest(), triage::rollback()}))
      .otherwise(triage::escalate());
  return policy;
}

}  // namespace

TEST_CASE("the policy document in the docs is the policy in C++ beside it", "[policies][docs]") {
  const auto documents = blocks("json");
  REQUIRE(documents.size() > 1);
  const auto policy = triage::policy_from_text(documents[0], triage::built_in_strategies());
  REQUIRE_OK(policy);
  CHECK(policy.value().describe() == first_example().describe());
}

TEST_CASE("the docs have a working form of every built-in strategy", "[policies][docs]") {
  const auto registry = triage::built_in_strategies();
  std::vector<std::string> names;
  const auto documents = blocks("json");
  for (std::size_t i = 1; i < documents.size(); ++i) {
    INFO(documents[i]);
    const Json value = Json::parse(documents[i]);
    names.push_back(value.at("strategy").get<std::string>());
    REQUIRE_OK(triage::strategy_from_json(value, registry, "docs"));
  }
  std::sort(names.begin(), names.end());
  CHECK(names == registry.names());
}

TEST_CASE("the docs' registry example works", "[policies][docs]") {
  triage::StrategyRegistry registry = triage::built_in_strategies();
  registry.add("page_someone", [](const triage::Json& json, const triage::StrategyRegistry&) {
    triage::Arguments arguments(json, "page_someone");
    std::string who = "nobody";
    arguments.read("who", who);
    return arguments.finish([&] { return triage::escalate("paged " + who); });
  });
  REQUIRE_OK(triage::policy_from_text(R"({"default": {"strategy": "page_someone", "who": "Ann"}})",
                                      registry));
}

TEST_CASE("the docs' conditions decide before the types do", "[policies][docs]") {
  triage::FailurePolicy policy = first_example();
  // clang-format off
  policy.when(triage::exception_is("StaleFile"), triage::retry(), "stale file")   // "nfs::StaleFile" fits, too.
      .when([](const triage::FailureContext& failure) { return failure.text.find("maintenance") != std::string::npos; },
            triage::suspend({.message = "maintenance"}), "maintenance");
  // clang-format on
  CHECK(policy.decide({.exception_type = "nfs::StaleFile"}).kind ==
        triage::RecoveryAction::Kind::retry);
  CHECK(policy.decide({.text = "closed for maintenance"}).kind ==
        triage::RecoveryAction::Kind::suspend);
  CHECK(policy.decide({.text = "something else"}).kind == triage::RecoveryAction::Kind::escalate);
}

TEST_CASE("all code in the docs is compiled", "[policies][docs]") {
  const std::string compiled = flat(content("tests/policies/docs.test.cpp") +
                                    content("tests/testing/decision_table.test.cpp"));
  for (const std::string& block : blocks("cpp")) {
    INFO(block);
    CHECK(compiled.find(flat(block)) != std::string::npos);
  }
}
