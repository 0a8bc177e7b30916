// SPDX-License-Identifier: MIT
// Several nested runs that wait, one that is continued elsewhere, and what a decision may be for
// one.
#include "resume/nested.hpp"

#include <functional>
#include <map>

using namespace triage;
using namespace triage::test;

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
  const auto due = outer.resume_due();  // It has ended, so there is nothing to wait for.
  REQUIRE_OK(due);
  REQUIRE(due.value().size() == 1);
  CHECK(due.value().front().result.value() == "order done");
  CHECK(nested.kit.clock->wall_now() < before + std::chrono::seconds(1));
}

TEST_CASE("a decision for a nested run that is just held by somebody is not lost", "[nested]") {
  Nested nested;
  const auto store =
      std::make_shared<RefusingOnce>(nested.kit.store, Error{Errc::busy, "another process has it"});
  nested.store = store;
  const auto inner = nested.inner();
  const auto outer = nested.outer(inner);
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
