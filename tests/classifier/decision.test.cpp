// SPDX-License-Identifier: MIT
#include "triage/classifier.hpp"

#include "classifier/support.hpp"
#include "evidence/findings.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <algorithm>

using namespace triage;
using test::classify;
using test::type_of_text;

TEST_CASE("a failure that says nothing is unknown", "[classifier]") {
  const Classification found = classify({});
  CHECK(found == Classification{});
  CHECK(classify({.text = "the cat sat on the mat"}).type == FailureType::unknown);
}

TEST_CASE("what is too unsure to be said is told as a leaning", "[classifier]") {
  // A coarse code is evidence, but not enough.
  const Classification rules = classify({.http_status = 422});
  CHECK(rules.type == FailureType::unknown);
  CHECK(rules.leaning.type == FailureType::schema_mismatch);
  CHECK(rules.leaning.confidence > 0);
  CHECK(rules.leaning.confidence < 0.5);
  // A classification with a type has no leaning.
  CHECK(classify({.http_status = 503}).leaning == Leaning{});
  // The text model's leaning is the probability in its evidence.
  const Failure vague{.text = "the value of page should be a number, I think"};
  const Trajectory none;
  const Classification all = default_classifier()->classify({.failure = vague, .trajectory = none});
  for (const Evidence& one : all.evidence) {
    if (one.source != "model" || all.type != FailureType::unknown) continue;
    CHECK(all.leaning.type == one.suggests);
    CHECK(all.leaning.confidence == Approx(std::min(one.confidence, 0.98)));
    CHECK_FALSE(all.leaning.reason.empty());
  }
}

TEST_CASE("a code that is only named decides nothing where the text is no failure",
          "[classifier]") {
  const auto decided = [](detail::FindingKind kind, bool named_in_text, FailureType likeliest,
                          std::size_t words) {
    detail::Findings findings;
    findings.list.push_back(
        {.kind = kind,
         .reason = "signal",
         .evidence = {.source = "x", .suggests = FailureType::crashed, .confidence = 0.9},
         .named_in_text = named_in_text});
    const detail::ModelOpinion opinion{.likeliest = likeliest, .confidence = 0.6, .words = words};
    return detail::decide(std::move(findings), opinion).type;
  };
  using enum detail::FindingKind;
  CHECK(decided(code, true, FailureType::unknown, 30) == FailureType::unknown);
  CHECK(decided(code, true, FailureType::unknown, 3) == FailureType::crashed);    // Hardly more.
  CHECK(decided(code, false, FailureType::unknown, 30) == FailureType::crashed);  // Reported.
  CHECK(decided(code, true, FailureType::crashed, 30) == FailureType::crashed);
  CHECK(decided(text, false, FailureType::crashed, 30) == FailureType::unknown);  // No code.
  CHECK(decided(exception_type, false, FailureType::unknown, 30) == FailureType::crashed);
  CHECK(decided(exception_type, true, FailureType::unknown, 30) == FailureType::unknown);
  CHECK(decided(exception_type, false, FailureType::unknown, 0) == FailureType::crashed);
  CHECK(decided(exception_type, true, FailureType::unknown, 0) == FailureType::unknown);
}

namespace {

FailureType type_of_all(const Failure& failure, const Trajectory& steps = {}) {
  return default_classifier()->classify({.failure = failure, .trajectory = steps}).type;
}

}  // namespace

TEST_CASE("a bare code is enough, one in a list of changes is not", "[classifier]") {
  for (const char* code : {"ECONNRESET", "ECONNREFUSED", "ETIMEDOUT", "SIGSEGV", "EDQUOT"}) {
    for (const std::string before : {"", "errno: ", "job 4471 failed: "}) {
      INFO(before << code);
      CHECK(type_of_all({.text = before + code}) != FailureType::unknown);
    }
  }
  CHECK(
      type_of_all({.text = "2.9.1: fixed a crash (SIGSEGV) in the cache; timeouts are 30 s now"}) ==
      FailureType::unknown);
}

TEST_CASE("an exception type that means one thing decides where the model is silent",
          "[classifier]") {
  struct Found {
    detail::FindingKind kind;
    FailureType says;
    double confidence;
    bool named = false;
  };
  const auto decided = [](const std::vector<Found>& all) {
    detail::Findings findings;
    for (const Found& one : all) {
      findings.list.push_back(
          {.kind = one.kind,
           .reason = "x",
           .evidence = {.source = "x", .suggests = one.says, .confidence = one.confidence},
           .named_in_text = one.named});
    }
    return detail::decide(std::move(findings), {.confidence = 0.6, .words = 30}).type;
  };
  using enum detail::FindingKind;
  using enum FailureType;
  CHECK(decided({{exception_type, timeout, 0.88}}) == timeout);
  CHECK(decided({{exception_type, timeout, 0.84}}) == unknown);  // Not precise enough …
  CHECK(decided({{exception_type, timeout, 0.84}, {text, timeout, 0.7, true}}) == timeout);
  CHECK(decided({{text, timeout, 0.7, true}, {exception_type, timeout, 0.84}}) == timeout);
  CHECK(decided({{exception_type, timeout, 0.9}, {text, crashed, 0.7, true}}) == unknown);
  CHECK(decided({{text, unknown, 0.9, true}, {exception_type, timeout, 0.9}}) == unknown);
  CHECK(decided({{exception_type, timeout, 0.9}, {text, crashed, 0.4, true}}) == timeout);
  CHECK(decided({{exception_type, timeout, 0.9, true}}) == unknown);  // Not a reported one.
}

