// SPDX-License-Identifier: MIT
// A run that waits because a nested run waits for a decision.
#include "resume/durable.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// An agent that asks before it answers, called by another agent.
struct Nested {
  Kit kit{};
  int inner_attempts = 0;
  int outer_attempts = 0;
  std::uint64_t seeds = 0;
  bool stored = true;
  bool throws = false;  // How the outer callable passes the inner error on.
  std::vector<std::string> allowed{};

  [[nodiscard]] AgentOptions options(const char* name) {
    AgentOptions all = stored ? kit.options() : kit.bare();
    all.name = name;
    all.random = seeded_random(++seeds);  // Each agent makes its own run ids.
    return all;
  }
  auto inner() {
    return TriageAgent{[this](const std::string& task, Attempt& attempt) {
                         ++inner_attempts;
                         if (attempt.number() == 1) throw std::runtime_error("access_denied");
                         return task + " done";
                       },
                       answers({asking(allowed)}), options("inner")};
  }
  template <class Inner>
  auto outer(const Inner& agent) {
    return TriageAgent{
        [this, &agent](const std::string& task, Attempt& attempt) -> Result<std::string> {
          ++outer_attempts;
          attempt.record_step({.action = "call the inner agent"});
          auto answer = agent.run(task, {.parent = &attempt});
          if (throws) return answer.value();
          return answer;
        },
        answers({RecoveryAction::escalate()}), options("outer")};
  }
};

}  // namespace

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
  struct Unreachable final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    RunId run{};
    Result<Lease> acquire(const RunId& id) override {
      if (id == run) {
        run.clear();
        return Error{Errc::io, "the server does not answer"};
      }
      return ForwardingStore::acquire(id);
    }
  };
  Nested nested;
  const auto store = std::make_shared<Unreachable>(nested.kit.store);
  const auto on_store = [&](const char* name) {
    AgentOptions options = nested.options(name);
    options.store = store;
    return options;
  };
  int charged = 0;
  const TriageAgent inner{[&](const std::string& task, Attempt& attempt) {
                            attempt.effect("charge", [&] { return ++charged; });
                            if (attempt.number() == 1) throw std::runtime_error("access_denied");
                            return task + " done";
                          },
                          answers({asking()}), on_store("inner")};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) -> Result<std::string> {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::retry()}), on_store("outer")};
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

namespace {

// Two nested runs that each charge and then ask, before the callable looks at either.
struct Both {
  Nested nested{};
  int charged = 0;
  std::vector<std::string> order{"a", "b"};  // In which the callable looks at their answers.

  auto inner() {
    return TriageAgent{[this](const std::string& task, Attempt& attempt) {
                         attempt.effect("charge", [&] { return ++charged; });
                         if (attempt.number() == 1) throw std::runtime_error("access_denied");
                         return task + " done";
                       },
                       answers({asking()}), nested.options("inner")};
  }
  template <class Inner>
  auto outer(const Inner& agent) {
    return TriageAgent{[this, &agent](const std::string&, Attempt& attempt) -> Result<std::string> {
                         std::map<std::string, Result<std::string>> got;
                         for (const char* task : {"a", "b"}) {
                           got.emplace(task, agent.run(task, {.parent = &attempt}));
                         }
                         for (const std::string& task : order) {
                           if (!got.at(task)) return got.at(task).error();
                         }
                         return got.at("a").value() + ", " + got.at("b").value();
                       },
                       answers({RecoveryAction::escalate()}), nested.options("outer")};
  }
};

}  // namespace

TEST_CASE("two nested runs that wait at once each go on with their own decision", "[nested]") {
  Both both;
  both.order = GENERATE(std::vector<std::string>{"a", "b"}, std::vector<std::string>{"b", "a"});
  const auto inner = both.inner();
  const auto outer = both.outer(inner);
  const auto waiting = outer.run("orders", {.run_id = "o"});
  REQUIRE(waiting.error().suspension()->inner);
  // The one whose error the callable returned is asked about first.
  CHECK(waiting.error().suspension()->inner->task == both.order.front());
  const auto next = outer.decide(token_of(waiting), RecoveryAction::retry());
  REQUIRE(next.error().suspension()->inner);
  CHECK(next.error().suspension()->inner->run_id != waiting.error().suspension()->inner->run_id);
  CHECK(outer.decide(token_of(next), RecoveryAction::retry()).value() == "a done, b done");
  CHECK(both.charged == 2);
  const auto runs = both.nested.kit.store->runs({.agent = "inner"}).value();
  REQUIRE(runs.size() == 2);
  for (const RunInfo& run : runs) CHECK(run.status == RunStatus::finished);
}

