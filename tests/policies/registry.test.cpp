// SPDX-License-Identifier: MIT
#include "triage/policies/registry.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/json.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/duration.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/manifest.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/resume.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/sequence.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/context.hpp"

#include <stdexcept>

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::context_for;

namespace {

Result<FailurePolicy> read(const std::string& text) {
  return policy_from_text(text, built_in_strategies());
}

// The description of a document's strategy for timeouts.
std::string described(const std::string& strategy) {
  const auto policy = read("{\"timeout\": " + strategy + "}");
  if (!policy) return policy.error().detail;
  return policy.value().own(FailureType::timeout).description();
}

// A document, and what its error must mention: key, value, allowed values.
struct BadDocument {
  std::string text;
  std::vector<std::string> mentions;
};

void check_refused(const BadDocument& bad) {
  INFO(bad.text);
  const auto policy = read(bad.text);
  CHECK_ERRC(Errc::invalid_argument, policy);
  for (const std::string& part : bad.mentions) {
    CHECK_THAT(policy.error().detail, ContainsSubstring(part));
  }
}

}  // namespace

TEST_CASE("every built-in strategy can be named without arguments, if it needs none",
          "[policies][registry]") {
  const std::vector<std::pair<std::string, Strategy>> plain{
      {"retry", retry()},
      {"retry_with_backoff", retry_with_backoff()},
      {"retry_with_tool_manifest", retry_with_tool_manifest()},
      {"replan", replan()},
      {"rollback", rollback()},
      {"resume_from_subgoal", resume_from_subgoal()},
      {"escalate", escalate()},
      {"suspend", suspend()},
      {"abort_run", abort_run()}};
  for (const auto& [name, strategy] : plain) {
    CHECK(described("\"" + name + "\"") == strategy.description());
    CHECK(described("{\"strategy\": \"" + name + "\"}") == strategy.description());
  }
  CHECK(built_in_strategies().names().size() == plain.size() + 3);
}

TEST_CASE("a document says everything that the options can say", "[policies][registry]") {
  CHECK(described(R"({"strategy": "retry", "max_attempts": 2, "delay": "1m30s", "hint": "h"})") ==
        retry({.max_attempts = 2, .delay = 90s, .hint = "h"}).description());
  CHECK(described(R"({"strategy": "retry_with_backoff", "max_attempts": 7, "base_delay": 0.25,
                      "max_delay": "1h", "multiplier": 3, "jitter": "none", "hint": "h"})") ==
        retry_with_backoff({.max_attempts = 7,
                            .base_delay = 250ms,
                            .max_delay = 1h,
                            .multiplier = 3.0,
                            .jitter = Jitter::none,
                            .hint = "h"})
            .description());
  CHECK(described(R"({"strategy": "retry_with_tool_manifest", "max_attempts": 9})") ==
        retry_with_tool_manifest({.max_attempts = 9}).description());
  CHECK(described(R"({"strategy": "replan", "hint": "h", "max_replans": 0})") ==
        replan({.hint = "h", .max_replans = 0}).description());
  CHECK(described(R"({"strategy": "rollback", "label": "paid", "or_start": true, "hint": "h"})") ==
        rollback({.label = "paid", .or_start = true, .hint = "h"}).description());
  CHECK(described(R"({"strategy": "rollback", "checkpoint": "r@3"})") ==
        rollback({.checkpoint = "r@3"}).description());
  CHECK(described(R"({"strategy": "rollback", "latest": true})") ==
        rollback({.latest = true}).description());
  CHECK(described(R"({"strategy": "rollback", "back": 2})") == rollback({.back = 2}).description());
  CHECK(described(R"({"strategy": "rollback", "backoff": {"max_attempts": 7, "max_delay": "1h",
                      "base_delay": 1, "multiplier": 3, "jitter": "none"}})") ==
        rollback({.backoff = BackoffOptions{.max_attempts = 7,
                                            .base_delay = 1s,
                                            .max_delay = 1h,
                                            .multiplier = 3.0,
                                            .jitter = Jitter::none}})
            .description());
  CHECK(described(R"({"strategy": "resume_from_subgoal", "subgoal": "s", "hint": "h"})") ==
        resume_from_subgoal({.subgoal = "s", .hint = "h"}).description());
  CHECK(described(R"({"strategy": "escalate", "message": "m"})") == escalate("m").description());
  CHECK(described(R"({"strategy": "suspend", "message": "m", "until": "2026-12-24T18:00:00Z",
                      "allowed_actions": ["retry", "abort"]})") ==
        suspend({.message = "m",
                 .until = parse_wall_time("2026-12-24T18:00:00Z").value(),
                 .allowed_actions = {"retry", "abort"}})
            .description());
  CHECK(described(R"({"strategy": "abort_run", "reason": "r"})") == abort_run("r").description());
  CHECK(described(R"({"strategy": "fallback", "value": {"a": [1, null]}})") ==
        fallback(Json::parse(R"({"a": [1, null]})")).description());
}

