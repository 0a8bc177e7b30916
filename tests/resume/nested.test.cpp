// SPDX-License-Identifier: MIT
// A run that waits because a nested run waits for a decision.
#include "resume/nested.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("a run waits when a nested one waits, and its token decides for that one", "[nested]") {
  Nested nested;
  nested.stored = GENERATE(true, false);
  nested.throws = GENERATE(true, false);
  const auto inner = nested.inner();
  const auto outer = nested.outer(inner);
  const auto waiting = outer.run("order");
  CHECK_ERRC(Errc::suspended, waiting);
  REQUIRE(waiting.error().suspension());
  const Suspension& asked = *waiting.error().suspension();
  CHECK(asked.token.size() == 64);
  CHECK(asked.message == "may I?");
  CHECK(asked.agent == "outer");
  REQUIRE(asked.inner);
  CHECK(asked.inner->agent == "inner");
  CHECK(asked.inner->token.size() == 64);
  CHECK(asked.inner->token != asked.token);

  SECTION("retry") {
    CHECK(outer.decide(asked.token, RecoveryAction::retry()).value() == "order done");
    CHECK(nested.inner_attempts == 2);
    CHECK(nested.outer_attempts == 2);
  }
  SECTION("a fallback is the inner run's answer") {
    CHECK(outer.decide(asked.token, RecoveryAction::fallback("no")).value() == "no");
    CHECK(nested.inner_attempts == 1);
  }
  SECTION("abort ends the outer run") {
    CHECK_ERRC(Errc::aborted, outer.decide(asked.token, RecoveryAction::abort()));
    CHECK(nested.inner_attempts == 1);
  }
  CHECK_ERRC(Errc::not_found, outer.decide(asked.token, RecoveryAction::retry()));
}

TEST_CASE("a nested run that was decided itself gives its result to the run around it",
          "[nested]") {
  Nested nested;
  const auto inner = nested.inner();
  const auto outer = nested.outer(inner);
  const auto waiting = outer.run("order", {.run_id = "o"});
  const Suspension& asked = *waiting.error().suspension();
  REQUIRE(asked.inner);
  CHECK(inner.decide(asked.inner->token, RecoveryAction::retry()).value() == "order done");
  SECTION("by its token") {
    CHECK(outer.decide(asked.token, RecoveryAction::resume()).value() == "order done");
  }
  SECTION("by hand") { CHECK(outer.resume_run("o").value() == "order done"); }
  CHECK(nested.inner_attempts == 2);
}

TEST_CASE("a run around one that still waits goes on waiting", "[nested]") {
  Nested nested;
  const auto inner = nested.inner();
  const auto outer = nested.outer(inner);
  const auto waiting = outer.run("order", {.run_id = "o"});
  const std::string token = waiting.error().suspension()->inner->token;
  const auto again = outer.resume_run("o");
  CHECK_ERRC(Errc::suspended, again);
  CHECK(nested.inner_attempts == 1);
  CHECK_FALSE(again.error().suspension()->token.empty());
  CHECK(outer.decide(again.error().suspension()->token, RecoveryAction::retry()).value() ==
        "order done");
  CHECK_ERRC(Errc::not_found, inner.decide(token, RecoveryAction::retry()));
}

TEST_CASE("what a nested run does not allow is not allowed around it either", "[nested]") {
  Nested nested;
  nested.allowed = {"retry"};
  nested.stored = GENERATE(true, false);
  const auto inner = nested.inner();
  const auto outer = nested.outer(inner);
  const std::string token = token_of(outer.run("order"));
  CHECK_ERRC(Errc::invalid_argument, outer.decide(token, RecoveryAction::fallback("no")));
  CHECK(outer.decide(token, RecoveryAction::retry()).value() == "order done");
}

TEST_CASE("a nested run that was aborted is not run again behind anybody's back", "[nested]") {
  Nested nested;
  const auto inner = nested.inner();
  const auto outer = nested.outer(inner);
  const auto waiting = outer.run("order", {.run_id = "o"});
  const Suspension& asked = *waiting.error().suspension();
  CHECK_ERRC(Errc::aborted, inner.decide(asked.inner->token, RecoveryAction::abort("no")));
  CHECK_ERRC(Errc::escalated, outer.decide(asked.token, RecoveryAction::resume()));
  CHECK(nested.inner_attempts == 1);
}

