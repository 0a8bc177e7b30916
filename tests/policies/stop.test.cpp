// SPDX-License-Identifier: MIT
#include "triage/policies/stop.hpp"

#include "support/catch.hpp"
#include "triage/json.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/resume.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/testing/context.hpp"

using namespace triage;
using triage::testing::context_for;
using Kind = RecoveryAction::Kind;

TEST_CASE("escalate says what was told, or type, step and text of the failure",
          "[policies][stop]") {
  CHECK(escalate("call Ann")(context_for(FailureType::refused)).message == "call Ann");
  const RecoveryAction stock = escalate()(context_for(FailureType::external_fault)
                                              .reason("rate_limited")
                                              .critical_step(3)
                                              .attempt_number(2)
                                              .text("HTTP 429\n"));
  CHECK(stock.kind == Kind::escalate);
  CHECK(stock.message ==
        "escalated: external_fault (rate_limited) at step 3 of attempt 2: HTTP 429\\n");
  CHECK(escalate()(context_for(FailureType::unknown).text(std::string(1'000'000, 'x')))
            .message.size() < 400);
}

TEST_CASE("an escalation passed up by nested runs says once what happened", "[policies][stop]") {
  const auto said = [](int attempt, const std::string& text) {
    return escalate()(context_for(FailureType::quota_exhausted)
                          .reason("budget_spent")
                          .attempt_number(attempt)
                          .text(text))
        .message;
  };
  const std::string inner = said(3, "800 of 1000: spent");
  CHECK(said(1, said(2, inner)) ==
        "escalated: quota_exhausted (budget_spent) of attempt 1: 800 of 1000: spent");
  // Not of this kind, or not a whole summary: nothing is cut.
  CHECK_THAT(said(1, "escalated: timeout of attempt 1: slow"),
             ContainsSubstring("1: escalated: timeout of attempt 1: slow"));
  CHECK_THAT(said(1, "escalated: quota_exhausted (budget_spent): ask"),
             ContainsSubstring("1: escalated: quota_exhausted (budget_spent): ask"));
  CHECK_THAT(said(1, "escalated: quota_exhausted (budget_spent) of attempt 1"),
             ContainsSubstring("1: escalated: quota_exhausted (budget_spent) of attempt 1"));
}

TEST_CASE("abort_run gives its reason, or else the failure type", "[policies][stop]") {
  CHECK(abort_run("too dear")(context_for(FailureType::refused)).message == "too dear");
  CHECK(abort_run()(context_for(FailureType::refused)).kind == Kind::abort);
  CHECK(abort_run()(context_for(FailureType::refused)).message == "refused");
}

TEST_CASE("suspend carries message, time and the actions that may be decided on",
          "[policies][stop]") {
  const WallTime until{std::chrono::sys_days{std::chrono::December / 24 / 2026}};
  const RecoveryAction action =
      suspend({.message = "pay the bill", .until = until, .allowed_actions = {"retry", "abort"}})(
          context_for(FailureType::quota_exhausted));
  CHECK(action.kind == Kind::suspend);
  CHECK(action.message == "pay the bill");
  CHECK(action.until == until);
  CHECK(action.allowed_actions == std::vector<std::string>{"retry", "abort"});
  CHECK_THAT(suspend()(context_for(FailureType::quota_exhausted)).message,
             ContainsSubstring("quota_exhausted"));
}

TEST_CASE("suspend takes kinds of actions and any calendar time, rounded up", "[policies][stop]") {
  const std::chrono::sys_days day{std::chrono::December / 24 / 2026};
  const auto a_little_later = day + std::chrono::microseconds(1);
  const RecoveryAction action =
      suspend({.until = a_little_later, .allowed_actions = {Kind::retry, Kind::abort}})(
          context_for(FailureType::quota_exhausted));
  CHECK(action.until == WallTime(day) + std::chrono::milliseconds(1));
  CHECK(action.allowed_actions == std::vector<std::string>{"retry", "abort"});
  CHECK(suspend({.until = day})(context_for(FailureType::timeout)).until == WallTime(day));
  CHECK_FALSE(suspend({.until = std::nullopt})(context_for(FailureType::timeout)).until);
  CHECK_THAT(suspend({.allowed_actions = {Kind::retry, Kind::retry}}).problem(),
             ContainsSubstring("allowed_actions[1]"));
}

TEST_CASE("suspend refuses actions that do not exist or come twice", "[policies][stop]") {
  CHECK_THAT(suspend({.allowed_actions = {"retry", "rety"}}).problem(),
             ContainsSubstring("allowed_actions[1] is \"rety\"") &&
                 ContainsSubstring("did you mean \"retry\"?") && ContainsSubstring("rollback"));
  CHECK_THAT(suspend({.allowed_actions = {"retry", "abort", "retry"}}).problem(),
             ContainsSubstring("allowed_actions[2]") && ContainsSubstring("once"));
}

TEST_CASE("fallback answers with its value", "[policies][fallback]") {
  const Strategy strategy = fallback({{"pages", 0}});
  const RecoveryAction action = strategy(context_for(FailureType::timeout));
  CHECK(action.kind == Kind::fallback);
  REQUIRE(action.value != nullptr);
  CHECK(*action.value == Json({{"pages", 0}}));
  CHECK(strategy.description() == R"(fallback(value={"pages":0}))");
}