TEST_CASE("sequences and chains nest in documents", "[policies][registry]") {
  CHECK(described(R"({"strategy": "sequence", "strategies": ["retry",
                      {"strategy": "chain", "primary": {"strategy": "retry", "max_attempts": 2},
                       "fallback": "rollback", "kinds": ["escalate", "abort"]}]})") ==
        sequence({retry(), chain(retry({.max_attempts = 2}), rollback(),
                                 {RecoveryAction::Kind::escalate, RecoveryAction::Kind::abort})})
            .description());
  CHECK(described(R"({"strategy": "chain", "primary": "replan", "fallback": "escalate"})") ==
        chain(replan(), escalate()).description());
}

TEST_CASE("a document decides as the policy written in C++ does", "[policies][registry]") {
  const auto policy = read(R"({
    "default": "escalate",
    "external_fault": {"strategy": "retry_with_backoff", "base_delay": "1s", "jitter": "none"}
  })");
  REQUIRE_OK(policy);
  const auto decided = policy.value().decide(context_for(FailureType::external_fault).after(2));
  CHECK(decided.kind == RecoveryAction::Kind::retry);
  CHECK(decided.delay == 4s);
  CHECK(policy.value().decide(context_for(FailureType::refused)).kind ==
        RecoveryAction::Kind::escalate);
}

TEST_CASE("options survive the way through a document", "[policies][registry][property]") {
  const auto random = seeded_random(11);
  for (int i = 0; i < 300; ++i) {
    const BackoffOptions options{
        .max_attempts = static_cast<int>(random->next() % 1'000'000) + 1,
        .base_delay = Duration(static_cast<Duration::rep>(random->next() >> (1 + i % 60))),
        .max_delay = Duration(static_cast<Duration::rep>(random->next() >> (1 + i % 60))),
        .multiplier = 1.0 + 100.0 * unit_interval(random->next()),
        .jitter = random->next() % 2 == 0 ? Jitter::full : Jitter::none,
        .hint = "hint \"" + std::to_string(random->next()) + "\"\n\\"};
    const Json document{{"timeout",
                         {{"strategy", "retry_with_backoff"},
                          {"max_attempts", options.max_attempts},
                          {"base_delay", format_duration(options.base_delay)},
                          {"max_delay", format_duration(options.max_delay)},
                          {"multiplier", options.multiplier},
                          {"jitter", std::string(to_string(options.jitter))},
                          {"hint", options.hint}}}};
    const auto policy = policy_from_text(document.dump(), built_in_strategies());
    REQUIRE_OK(policy);
    CHECK(policy.value().own(FailureType::timeout).description() ==
          retry_with_backoff(options).description());
  }
}

TEST_CASE("unknown names are refused with what is allowed and the nearest",
          "[policies][registry][errors]") {
  check_refused(
      {R"({"timout": "retry"})",
       {"timout", "no failure type", "external_fault", "default", "did you mean \"timeout\"?"}});
  check_refused({R"({"timeout": "retry_with_backof"})",
                 {"timeout", "\"retry_with_backof\"", "sequence", "rollback",
                  "did you mean \"retry_with_backoff\"?"}});
  check_refused({R"({"timeout": ""})", {"timeout", "\"\"", "abort_run"}});
  check_refused({R"({"timeout": {"strategy": "retry", "max_attempt": 3}})",
                 {"timeout.max_attempt is 3", "no such argument", "max_attempts, delay, hint",
                  "did you mean \"max_attempts\"?"}});
  check_refused({R"({"timeout": {"strategy": "retry_with_backoff", "jitter": "ful"}})",
                 {"timeout.jitter is \"ful\"", "full, none", "did you mean \"full\"?"}});
  check_refused({R"({"timeout": {"strategy": "chain", "primary": "retry", "fallback": "replan",
                     "kinds": ["escalate", "give_up"]}})",
                 {"timeout.kinds[1] is \"give_up\"", "suspend"}});
}