TEST_CASE("what ends a long log is heard, whatever was printed before", "[classifier]") {
  std::string plain;
  std::string log;
  for (int i = 10; i < 40; ++i) {
    const std::string number = std::to_string(i);
    plain += "Writing part " + number + " of 40. The table has " + number + " rows.\n";
    log += "2031-05-06T07:08:" + number + "Z INFO loader[4]: part " + number + " written\n";
  }
  for (const std::string& before : {plain, log}) {
    CHECK(type_of_all({.text = before + "< HTTP/2 401"}) == FailureType::access_denied);
    CHECK(type_of_all({.text = before + "HTTP/1.1 503 Service Unavailable\nRetry-After: 9"}) ==
          FailureType::external_fault);
    CHECK(type_of_all({.text = before + "Max turns (7) exceeded\n\n"}) ==
          FailureType::plan_incomplete);
    CHECK(type_of_all({.text = before + "All 40 parts are written"}) == FailureType::unknown);
    CHECK(type_of_all({.text = before}) == FailureType::unknown);
  }
}

TEST_CASE("what several lines say together sends nobody to another plan", "[classifier]") {
  using enum FailureType;
  using detail::TextEnding;
  CHECK(detail::may_say_by_ending(timeout, timeout, TextEnding::last_lines));
  CHECK(detail::may_say_by_ending(plan_incomplete, plan_incomplete, TextEnding::last_line));
  CHECK_FALSE(detail::may_say_by_ending(plan_incomplete, plan_incomplete, TextEnding::last_lines));
  CHECK_FALSE(
      detail::may_say_by_ending(plan_incomplete, plan_incomplete, TextEnding::last_line_of_few));
  CHECK_FALSE(detail::may_say_by_ending(crashed, crashed, TextEnding::last_line_of_few));
  CHECK_FALSE(detail::may_say_by_ending(timeout, crashed, TextEnding::last_line));
  CHECK_FALSE(detail::may_say_by_ending(unknown, unknown, TextEnding::last_line));
}

TEST_CASE("a retry that the last of a few lines asks for is heard", "[classifier]") {
  const std::string work = "page 1 of the atlas is drawn\nwrote atlas-1.svg\n";
  CHECK(type_of_all({.text = work + "HTTP 503 Service Unavailable"}) ==
        FailureType::external_fault);
  CHECK(type_of_all({.text = work + "connection refused\n"}) == FailureType::external_fault);
  CHECK(type_of_all({.text = work + "page 2 of the atlas is drawn"}) == FailureType::unknown);
}

TEST_CASE("an exception type decides where there is no text", "[classifier]") {
  for (const char* nothing : {"", " ", "\n"}) {
    CHECK(type_of_all({.text = nothing, .exception_type = "TimeoutError"}) == FailureType::timeout);
  }
  CHECK(type_of_all({.exception_type = "asyncio.exceptions.TimeoutError"}) == FailureType::timeout);
  CHECK(type_of_all({.exception_type = "PermissionError"}) == FailureType::access_denied);
  CHECK(type_of_all({.exception_type = "ValueError"}) == FailureType::unknown);
  // A reported code takes precedence.
  CHECK(type_of_all({.exception_type = "ValidationError", .http_status = 503}) ==
        FailureType::external_fault);
  // Names inside a text are not reported ones, wherever the text is.
  const std::vector<Step> steps{
      {.action = "x", .error = "PermissionError: handled, the work went on"}};
  CHECK(type_of_all({}, test::trajectory_of(steps)) == FailureType::unknown);
}

TEST_CASE("an external fault explains a timeout that came with it", "[classifier]") {
  CHECK(type_of_text("503 Service Unavailable: upstream request timeout") ==
        FailureType::external_fault);
  CHECK(classify({.text = "request timed out", .http_status = 503}).type ==
        FailureType::external_fault);
}

TEST_CASE("a connection that could not be made in time is a timeout", "[classifier]") {
  CHECK(type_of_text("Failed to establish a new connection: the attempt timed out") ==
        FailureType::timeout);
}

TEST_CASE("429 is a spent quota when the text says so", "[classifier]") {
  CHECK(classify({.text = "slow", .http_status = 429}).reason == "rate_limited");
  const Classification found =
      classify({.text = "Your credit balance is too low to use the API", .http_status = 429});
  CHECK(found.type == FailureType::quota_exhausted);
}

TEST_CASE("the failure itself beats errors that were survived", "[classifier]") {
  const Classification found = classify(
      {.text = "Tool 'serch' does not exist"},
      {{.action = "fetch", .error = "HTTP 503"}, {.action = "fetch again"}, {.action = "think"}});
  CHECK(found.type == FailureType::wrong_tool_called);
  CHECK(found.critical_step == 0U);
}