TEST_CASE("fallback refuses a value that no store could keep", "[policies][fallback]") {
  CHECK_THAT(fallback(std::numeric_limits<double>::infinity()).problem(),
             ContainsSubstring("value") && ContainsSubstring("finite"));
  Json deep = 1;
  for (int i = 0; i < 300; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  CHECK_THAT(fallback(deep).problem(), ContainsSubstring("256"));
}

TEST_CASE("rollback goes to the last good checkpoint unless told otherwise",
          "[policies][rollback]") {
  const auto target = [](RollbackOptions options) {
    const RecoveryAction action = rollback(std::move(options))(context_for(FailureType::timeout));
    REQUIRE(action.kind == Kind::rollback);
    return action.target;
  };
  using Target = RollbackTarget::Kind;
  CHECK(target({}).kind == Target::last_good);
  CHECK_FALSE(target({}).or_start);
  CHECK(target({.or_start = true}).or_start);
  CHECK(target({.latest = true}).kind == Target::latest);
  CHECK(target({.label = "paid"}).kind == Target::label);
  CHECK(target({.label = "paid"}).name == "paid");
  CHECK(target({.checkpoint = "run-1@12"}).kind == Target::checkpoint);
  CHECK(target({.checkpoint = "run-1@12"}).name == "run-1@12");
  CHECK(target({.back = 2}).kind == Target::back);
  CHECK(target({.back = 2}).back == 2);
  CHECK(rollback({.hint = "again"})(context_for(FailureType::timeout)).hint == "again");
}

TEST_CASE("rollback refuses two targets and targets that cannot be", "[policies][rollback]") {
  CHECK_THAT(rollback({.label = "a", .latest = true}).problem(),
             ContainsSubstring("latest is a second target"));
  CHECK_THAT(rollback({.back = -1}).problem(), ContainsSubstring("back is -1"));
  CHECK_THAT(rollback({.checkpoint = "nonsense"}).problem(),
             ContainsSubstring("checkpoint is \"nonsense\"") && ContainsSubstring("RUN@SEQUENCE"));
  CHECK_THAT(rollback({.label = std::string(257, 'x')}).problem(),
             ContainsSubstring("label is 257 bytes long"));
  CHECK(rollback({.label = std::string(256, 'x')}).problem().empty());
}

TEST_CASE("every option of rollback is part of its description", "[policies][rollback]") {
  CHECK(rollback().description() == "rollback(target=last_good, or_start=false)");
  CHECK(rollback({.label = "x", .or_start = true}).description() ==
        "rollback(label=\"x\", or_start=true)");
  CHECK_THAT(rollback({.latest = true, .backoff = BackoffOptions{.max_attempts = 7}}).description(),
             ContainsSubstring("backoff=retry_with_backoff(max_attempts=7, base_delay=500ms"));
}

TEST_CASE("rollback with a backoff waits, then goes on where it stood, until its attempts are used",
          "[policies][rollback]") {
  using namespace std::chrono_literals;
  const Strategy strategy = rollback(
      {.latest = true,
       .hint = "go on",
       .backoff = BackoffOptions{.max_attempts = 3, .base_delay = 1s, .jitter = Jitter::none}});
  CHECK(strategy.max_attempts() == 3);
  const RecoveryAction second = strategy(context_for(FailureType::external_fault).after(1));
  REQUIRE(second.kind == Kind::rollback);
  CHECK(second.target.kind == RollbackTarget::Kind::latest);
  CHECK(second.delay == 2s);
  CHECK(second.hint == "go on");
  CHECK(strategy(context_for(FailureType::external_fault).retry_after(9s)).delay == 9s);
  CHECK(strategy(context_for(FailureType::external_fault).after(2)).kind == Kind::escalate);
  const auto late = context_for(FailureType::external_fault).retry_after(9s).remaining(5s);
  CHECK(strategy(late).kind == Kind::escalate);
}

TEST_CASE("rollback refuses a backoff that cannot be", "[policies][rollback]") {
  CHECK(rollback({.backoff = BackoffOptions{.max_attempts = 0}}).problem() ==
        "backoff.max_attempts is 0; allowed is 1 or more");
  CHECK_THAT(rollback({.backoff = BackoffOptions{.hint = "h"}}).problem(),
             ContainsSubstring("backoff.hint is \"h\""));
}

TEST_CASE("resume_from_subgoal takes the context's open subgoal, or its own",
          "[policies][resume]") {
  const auto context =
      context_for(FailureType::plan_incomplete).incomplete_subgoal("write the report").build();
  const RecoveryAction from_context = resume_from_subgoal({.hint = "go on"})(context);
  CHECK(from_context.kind == Kind::resume);
  CHECK(from_context.subgoal == "write the report");
  CHECK(from_context.hint == "go on");
  CHECK(resume_from_subgoal({.subgoal = "check it"})(context).subgoal == "check it");
}

TEST_CASE("resume_from_subgoal without a subgoal escalates and names what is missing",
          "[policies][resume]") {
  for (const auto& context : {context_for(FailureType::plan_incomplete),
                              context_for(FailureType::plan_incomplete).incomplete_subgoal("")}) {
    const RecoveryAction action = resume_from_subgoal()(context);
    CHECK(action.kind == Kind::escalate);
    CHECK_THAT(action.message, ContainsSubstring("incomplete_subgoal"));
  }
}