TEST_CASE("wrong types are refused with key, value and what is allowed",
          "[policies][registry][errors]") {
  check_refused({R"({"timeout": {"strategy": "retry", "max_attempts": "3"}})",
                 {"timeout.max_attempts is \"3\"", "whole number"}});
  check_refused({R"({"timeout": {"strategy": "retry", "max_attempts": 2.5}})",
                 {"timeout.max_attempts is 2.5", "whole number"}});
  check_refused({R"({"timeout": {"strategy": "retry", "max_attempts": 99999999999}})",
                 {"timeout.max_attempts is 99999999999", "2147483647"}});
  check_refused({R"({"timeout": {"strategy": "retry", "max_attempts": -99999999999}})",
                 {"timeout.max_attempts is -99999999999"}});
  check_refused({R"({"timeout": {"strategy": "retry", "delay": "soon"}})",
                 {"timeout.delay", "\"soon\"", "500ms"}});
  check_refused({R"({"timeout": {"strategy": "retry", "delay": true}})",
                 {"timeout.delay is true", "number of seconds"}});
  check_refused({R"({"timeout": {"strategy": "retry", "delay": -1}})", {"timeout.delay", "-1"}});
  check_refused(
      {R"({"timeout": {"strategy": "retry", "hint": 5}})", {"timeout.hint is 5", "a text"}});
  check_refused({R"({"timeout": {"strategy": "rollback", "or_start": "yes"}})",
                 {"timeout.or_start is \"yes\"", "true or false"}});
  check_refused({R"({"timeout": {"strategy": "rollback", "backoff": "1s"}})",
                 {"timeout.backoff is \"1s\"; allowed is an object", "retry_with_backoff"}});
  check_refused({R"({"timeout": {"strategy": "rollback", "backoff": {"max_attempts": 0}}})",
                 {"timeout.backoff.max_attempts is 0; allowed is 1 or more"}});
  check_refused({R"({"timeout": {"strategy": "rollback", "backoff": {"hint": "h"}}})",
                 {"timeout.backoff.hint is \"h\"", "rollback.backoff"}});
  check_refused({R"({"timeout": {"strategy": "retry_with_backoff", "multiplier": null}})",
                 {"timeout.multiplier is null", "a number"}});
  check_refused({R"({"timeout": {"strategy": "suspend", "allowed_actions": "retry"}})",
                 {"timeout.allowed_actions is \"retry\"", "list of texts"}});
  check_refused({R"({"timeout": {"strategy": "suspend", "until": "tomorrow"}})",
                 {"timeout.until", "\"tomorrow\"", "2026-12-24T18:00:00Z"}});
  check_refused({R"({"timeout": {"strategy": 7}})", {"timeout.strategy is 7", "retry"}});
  check_refused({R"({"timeout": 7})", {"timeout is 7", "name or an object"}});
  check_refused({R"({"default": ["retry"]})", {"default is [\"retry\"]"}});
}

TEST_CASE("of several mistakes the first argument's is told", "[policies][registry][errors]") {
  check_refused(
      {R"({"timeout": {"strategy": "retry", "hint": 1, "delay": 2, "max_attempts": "x"}})",
       {"timeout.max_attempts is \"x\""}});
}

TEST_CASE("values out of range are refused with the path of the option",
          "[policies][registry][errors]") {
  check_refused({R"({"external_fault": {"strategy": "retry_with_backoff", "max_attempts": 0}})",
                 {"external_fault.max_attempts is 0; allowed is 1 or more"}});
  check_refused({R"({"default": {"strategy": "retry_with_backoff", "multiplier": 0.5}})",
                 {"default.multiplier is 0.5", "1 or more"}});
  check_refused({R"({"default": {"strategy": "rollback", "label": "a", "back": 1}})",
                 {"default.back is a second target"}});
  check_refused({R"({"default": {"strategy": "sequence", "strategies": []}})",
                 {"default.strategies is empty", "at least one"}});
  check_refused({R"({"default": {"strategy": "sequence", "strategies": ["retry",
                     {"strategy": "chain", "primary": {"strategy": "replan", "max_replans": -1},
                      "fallback": "retry"}]}})",
                 {"default.strategies[1].primary.max_replans is -1"}});
}

TEST_CASE("misplaced and missing keys are refused with where they belong",
          "[policies][registry][errors]") {
  check_refused({R"({"max_attempts": 3})", {"max_attempts is 3", "strategy's object", "timeout"}});
  check_refused({R"({"strategy": "retry"})", {"strategy is \"retry\"", "top level"}});
  check_refused({R"({"retry": "timeout"})", {"retry is \"timeout\"", "top level"}});
  check_refused({R"({"timeout": {"strategy": "retry", "default": "escalate"}})",
                 {"timeout.default is \"escalate\"", "top level"}});
  check_refused({R"({"timeout": {"max_attempts": 3}})", {"timeout.strategy is missing", "replan"}});
  check_refused({R"({"timeout": "fallback"})", {"timeout.value is missing", "fallback"}});
  check_refused({R"({"timeout": "sequence"})", {"timeout.strategies is missing"}});
  check_refused({R"({"timeout": {"strategy": "sequence", "strategies": "retry"}})",
                 {"timeout.strategies", "list"}});
  check_refused({R"({"timeout": {"strategy": "chain", "primary": "retry"}})",
                 {"timeout.fallback is missing"}});
  check_refused({R"({"timeout": {"strategy": "sequence", "strategies": ["retry", "nap"]}})",
                 {"timeout.strategies[1]", "\"nap\""}});
}