TEST_CASE("an error that many steps went on from decides nothing", "[classifier]") {
  const std::vector<Step> steps{{.error = "HTTP 503"}, {.action = "a"}, {.action = "b"},
                                {.action = "c"},       {.action = "d"}, {.action = "e"}};
  CHECK(classify({.text = "gave up"}, steps).type == FailureType::unknown);
  CHECK(classify({}, steps).type == FailureType::external_fault);
}

TEST_CASE("the newest step's error counts beside the exception", "[classifier]") {
  const Classification found =
      classify({.text = "agent failed"}, {{.action = "ask"}, {.error = "HTTP 503 from backend"}});
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.critical_step == 1U);
  REQUIRE_FALSE(found.evidence.empty());
  CHECK(found.evidence.front().step == 1U);
  CHECK(found.evidence.front().source == "step.text");
}

TEST_CASE("restored steps are no evidence", "[classifier]") {
  const Trajectory trajectory = test::trajectory_of({{.error = "HTTP 503"}});
  const Failure failure{.text = "agent failed"};
  const Classification found = RulesClassifier().classify(
      {.failure = failure, .trajectory = trajectory, .restored_steps = 1});
  CHECK(found == Classification{});
}

TEST_CASE("strong findings that contradict each other lower the confidence", "[classifier]") {
  const std::string text = "this model's maximum context length is 8192 tokens";
  const double alone = classify({.http_status = 500}).confidence;
  CHECK(classify({.text = text, .http_status = 500}).confidence < alone);
  // A type that the code rules out does not count as a contradiction.
  CHECK(classify({.text = text, .http_status = 503}).confidence ==
        classify({.http_status = 503}).confidence);
}

TEST_CASE("weak findings decide only together", "[classifier]") {
  CHECK(classify({.http_status = 422}).type == FailureType::unknown);
  CHECK(classify({.text = "Available tools: [a, b]"}).type == FailureType::unknown);
  const Classification both = classify({.text = "Available tools: [a, b]", .http_status = 404});
  CHECK(both.type == FailureType::wrong_tool_called);
  CHECK(both.confidence < 0.7);
}

TEST_CASE("a cause explains an exception that says nothing", "[classifier]") {
  const Classification found =
      classify({.text = "step failed",
                .exception_type = "std::_Nested_exception<std::runtime_error>",
                .causes = {{.exception_type = "std::runtime_error", .text = "request failed"},
                           {.exception_type = "std::system_error",
                            .text = "read",
                            .code = std::make_error_code(std::errc::connection_reset)}}});
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.reason == "connection_lost");
  CHECK(found.evidence.front().source == "cause.error_code");
}

TEST_CASE("a type that the agent named itself is honoured", "[classifier]") {
  const Failure failure{.text = "HTTP 503", .type = FailureType::refused, .reason = "mine"};
  const Classification found = classify(failure);
  CHECK(found.type == FailureType::refused);
  CHECK(found.reason == "mine");
  CHECK(found.confidence == 1.0);
  const Trajectory none;
  CHECK(no_classifier()->classify({.failure = failure, .trajectory = none}).type ==
        FailureType::refused);
  const Failure unnamed{.text = "HTTP 503"};
  CHECK(no_classifier()->classify({.failure = unnamed, .trajectory = none}) == Classification{});
}

TEST_CASE("a passed deadline is a timeout, whatever the words", "[classifier]") {
  const Trajectory none;
  const Failure failure{.text = "HTTP 503", .http_status = 503};
  const Classification found =
      RulesClassifier().classify({.failure = failure, .trajectory = none, .deadline_passed = true});
  CHECK(found.type == FailureType::timeout);
  CHECK(found.reason == "deadline");
  CHECK(found.confidence == 1.0);
  CHECK(found.evidence.front().source == "deadline");
}

TEST_CASE("failing at the same step after a rollback is told, and decides nothing",
          "[classifier]") {
  const Trajectory trajectory = test::trajectory_of({{.action = "a"}, {.error = "odd"}});
  const Failure failure{.text = "odd"};
  const Classification found = RulesClassifier().classify(
      {.failure = failure, .trajectory = trajectory, .rolled_back_step = 1});
  CHECK(found.type == FailureType::unknown);
  REQUIRE(found.evidence.size() == 1);
  CHECK(found.evidence.front().source == "repeated_after_rollback");
}

TEST_CASE("options out of range are refused by name", "[classifier]") {
  CHECK_ERRC(Errc::invalid_argument, RulesClassifier::create({.loop_window = 1}));
  CHECK_ERRC(Errc::invalid_argument, RulesClassifier::create({.loop_window = 101}));
  CHECK_ERRC(Errc::invalid_argument, RulesClassifier::create({.longest_period = 0}));
  CHECK_ERRC(Errc::invalid_argument, RulesClassifier::create({.longest_period = 65}));
  REQUIRE_OK(RulesClassifier::create({.loop_window = 2, .longest_period = 64}));
}