TEST_CASE("a decision for a nested run survives the process around it", "[nested]") {
  Nested nested;
  const auto inner = nested.inner();
  std::string token;
  {
    const auto outer = nested.outer(inner);
    token = token_of(outer.run("order", {.run_id = "o"}));
  }
  const auto other = nested.outer(inner);  // Another process with the same store.
  CHECK(other.decide(token, RecoveryAction::retry(), {.who = "ana"}).value() == "order done");
  const Journal journal = stored_journal(*nested.kit.store, "o");
  REQUIRE(journal.awaited().size() == 1);
  CHECK(journal.awaited().begin()->second.by == "ana");
  const auto runs = nested.kit.store->runs({.agent = "inner"}).value();
  REQUIRE(runs.size() == 1);
  CHECK(runs.front().status == RunStatus::finished);
  std::string bytes;
  const JournalReading reading = nested.kit.store->read("o", {}).value();
  for (const Record& record : reading.records) record.encode_body(bytes);
  CHECK(bytes.find(token) == std::string::npos);
}

TEST_CASE("two levels of nesting are decided at the top", "[nested]") {
  Nested nested;
  nested.stored = GENERATE(true, false);
  const auto inner = nested.inner();
  const auto middle = nested.outer(inner);
  AgentOptions options = nested.options("top");
  const TriageAgent top{[&](const std::string& task, Attempt& attempt) -> Result<std::string> {
                          return middle.run(task, {.parent = &attempt});
                        },
                        answers({RecoveryAction::escalate()}), options};
  const std::string token = token_of(top.run("order"));
  CHECK(top.decide(token, RecoveryAction::retry()).value() == "order done");
  CHECK(nested.inner_attempts == 2);
}

TEST_CASE("another task of the same nested agent is another run", "[nested]") {
  Nested nested;
  const auto inner = nested.inner();
  std::vector<std::string> seen;
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            for (const char* task : {"a", "b"}) {
                              auto answer = inner.run(task, {.parent = &attempt});
                              if (!answer) return answer.error();
                              seen.push_back(answer.value());
                            }
                            return static_cast<int>(seen.size());
                          },
                          answers({RecoveryAction::escalate()}), nested.options("outer")};
  auto waiting = outer.run("x");
  waiting = outer.decide(token_of(waiting), RecoveryAction::retry());  // For "a"; then "b" asks.
  CHECK_ERRC(Errc::suspended, waiting);
  CHECK(seen == std::vector<std::string>{"a done"});
}

TEST_CASE("a nested run that could not be reached is not begun anew", "[nested]") {
  Nested nested;
  const auto store = std::make_shared<RefusingOnce>(nested.kit.store,
                                                    Error{Errc::io, "the server does not answer"});
  nested.store = store;
  int charged = 0;
  const TriageAgent inner{[&](const std::string& task, Attempt& attempt) {
                            attempt.effect("charge", [&] { return ++charged; });
                            if (attempt.number() == 1) throw std::runtime_error("access_denied");
                            return task + " done";
                          },
                          answers({asking()}), nested.options("inner")};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) -> Result<std::string> {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::retry()}), nested.options("outer")};
  const auto waiting = outer.run("order", {.run_id = "o"});
  const std::string token = token_of(waiting);
  store->run = waiting.error().suspension()->inner->run_id;
  CHECK(outer.decide(token, RecoveryAction::retry()).value() == "order done");
  CHECK(charged == 1);
  CHECK(nested.kit.store->runs({.agent = "inner"}).value().size() == 1);
}

TEST_CASE("waiting for a nested run is no attempt that a limit counts", "[nested]") {
  Kit kit;
  auto options_of = [&, stored = GENERATE(true, false), seed = 0](const char* name) mutable {
    AgentOptions all = stored ? kit.options() : kit.bare();
    all.name = name;
    all.random = seeded_random(static_cast<std::uint64_t>(++seed));
    all.limits.max_attempts = 3;
    return all;
  };
  AgentOptions patient = options_of("inner");
  patient.limits.max_attempts = 20;
  int asked = 0;
  const TriageAgent inner{[&](const std::string&) -> int {
                            if (++asked <= 6) throw std::runtime_error("access_denied");
                            return asked;
                          },
                          answers({asking()}), patient};
  int failures = 0;
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) -> Result<int> {
                            auto answer = inner.run(task, {.parent = &attempt});
                            if (!answer) return answer;
                            if (++failures == 1) return attempt.fail({.text = "timeout"});
                            return answer;
                          },
                          answers({RecoveryAction::retry()}), options_of("outer")};
  auto result = outer.run("x");
  for (int i = 0; i < 6; ++i) result = outer.decide(token_of(result), RecoveryAction::retry());
  CHECK(failures == 2);
  REQUIRE_OK(result);
}
