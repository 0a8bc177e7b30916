// SPDX-License-Identifier: MIT
#include "triage/policies/document.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/json.hpp"
#include "triage/policies/yaml.hpp"

#include <algorithm>
#include <string>

using namespace triage;

namespace {

std::string problem(const char* yaml) {
  const auto made = document_from_yaml(yaml, built_in_strategies());
  INFO(yaml);
  CHECK_ERRC(Errc::invalid_argument, made);
  return made.error().detail;
}

const char* const everything = R"(
# A policy with all that there is.
external_fault: {strategy: retry_with_backoff, max_attempts: 5, base_delay: 250ms}
wrong_tool_called:
  strategy: sequence
  strategies: [retry_with_tool_manifest, rollback]
quota_exhausted: {strategy: suspend, message: "no money"}
default: escalate
gates:
  circuit_breaker: {window: 30s, types: [external_fault], retry_only: true}
  retry_budget: grpc
  rate_limiter: {permits: 5, period: 1s}
  bulkhead: {max_concurrent: 4}
budget: {max_cost_usd: 2.5, max_tokens: 100000}
)";

}  // namespace

TEST_CASE("a document has strategies, gates and a budget", "[policies][document]") {
  const auto made = document_from_yaml(everything, built_in_strategies());
  REQUIRE_OK(made);
  const PolicyDocument& document = made.value();
  REQUIRE(document.gates.size() == 4);
  CHECK(document.gates[0]->name() == "circuit_breaker");  // Waiting gates are asked last.
  CHECK(document.gates[3]->name() == "rate_limiter");
  REQUIRE(document.budget);
  CHECK_ERRC(Errc::exhausted, document.budget->reserve({.cost_usd = 3.0}));
  CHECK(document.policy.resolve(FailureType::external_fault)->description().find("250ms") !=
        std::string::npos);
}

TEST_CASE("the same document in JSON means the same", "[policies][document]") {
  const char* json = R"({"timeout": {"strategy": "retry_with_backoff", "max_attempts": 3},
                         "default": "escalate", "gates": {"retry_budget": {"preset": "aws"}},
                         "attempt_timeout": "90s"})";
  const auto text = document_from_text(json, built_in_strategies());
  const auto yaml = document_from_yaml(json, built_in_strategies());
  REQUIRE_OK(text);
  REQUIRE_OK(yaml);
  CHECK(text.value().policy.describe() == yaml.value().policy.describe());
  CHECK(text.value().gates.size() == 1);
  CHECK_FALSE(text.value().budget);
  CHECK(text.value().attempt_timeout == std::chrono::seconds(90));
  for (const char* odd : {"0", "\"soon\"", "-1", "[]"}) {
    const auto refused = document_from_text(
        R"({"default": "escalate", "attempt_timeout": )" + std::string(odd) + "}",
        built_in_strategies());
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK(refused.error().detail.starts_with("attempt_timeout"));
  }
}

TEST_CASE("errors in YAML name line, key, value and what is allowed", "[policies][document]") {
  CHECK(
      problem("default: escalate\ntimeout:\n  strategy: retry_with_backoff\n  max_attempts: 0\n") ==
      "line 4: timeout.max_attempts is 0; allowed is 1 or more");
  CHECK(problem("default: escalate\ntimeout: escalate\ntimeout: retry\n") ==
        "line 3: the policy document has the key \"timeout\" twice in one object; allowed is each "
        "key once");
  CHECK(problem("default: escalate\ngates:\n  rate_limiter:\n    permits: 0\n") ==
        "line 4: gates.rate_limiter.permits is 0; allowed is 1 or more");
  CHECK(problem("default: escalate\ngates:\n  rate_limitter: {}\n")
            .find("line 3: gates.rate_limitter is not a gate; allowed are circuit_breaker, "
                  "retry_budget, "
                  "bulkhead, rate_limiter; did you mean \"rate_limiter\"?") == 0);
  CHECK(problem("default: escalate\ngates: {circuit_breaker: {types: [timeoutt]}}\n")
            .find("line 2: gates.circuit_breaker.types has \"timeoutt\"; allowed are") == 0);
  CHECK(problem("default: escalate\nbudget: {max_cost_usd: -1}\n").find("line 2: budget") == 0);
  CHECK(problem("default: escalate\nbudget: {max_tokens: -1}\n")
            .find("line 2: budget.max_tokens is -1") == 0);
  CHECK(problem("default: escalate\ngates: 5\n").find("line 2: gates is 5") == 0);
  const std::string several = problem("timeout: never\nbudget: {max_tokens: -1}\ndefault: 7\n");
  const std::size_t second = several.find("\nline 2: budget");
  CHECK(several.find("line 1: timeout") == 0);
  CHECK(second != std::string::npos);
  CHECK(several.find("\nline 3: default") > second);
  CHECK(problem("default: [\n").find("not YAML") != std::string::npos);
  CHECK(problem("default: escalate\n---\ndefault: retry\n").find("a second document") !=
        std::string::npos);
  CHECK(problem("default: !!python/object:os.system escalate\n").find("tag") != std::string::npos);
  CHECK(problem("[1]: escalate\n").find("a key that is not text") != std::string::npos);
  CHECK(problem("").find("the policy document is null") == 0);
}