TEST_CASE("nested runs that wait at once may each be decided by their own token", "[nested]") {
  Both both;
  const auto inner = both.inner();
  const auto outer = both.outer(inner);
  const auto waiting = outer.run("orders", {.run_id = "o"});
  const std::string token = waiting.error().suspension()->inner->token;
  REQUIRE_OK(inner.decide(token, RecoveryAction::retry()));
  const auto next = outer.resume_run("o");
  CHECK(outer.decide(token_of(next), RecoveryAction::retry()).value() == "a done, b done");
  CHECK(both.charged == 2);
}

TEST_CASE("a run waits while its nested run is continued elsewhere", "[nested]") {
  Nested nested;
  std::function<void()> meanwhile = [] {};
  const TriageAgent inner{[&](const std::string& task, Attempt& attempt) {
                            if (attempt.number() == 1) throw std::runtime_error("access_denied");
                            meanwhile();
                            return task + " done";
                          },
                          answers({asking()}), nested.options("inner")};
  const auto outer = nested.outer(inner);
  const auto waiting = outer.run("order", {.run_id = "o"});
  const WallTime before = nested.kit.clock->wall_now();
  meanwhile = [&] {
    const auto again = outer.resume_run("o");
    CHECK_ERRC(Errc::suspended, again);
    REQUIRE(again.error().suspension());
    REQUIRE(again.error().suspension()->until);
    CHECK(*again.error().suspension()->until == before + std::chrono::seconds(1));
  };
  REQUIRE_OK(inner.decide(waiting.error().suspension()->inner->token, RecoveryAction::retry()));
  const auto due = outer.resume_due();  // Waits for the rest of the second.
  REQUIRE_OK(due);
  REQUIRE(due.value().size() == 1);
  CHECK(due.value().front().result.value() == "order done");
  CHECK(nested.kit.clock->wall_now() >= before + std::chrono::seconds(1));
}

TEST_CASE("a decision for a nested run that is just held by somebody is not lost", "[nested]") {
  struct Held final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    RunId run{};
    Result<Lease> acquire(const RunId& id) override {
      if (id != run) return ForwardingStore::acquire(id);
      run.clear();
      return Error{Errc::busy, "another process has it"};
    }
  };
  Nested nested;
  const auto store = std::make_shared<Held>(nested.kit.store);

  const auto on_store = [&](const char* name) {
    AgentOptions options = nested.options(name);
    options.store = store;
    return options;
  };
  const TriageAgent inner{[&](const std::string& task, Attempt& attempt) {
                            if (attempt.number() == 1) throw std::runtime_error("access_denied");
                            return task + " done";
                          },
                          answers({asking()}), on_store("inner")};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) -> Result<std::string> {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), on_store("outer")};
  const auto waiting = outer.run("order", {.run_id = "o"});
  store->run = waiting.error().suspension()->inner->run_id;
  const auto held = outer.decide(token_of(waiting), RecoveryAction::retry(), {.who = "ana"});
  CHECK_ERRC(Errc::suspended, held);
  const auto due = outer.resume_due();
  REQUIRE_OK(due);
  REQUIRE(due.value().size() == 1);
  CHECK(due.value().front().result.value() == "order done");
  CHECK(stored_journal(*store, "o").awaited().begin()->second.by == "ana");
}

TEST_CASE("a decision for a nested run is not measured by the run around it", "[nested]") {
  Nested nested;
  nested.stored = GENERATE(true, false);
  const TriageAgent inner{[](const std::string& task, Attempt& attempt) {
                            if (attempt.number() > 1) return task + " done";
                            attempt.record_step({.action = "write"});
                            static_cast<void>(attempt.checkpoint("draft"));
                            throw std::runtime_error("access_denied");
                          },
                          answers({asking()}), nested.options("inner")};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) -> Result<std::size_t> {
                            auto answer = inner.run(task, {.parent = &attempt});
                            if (!answer) return answer.error();
                            return answer.value().size();
                          },
                          answers({RecoveryAction::escalate()}), nested.options("outer")};
  const std::string token = token_of(outer.run("order"));
  SECTION("a fallback is a value of the nested agent") {
    CHECK(outer.decide(token, RecoveryAction::fallback("no")).value() == 2);
  }
  SECTION("a rollback goes to a checkpoint of the nested run") {
    const auto to_draft =
        RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "draft"});
    CHECK(outer.decide(token, to_draft).value() == 10);
  }
}
