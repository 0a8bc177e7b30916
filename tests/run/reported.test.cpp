// SPDX-License-Identifier: MIT
// A failure travels with the error that reports it, whatever the callable does to the error's text.
#include "support/catch.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

#include <cmath>
#include <exception>
#include <stdexcept>

using namespace triage;
using namespace triage::test;

namespace {

// Keeps the failure that it is asked about.
class KeepingClassifier final : public Classifier {
 public:
  Classification classify(const ClassifierInput& input) override {
    seen = input.failure;
    return {};
  }
  Failure seen{};
};

Failure all_facts() {
  return {.text = "overloaded",
          .exception_type = "HTTPError",
          .http_status = 503,
          .json_rpc_code = -32'000,
          .grpc_status = 14,
          .code = std::make_error_code(std::errc::timed_out),
          .headers = {{"Retry-After", "7"}},
          .retry_after = std::chrono::seconds(7),
          .causes = {{.exception_type = "SocketError", .text = "reset"}}};
}

// The failure that the classifier sees when the callable fails like this.
template <class F>
Failure seen_after(F callable) {
  Kit kit;
  AgentOptions options = kit.bare();
  const auto classifier = std::make_shared<KeepingClassifier>();
  options.classifier = classifier;
  const TriageAgent agent{std::move(callable), escalating(), std::move(options)};
  CHECK_ERRC(Errc::escalated, agent.run("x"));
  return classifier->seen;
}

void check_facts(const Failure& seen) {
  CHECK(seen.exception_type == "HTTPError");
  CHECK(seen.http_status == 503);
  CHECK(seen.json_rpc_code == -32'000);
  CHECK(seen.grpc_status == 14);
  CHECK(seen.code == std::errc::timed_out);
  REQUIRE(seen.headers.size() == 1);
  CHECK(seen.headers[0].second == "7");
  CHECK(seen.retry_after == std::chrono::seconds(7));
  REQUIRE_FALSE(seen.causes.empty());
  CHECK(seen.causes.back().text == "reset");
}

}  // namespace

TEST_CASE("an error whose text got a prefix keeps its HTTP status and all other facts",
          "[attempt]") {
  const Failure seen = seen_after([](const std::string&, Attempt& attempt) -> Result<int> {
    Error error = attempt.fail(all_facts());
    error.detail = "page 3: " + error.detail;
    return error;
  });
  CHECK(seen.text == "page 3: overloaded");
  check_facts(seen);
}

TEST_CASE("an error that got another code keeps its facts", "[attempt]") {
  const Failure seen = seen_after([](const std::string&, Attempt& attempt) -> Result<int> {
    Error error = attempt.fail({.text = "overloaded", .http_status = 503});
    error.code = Errc::io;
    return error;
  });
  CHECK(seen.text == "overloaded");
  CHECK(seen.http_status == 503);
  CHECK(seen.code == make_error_code(Errc::io));
}

TEST_CASE("of several failures that were reported, the one that is returned counts", "[attempt]") {
  const Failure seen = seen_after([](const std::string&, Attempt& attempt) -> Result<int> {
    const Error first = attempt.fail({.text = "same text", .http_status = 429});
    const Error second = attempt.fail({.text = "same text", .http_status = 500});
    return first;
  });
  CHECK(seen.http_status == 429);
}

TEST_CASE("an error of one's own has nothing of a failure whose text it happens to have",
          "[attempt]") {
  const Failure seen = seen_after([](const std::string&, Attempt& attempt) -> Result<int> {
    static_cast<void>(attempt.fail({.text = "same text", .http_status = 429}));
    return Error{Errc::escalated, "same text"};
  });
  CHECK(seen.text == "same text");
  CHECK_FALSE(seen.http_status);
}

TEST_CASE("a failure is reported without an attempt, too", "[attempt]") {
  const Failure seen =
      seen_after([](const std::string&) -> Result<int> { return Error(all_facts()); });
  CHECK(seen.text == "overloaded");
  check_facts(seen);
}

TEST_CASE("a failure that is thrown as the exception of a bad result keeps its facts",
          "[attempt]") {
  const Failure seen = seen_after([](const std::string&, Attempt& attempt) {
    const Result<int> result = attempt.fail(all_facts());
    return result.value();
  });
  CHECK(seen.text == "overloaded");
  check_facts(seen);
}

TEST_CASE("a failure or a text that is thrown counts as if it had been returned or said",
          "[attempt]") {
  const Failure thrown = seen_after(
      [](const std::string&, Attempt& attempt) -> int { throw attempt.fail(all_facts()); });
  CHECK(thrown.text == "overloaded");
  check_facts(thrown);
  const Failure said =
      seen_after([](const std::string&) -> int { throw std::string("the tank is empty"); });
  CHECK(said.text == "the tank is empty");
  CHECK_THAT(said.exception_type, ContainsSubstring("string"));
  const Failure words = seen_after([](const std::string&) -> int { throw "out of paper"; });
  CHECK(words.text == "out of paper");
  const Failure number = seen_after([](const std::string&) -> int { throw 42; });
  CHECK(number.text == "an exception that is not a std::exception");
}

TEST_CASE("a nested run's error that is thrown carries its failure", "[attempt]") {
  Kit kit;
  const TriageAgent inner{[](const std::string&, Attempt& attempt) -> Result<int> {
                            return attempt.fail({.text = "busy", .http_status = 503});
                          },
                          answers({RecoveryAction::escalate()}), kit.bare()};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) -> int {
                            const auto result = inner.run(task, {.parent = &attempt});
                            throw result.error();
                          },
                          answers({RecoveryAction::escalate()}), kit.bare()};
  const auto result = outer.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::external_fault);
  CHECK_THAT(result.error().failure()->text, ContainsSubstring("busy"));
}

TEST_CASE("an exception around a failure keeps its facts and says its own text", "[attempt]") {
  const Failure seen = seen_after([](const std::string&, Attempt& attempt) {
    const Result<int> result = attempt.fail(all_facts());
    try {
      return result.value();
    } catch (...) {
      std::throw_with_nested(std::runtime_error("page 3"));
    }
  });
  CHECK(seen.text == "page 3");
  check_facts(seen);
}

TEST_CASE("a failure without a text says that the attempt failed", "[attempt]") {
  const Error error(Failure{.http_status = 503});
  CHECK(error.code == Errc::escalated);
  CHECK(error.detail == "the attempt failed");
  REQUIRE(error.reported());
  CHECK(error.reported()->text.empty());
  const Error copy = error;  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(copy.reported()->http_status == 503);
  CHECK_FALSE(Error(Errc::io, "x").reported());
}

TEST_CASE("a run that must end tells of the failure that came with it, not of an earlier one",
          "[reported]") {
  Kit kit;
  const TriageAgent agent{[](int, Attempt& attempt) -> Result<int> {
                            if (attempt.number() == 1) return attempt.fail({.text = "timeout"});
                            attempt.update_state({{"x", std::nan("")}});
                            return attempt.fail({.text = "disk on fire"});
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  const auto result = agent.run(1);
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(result.error().detail,
             ContainsSubstring("(while handling this failure of the agent: disk on fire)"));
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->text == "disk on fire");
  CHECK(result.error().failure()->attempt_number == 2);
}