TEST_CASE("a gate tells all its mistakes, and a long list how many it leaves out",
          "[policies][document]") {
  const std::string all = problem(
      "default: escalate\ngates:\n  rate_limiter: {permits: 0, period: 0s, burst: -1,\n"
      "    max_wait: long, often: 1}\n  retry_budget: {max_tokens: 0, per_failure: -1}\n");
  INFO(all);
  CHECK(std::count(all.begin(), all.end(), '\n') == 6);
  for (const char* one :
       {"line 3: gates.rate_limiter.permits is 0; allowed is 1 or more\n",
        "gates.rate_limiter.period is 0s; allowed is 1ms or more\n",
        "gates.rate_limiter.burst is -1; allowed is 1 to 1000000\n",
        "line 4: gates.rate_limiter.max_wait",
        "line 4: gates.rate_limiter.often is 1, but rate_limiter has no such argument",
        "line 5: gates.retry_budget.max_tokens is 0; allowed is a finite number above 0\n",
        "line 5: gates.retry_budget.per_failure is -1; allowed is 0 or more, finite"}) {
    CHECK_THAT(all, ContainsSubstring(one));
  }
  std::string many = "default: escalate\n";
  for (int i = 0; i < 60; ++i) many += "timeout" + std::to_string(i) + ": retry\n";
  const std::string told = problem(many.c_str());
  CHECK(std::count(told.begin(), told.end(), '\n') == 50);
  CHECK(told.ends_with("\nand 10 more mistakes"));
}