TEST_CASE("documents that are empty, doubled, too deep or no JSON are refused",
          "[policies][registry][errors]") {
  check_refused({"{}", {"empty", "default"}});
  check_refused({"[]", {"[]", "object"}});
  check_refused({"null", {"null"}});
  check_refused({R"({"timeout": "retry", "timeout": "replan"})", {"\"timeout\" twice"}});
  check_refused(
      {R"({"timeout": {"strategy": "retry", "hint": "a", "hint": "b"}})", {"\"hint\" twice"}});
  check_refused({R"({"timeout": )", {"not JSON"}});
  check_refused({"", {"not JSON"}});
  check_refused({std::string(100'000, '['), {"256"}});
  std::string nested = "\"retry\"";
  for (int i = 0; i < 200; ++i) {
    nested = R"({"strategy": "sequence", "strategies": [)" + nested + "]}";
  }
  check_refused({"{\"timeout\": " + nested + "}", {"256"}});
  CHECK_ERRC(Errc::invalid_argument, policy_from_json("retry", built_in_strategies()));
  const Json deep = Json::parse("{\"timeout\": " + nested + "}");
  CHECK_ERRC(Errc::invalid_argument, policy_from_json(deep, built_in_strategies()));
}

TEST_CASE("equal keys in different objects are no doubles", "[policies][registry]") {
  REQUIRE_OK(read(R"({"timeout": {"strategy": "retry", "hint": "a"},
                      "unknown": {"strategy": "retry", "hint": "a"}})"));
}

TEST_CASE("text that is not UTF-8 is shown, not thrown", "[policies][registry][errors]") {
  Json document = Json::object();
  document["time\xff"] = "retry";
  const auto key = policy_from_json(document, built_in_strategies());
  CHECK_ERRC(Errc::invalid_argument, key);
  CHECK_THAT(key.error().detail, ContainsSubstring("time\\xff"));

  Json value = Json::object();
  value["timeout"] = "ret\xffry";
  const auto name = policy_from_json(value, built_in_strategies());
  CHECK_ERRC(Errc::invalid_argument, name);
  CHECK_THAT(name.error().detail, ContainsSubstring("ret\\xffry"));
}

TEST_CASE("users add names of their own and replace built-in ones", "[policies][registry]") {
  StrategyRegistry registry = built_in_strategies();
  registry
      .add("page_someone",
           [](const Json& json, const StrategyRegistry&) -> Result<Strategy> {
             Arguments arguments(json, "page_someone");
             std::string who = "nobody";
             arguments.read("who", who);
             return arguments.finish([&] { return escalate("paged " + who); });
           })
      .add("retry", [](const Json&, const StrategyRegistry&) -> Result<Strategy> {
        return outcome::success(abort_run("we do not retry"));
      });
  const auto policy = policy_from_text(
      R"({"timeout": {"strategy": "page_someone", "who": "Ann"}, "default": "retry"})", registry);
  REQUIRE_OK(policy);
  CHECK(policy.value().decide(context_for(FailureType::timeout)).message == "paged Ann");
  CHECK(policy.value().decide(context_for(FailureType::refused)).message == "we do not retry");

  const auto wrong =
      policy_from_text(R"({"timeout": {"strategy": "page_someone", "whom": "Ann"}})", registry);
  CHECK_ERRC(Errc::invalid_argument, wrong);
  CHECK_THAT(wrong.error().detail,
             ContainsSubstring("timeout.whom") && ContainsSubstring("did you mean \"who\"?"));
}

TEST_CASE("what a user's factory does wrong becomes an error with a path",
          "[policies][registry][errors]") {
  StrategyRegistry registry;
  registry
      .add("throws",
           [](const Json&, const StrategyRegistry&) -> Result<Strategy> {
             throw std::runtime_error("out of paper");
           })
      .add("empty",
           [](const Json&, const StrategyRegistry&) -> Result<Strategy> {
             return outcome::success(Strategy{});
           })
      .add("invalid",
           [](const Json&, const StrategyRegistry&) -> Result<Strategy> {
             return outcome::success(retry({.max_attempts = 0}));
           })
      .add("null", nullptr);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"throws", "timeout: the strategy's factory threw: out of paper"},
      {"empty", "is empty"},
      {"invalid", "timeout.max_attempts is 0"},
      {"null", "whose factory is null"}};
  for (const auto& [name, expected] : cases) {
    const auto policy = policy_from_text("{\"timeout\": \"" + name + "\"}", registry);
    CHECK_ERRC(Errc::invalid_argument, policy);
    CHECK_THAT(policy.error().detail, ContainsSubstring(expected));
  }
}