TEST_CASE("a part of a token or of a call is no limit", "[policies][document]") {
  CHECK(problem("default: escalate\nbudget: {max_calls: 0.5}\n")
            .find("line 2: budget.max_calls is 0.5") == 0);
  CHECK(problem("default: escalate\nbudget: {max_tokens: 10.5}\n").find("max_tokens is 10.5") !=
        std::string::npos);
  const auto whole =
      document_from_yaml("default: escalate\nbudget: {max_tokens: 2e5}\n", built_in_strategies());
  REQUIRE_OK(whole);
  CHECK(whole.value().budget_limits.max_tokens == 200'000);
}

TEST_CASE("an empty list is not taken for the default", "[policies][document]") {
  CHECK(problem("default: escalate\ngates: {circuit_breaker: {types: []}}\n") ==
        "line 2: gates.circuit_breaker.types is empty; allowed is 1 to 13 failure types");
  CHECK(problem("default: {strategy: suspend, allowed_actions: []}\n") ==
        "line 1: default.allowed_actions is empty; allowed is at least one kind of action");
  CHECK(problem("default: {strategy: chain, primary: retry, fallback: escalate, kinds: []}\n") ==
        "line 1: default.kinds is empty; allowed is at least one kind of action");
  CHECK(problem("default: {strategy: sequence, strategies: []}\n")
            .find("line 1: default.strategies is empty") == 0);
}

TEST_CASE("a call that uses up a budget exactly is started", "[policies][document]") {
  const auto made =
      document_from_yaml("default: escalate\nbudget: {max_cost_usd: 0.3}\n", built_in_strategies());
  REQUIRE_OK(made);
  Budget& budget = *made.value().budget;
  for (int call = 0; call < 3; ++call) {
    auto reserved = budget.reserve({.cost_usd = 0.1});
    REQUIRE_OK(reserved);
    reserved.value().settle({.cost_usd = 0.1});
  }
  CHECK_ERRC(Errc::exhausted, budget.reserve({.cost_usd = 0.0}));
  CHECK_ERRC(Errc::exhausted, budget.reserve({.cost_usd = 0.1}));
}

TEST_CASE("a large value in the wrong place is shown shortened", "[policies][document]") {
  const std::string large(100'000, 'x');
  for (const std::string part :
       {"gates: ", "gates:\n  rate_limiter: [", "budget: ", "attempt_timeout: ["}) {
    INFO(part);
    const std::string yaml =
        "default: escalate\n" + part + large + (part.back() == '[' ? "]\n" : "\n");
    CHECK(problem(yaml.c_str()).size() < 2'000);
  }
}

TEST_CASE("YAML that expands or nests without end is refused", "[policies][document]") {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'i'; ++name) {
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i == 0 ? "*" : ", *") + char(name - 1);
    bomb += "]\n";
  }
  CHECK(problem(bomb.c_str()).find("expands to more than 100000 values") != std::string::npos);
  CHECK_FALSE(
      problem(("default: " + std::string(300, '[') + std::string(300, ']')).c_str()).empty());
  CHECK_FALSE(problem(std::string(100'000, '[').c_str()).empty());
}

TEST_CASE("quoted scalars are texts, plain ones what they look like", "[policies][document]") {
  CHECK(problem("default: \"5\"\n").find("names the strategy \"5\"") != std::string::npos);
  CHECK(problem("default: 5\n").find("default is 5;") != std::string::npos);
}

TEST_CASE("a text like the name of a number is a text", "[policies][document]") {
  for (const std::string text : {"nan", "inf", "-infinity", "NaN"}) {
    INFO(text);
    const auto read = json_from_yaml("about: " + text + "\n", "the file");
    REQUIRE_OK(read);
    CHECK(read.value()["about"] == text);
  }
}

TEST_CASE("plain scalars are read as YAML's core schema says", "[policies][document]") {
  const std::pair<const char*, Json> scalars[] = {{"~", nullptr},
                                                  {"Null", nullptr},
                                                  {"NULL", nullptr},
                                                  {"True", true},
                                                  {"TRUE", true},
                                                  {"False", false},
                                                  {"FALSE", false},
                                                  {"+5", 5},
                                                  {"-5", -5},
                                                  {"007", 7},
                                                  {"0o17", 15},
                                                  {"0x1F", 31},
                                                  {"0xffffffffffffffff", ~std::uint64_t{0}},
                                                  {"+.5", 0.5},
                                                  {"1.", 1.0},
                                                  {"-1.5e+3", -1500.0}};
  for (const auto& [text, value] : scalars) {
    INFO(text);
    const auto read = json_from_yaml("about: " + std::string(text) + "\n", "the file");
    REQUIRE_OK(read);
    CHECK(read.value()["about"] == value);
    CHECK(read.value()["about"].is_number_float() == value.is_number_float());
  }
  for (const std::string text :
       {"tRUE", "nUll", "+-5", "+", "0x", "0o8", "-0x1F", "-.nan", "inf"}) {
    INFO(text);
    const auto read = json_from_yaml("about: " + text + "\n", "the file");
    REQUIRE_OK(read);
    CHECK(read.value()["about"] == text);
  }
  for (const std::string text : {".inf", "-.Inf", "+.INF", ".nan", ".NAN"}) {
    INFO(text);
    const auto read = json_from_yaml("name: x\nabout: " + text + "\n", "the file");
    CHECK_ERRC(Errc::invalid_argument, read);
    CHECK(read.error().detail == "line 2: the file has the number " + text +
                                     ", which JSON does not have; quote it if it is meant as a "
                                     "text");
    REQUIRE_OK(json_from_yaml("about: '" + text + "'\n", "the file"));
  }
}

TEST_CASE("YAML that repeats long texts or names is refused", "[policies][document]") {
  std::string texts = "about: &text " + std::string(100'000, 'x') + "\nlist: [*text";
  for (int i = 0; i < 1'000; ++i) texts += ", *text";
  const auto repeated = json_from_yaml(texts + "]\n", "the file");
  REQUIRE_FALSE(repeated);
  CHECK(repeated.error().detail.find("expands to more than 64 MB") != std::string::npos);
  std::string names = std::string(100'000, 'k') + ": {a0: 0";
  for (int i = 1; i < 1'000; ++i) names += ", a" + std::to_string(i) + ": 0";
  CHECK_ERRC(Errc::invalid_argument, json_from_yaml(names + "}\n", "the file"));
}

TEST_CASE("a large whole number keeps each digit, or is refused", "[policies][document]") {
  CHECK(json_from_yaml("id: 12345678901234567890\n", "the file").value()["id"] ==
        12345678901234567890U);
  CHECK(json_from_yaml("id: 18446744073709551615\n", "the file").value()["id"] ==
        ~std::uint64_t{0});
  for (const std::string text :
       {"18446744073709551616", "-9223372036854775809", "0x1FFFFFFFFFFFFFFFF"}) {
    INFO(text);
    const auto read = json_from_yaml("name: x\nid: " + text + "\n", "the file");
    CHECK_ERRC(Errc::invalid_argument, read);
    CHECK(read.error().detail.find("line 2: the file has the number " + text) == 0);
  }
}

TEST_CASE("JSON is read as JSON, and its mistakes have lines", "[policies][document]") {
  const auto read = json_from_yaml(R"( {"a": "\ud83d\uded1", "b": 12345678901234567890})", "it");
  REQUIRE_OK(read);
  CHECK(read.value()["a"] == "\xF0\x9F\x9B\x91");
  CHECK(read.value()["b"] == 12345678901234567890U);
  REQUIRE_OK(json_from_yaml("{\"" + std::string(2'000, 'k') + "\": 1}", "it"));
  CHECK(problem("{\"timeout\": \"escalate\",\n\"default\": {\"strategy\": \"retri\"}}")
            .find("line 2: ") == 0);
  CHECK(problem("{\"default\": \"escalate\",\n\"default\": \"escalate\"}").find("twice") !=
        std::string::npos);
  REQUIRE_OK(json_from_yaml("{a: b}", "it"));
}

TEST_CASE("a rollback to a place without a name is refused", "[policies][document]") {
  for (const std::string key : {"label", "checkpoint"}) {
    const std::string text = problem(("default: {strategy: rollback, " + key + ": ''}\n").c_str());
    INFO(text);
    CHECK(text.find("default." + key + " is \"\"; allowed is ") != std::string::npos);
  }
}

TEST_CASE("a misspelt section is corrected to the section's name", "[policies][document]") {
  for (const auto& [wrong, right] : std::vector<std::pair<std::string, std::string>>{
           {"gate", "gates"}, {"budgets", "budget"}, {"attempt_timout", "attempt_timeout"}}) {
    CHECK_THAT(problem(("default: retry\n" + wrong + ": 5\n").c_str()),
               ContainsSubstring("line 2: " + wrong + " is 5, but \"" + wrong +
                                 "\" is no failure type and no section") &&
                   ContainsSubstring("default, gates, budget, attempt_timeout") &&
                   ContainsSubstring("did you mean \"" + right + "\"?"));
  }
  const auto bare = policy_from_text(R"({"default": "retry", "budget": {"max_tokens": 5}})",
                                     built_in_strategies());
  CHECK_ERRC(Errc::invalid_argument, bare);
  CHECK_THAT(bare.error().detail, ContainsSubstring("read it with document_from_json"));
}

TEST_CASE("errors of a document name what stands in it", "[policies][document]") {
  CHECK_THAT(problem("attempt_timeout: 90s\n"),
             ContainsSubstring("the policy document names no strategy; allowed are wrong_tool") &&
                 ContainsSubstring("default"));
  CHECK(problem("default: retry\ngates: {rate_limiter: fast}\n") ==
        "line 2: gates.rate_limiter is \"fast\"; allowed is an object of arguments");
  CHECK(problem("default: retry\ngates: {circuit_breaker: open}\n") ==
        "line 2: gates.circuit_breaker is \"open\"; allowed is an object of arguments");
  CHECK(problem("default: retry\ngates: {retry_budget: 5}\n") ==
        "line 2: gates.retry_budget is 5; allowed is an object of arguments, or a preset: aws, "
        "grpc");
  CHECK_THAT(problem("default: retry\nbudget: {max_cost_usd: -2}\n"),
             ContainsSubstring("line 2: budget.max_cost_usd is -2"));
  CHECK_THAT(problem("default: {strategy: rollback, backoff: 3}\n"),
             ContainsSubstring("default.backoff is 3; allowed is an object"));
  CHECK_THAT(problem("default: {strategy: sequence, strategies: retry}\n"),
             ContainsSubstring("default.strategies is \"retry\"; allowed is a list"));
}
