// SPDX-License-Identifier: MIT
// Proposals are judged before they are carried out.
#include "resume/durable.hpp"
#include "triage/policies/risk_guard.hpp"

#include <algorithm>

using namespace triage;
using namespace triage::test;

namespace {

Step step(std::string tool, Json input = Json::object()) {
  return {.action = "act", .tool_called = std::move(tool), .tool_input = std::move(input)};
}

GuardVerdict::Kind verdict(const Step& proposed) { return risk_guard()->judge(proposed).kind; }

class FixedGuard final : public StepGuard {
 public:
  explicit FixedGuard(GuardVerdict::Kind kind) : kind_(kind) {}
  [[nodiscard]] GuardVerdict judge(const Step& proposed) const override {
    if (proposed.tool_called == "throw") throw std::runtime_error("guard broke");
    if (proposed.tool_called == "read") return {};
    return {.kind = kind_, .risk = 0.7, .reason = "it is risky"};
  }

 private:
  GuardVerdict::Kind kind_;
};

}  // namespace

TEST_CASE("the built-in guard looks into names, however they are written", "[guard]") {
  using Kind = GuardVerdict::Kind;
  for (const char* name : {"delete_user", "deleteUser", "DeleteUser", "DELETE-USER", "user.delete",
                           "db__delete__row", "HTTPDelete", "delete2"}) {
    CAPTURE(name);
    CHECK(verdict(step(name)) == Kind::ask);
  }
  for (const char* name : {"undeleted", "read_file", "search", "payload_size", "dropdown_options",
                           "sender_name", "get_deletedness"}) {
    CAPTURE(name);
    CHECK(verdict(step(name)) == Kind::allow);
  }
  CHECK(verdict({.action = "delete everything"}) == Kind::ask);
}

TEST_CASE("the built-in guard looks into the input, JSON in text included", "[guard]") {
  using Kind = GuardVerdict::Kind;
  CHECK(verdict(step("run", {{"command", "ls -l"}})) == Kind::allow);
  CHECK(verdict(step("run", {{"command", "rm -rf /"}})) == Kind::deny);
  CHECK(verdict(step("query", {{"sql", "select * from t"}})) == Kind::allow);
  CHECK(verdict(step("query", {{"sql", "DROP TABLE users"}})) == Kind::deny);
  CHECK(verdict(step("query", {{"args", {{"deep", Json::array({"drop_table"})}}}})) == Kind::deny);
  CHECK(verdict(step("query", {{"args", R"({"sql":"drop\u0020table\u0020t"})"}})) == Kind::deny);
  CHECK(verdict(step("query", {{"args", R"("{\"sql\":\"dr\\u006fp table t\"}")"}})) == Kind::deny);
  CHECK(verdict(step("query", {{"text", std::string(300'000, 'x')}})) == Kind::ask);
  CHECK(verdict(step("delete", {{"password", "x"}, {"all", "true"}})) == Kind::ask);
}

TEST_CASE("a guard reads every text that holds JSON, however many there are", "[guard]") {
  Json texts = Json::array();
  for (int i = 0; i < 100; ++i) texts.push_back("[" + std::to_string(i) + "]");
  texts.push_back(R"({"command": "\u0072\u006d -\u0072\u0066 /"})");
  std::reverse(texts.begin(), texts.end());  // The last one is read first.
  const Step hidden{.action = "work", .tool_called = "work", .tool_input = texts};
  CHECK(verdict(hidden) == GuardVerdict::Kind::deny);
}

TEST_CASE("risks add up, and a guard's rules are data", "[guard]") {
  RiskRules rules{.rules = {{"a", RiskRule::Where::tool, {"a"}, 0.4},
                            {"b", RiskRule::Where::input, {"b"}, 0.5},
                            {"c", RiskRule::Where::any, {"c", "d"}, 0.8}}};
  const auto guard = risk_guard(rules);
  CHECK(guard->judge(step("a")).kind == GuardVerdict::Kind::allow);
  const GuardVerdict both = guard->judge(step("a", {{"k", "b"}}));
  CHECK(both.kind == GuardVerdict::Kind::ask);
  CHECK(both.risk == Approx(0.7));
  CHECK(both.reason == "risk 0.70 (a, b)");
  CHECK(guard->judge(step("b")).kind == GuardVerdict::Kind::allow);
  CHECK(guard->judge(step("c", {{"k", "d"}})).kind == GuardVerdict::Kind::ask);
  CHECK(guard->judge(step("a_c", {{"b", "d"}})).kind == GuardVerdict::Kind::deny);
}

TEST_CASE("rules that make no sense let nothing pass", "[guard]") {
  RiskRules rules{.rules = {{"a", RiskRule::Where::tool, {"a"}, 0.4}}};
  SECTION("thresholds") { rules.ask_at = 0.95; }
  SECTION("no threshold") { rules.ask_at = 0.0; }
  SECTION("risk") { rules.rules[0].risk = 1.5; }
  SECTION("words") { rules.rules[0].words = {}; }
  SECTION("upper case") { rules.rules[0].words = {"Delete"}; }
  SECTION("two words in one") { rules.rules[0].words = {"drop table"}; }
  SECTION("no name") { rules.rules[0].name = ""; }
  const GuardVerdict verdict = risk_guard(rules)->judge(step("read"));
  CHECK(verdict.kind == GuardVerdict::Kind::deny);
  CHECK_THAT(verdict.reason, ContainsSubstring("allowed") || ContainsSubstring("needs a name"));
}

TEST_CASE("a denied step is a failure that the policy answers", "[guard]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.guard = std::make_shared<FixedGuard>(GuardVerdict::Kind::deny);
  int acts = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const bool again = attempt.recovery() != nullptr;
                            const auto may = attempt.propose_step(step(again ? "read" : "pay"));
                            if (!may) return may.error();
                            return ++acts;
                          },
                          answers({RecoveryAction::replan("another way")}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(kit.log->count(EventKind::step_refused) == 1);
  CHECK_THAT(kit.log->last(EventKind::step_refused).text, ContainsSubstring("it is risky"));
  const auto history = stored_journal(*kit.store, "r").history();
  REQUIRE(history.size() == 1);
  CHECK(history[0].type == FailureType::constraint_ignored);
  CHECK(history[0].reason == "denied_by_guard");
}

TEST_CASE("a step that must be asked about suspends the run until it is approved", "[guard]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.options() : kit.bare();
  options.guard = std::make_shared<FixedGuard>(GuardVerdict::Kind::ask);
  int paid = 0;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> Result<int> {
        const bool replanned = attempt.recovery() != nullptr &&
                               attempt.recovery()->action == RecoveryAction::Kind::replan;
        const auto may = attempt.propose_step(step("pay", {{"amount", replanned ? 1 : 100}}));
        if (!may) return may.error();
        return ++paid;
      },
      answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("x");
  const std::string token = token_of(result);
  CHECK_THAT(result.error().suspension()->message,
             ContainsSubstring("pay") && ContainsSubstring("it is risky"));
  CHECK(paid == 0);
  const auto approval = GENERATE(RecoveryAction::Kind::retry, RecoveryAction::Kind::resume,
                                 RecoveryAction::Kind::replan);
  if (approval == RecoveryAction::Kind::replan) {
    // Another input is not approved.
    const auto again = agent.decide(token, RecoveryAction::replan("less"));
    CHECK_ERRC(Errc::suspended, again);
    CHECK(paid == 0);
    CHECK(agent.decide(token_of(again), RecoveryAction::replan("again")).error().code ==
          Errc::suspended);
  } else {
    RecoveryAction action{.kind = approval};
    CHECK(agent.decide(token, action).value() == 1);
    CHECK(paid == 1);
  }
}

TEST_CASE("an approval holds for one tool with one input", "[guard]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.guard = std::make_shared<FixedGuard>(GuardVerdict::Kind::ask);
  std::vector<int> paid;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> Result<int> {
        for (const int amount : {100, 100, 101}) {
          const auto may = attempt.propose_step(step("pay", {{"amount", amount}}));
          if (!may) return may.error();
          paid.push_back(amount);
        }
        return 1;
      },
      answers({RecoveryAction::retry()}), options};
  const std::string token = token_of(agent.run("x"));
  const auto again = agent.decide(token, RecoveryAction::retry());
  CHECK_ERRC(Errc::suspended, again);  // About the other amount.
  CHECK(paid == std::vector<int>{100, 100});
  CHECK(agent.decide(token_of(again), RecoveryAction::retry()).value() == 1);
  CHECK(paid == std::vector<int>{100, 100, 100, 100, 101});
}

TEST_CASE("a guard that throws is understood as asking", "[guard]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.guard = std::make_shared<FixedGuard>(GuardVerdict::Kind::deny);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const auto may = attempt.propose_step(step("throw"));
                            if (!may) return may.error();
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::suspended, result);
  CHECK_THAT(result.error().suspension()->message, ContainsSubstring("guard broke"));
}

TEST_CASE("strict idempotency holds for every action that runs the callable again, before any wait",
          "[guard]") {
  DurableKit kit;
  AgentOptions options = kit.on_disk();
  options.strict_idempotency = true;
  RecoveryAction waiting = RecoveryAction::retry("later", std::chrono::minutes(1));
  RecoveryAction aside = RecoveryAction::retry("later", std::chrono::hours(1));
  const auto action =
      GENERATE_COPY(RecoveryAction::retry(), waiting, aside, RecoveryAction::replan(),
                    RecoveryAction::rollback(), RecoveryAction::resume());
  const bool by_hook = GENERATE(true, false);
  if (by_hook) options.hooks.on_escalate = [&](const FailureContext&) { return action; };
  const TriageAgent agent{&fails_once, answers({by_hook ? RecoveryAction::escalate() : action}),
                          options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(kit.clock->waits.empty());
  CHECK(kit.log->count(EventKind::attempt_started) == 1);
}

TEST_CASE("on_escalate is asked about every kind of escalation", "[guard]") {
  Kit kit;
  AgentOptions options = kit.options();
  RunOptions run;
  FailurePolicy policy;
  const auto gate_closed = [](const FailureContext&) { return RecoveryAction::escalate(); };
  SECTION("by the policy") { policy.otherwise(gate_closed); }
  SECTION("by a policy without an answer") {}
  SECTION("by a strategy that throws") {
    policy.otherwise(
        [](const FailureContext&) -> RecoveryAction { throw std::runtime_error("x"); });
  }
  SECTION("by the limit of attempts") {
    policy.otherwise(always(RecoveryAction::retry()));
    run.limits = Limits{.max_attempts = 1};
  }
  SECTION("by the deadline") {
    policy.otherwise(always(RecoveryAction::retry()));
    run.deadline = kit.clock->now() - std::chrono::seconds(1);
  }
  SECTION("by a wait beyond the deadline") {
    policy.otherwise(always(RecoveryAction::retry("", std::chrono::hours(2))));
    run.deadline = kit.clock->now() + std::chrono::hours(1);
  }
  SECTION("by strict idempotency") {
    policy.otherwise(always(RecoveryAction::retry()));
    options.strict_idempotency = true;
  }
  SECTION("by a rollback without a target") {
    policy.otherwise(always(RecoveryAction::rollback({.kind = RollbackTarget::Kind::label})));
  }
  SECTION("by a fallback that does not fit") {
    policy.otherwise(always(RecoveryAction::fallback("text")));
  }
  int asked = 0;
  options.hooks.on_escalate = [&](const FailureContext&) -> std::optional<RecoveryAction> {
    ++asked;
    return RecoveryAction::suspend("a person, please");
  };
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> int {
                            attempt.record_step({.action = "one"});
                            throw std::runtime_error("access_denied");
                          },
                          policy, options};
  CHECK_ERRC(Errc::suspended, agent.run("x", run));
  CHECK(asked == 1);
}

// --- What a decision is about.

namespace {

struct AskingGuard final : StepGuard {
  GuardVerdict judge(const Step&) const override {
    return {.kind = GuardVerdict::Kind::ask, .risk = 0.75, .reason = "it deletes"};
  }
};

// Proposes to delete in every attempt; also fails in the first one.
int proposes(const std::string&, Attempt& attempt) {
  const auto allowed = attempt.propose_step(
      {.action = "delete it", .tool_called = "delete_user", .tool_input = {{"user", "ana"}}});
  if (attempt.number() == 1) throw std::runtime_error("access_denied");
  return allowed.has_value() ? 1
                             : throw std::runtime_error("not allowed: " + allowed.error().detail);
}

}  // namespace

TEST_CASE("a decision about something else approves no step that a guard asked about", "[guard]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.options() : kit.bare();
  options.guard = std::make_shared<AskingGuard>();
  const TriageAgent agent{&proposes, answers({asking(), RecoveryAction::escalate()}), options};
  const std::string token = token_of(agent.run("x"));
  const auto result = agent.decide(token, RecoveryAction::retry());
  CHECK_FALSE(result.has_value());
}

TEST_CASE("whoever approves a step sees the step, the agent and the task", "[guard]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const int hides = GENERATE(0, 1, 2);
  AgentOptions options = stored ? kit.options() : kit.bare();
  options.name = "cleaner";
  options.guard = std::make_shared<AskingGuard>();
  if (hides == 1) {
    options.redact = [](Suspension& shown) {
      shown.task["password"] = "***";
      shown.proposed->input["user"] = "***";
      shown.message = "ignored";
    };
  } else if (hides == 2) {
    options.redact = [](Suspension&) { throw std::runtime_error("no"); };
  }
  const TriageAgent agent{
      [](const Json&, Attempt& attempt) -> Result<int> {
        const auto allowed = attempt.propose_step(
            {.action = "delete it", .tool_called = "delete_user", .tool_input = {{"user", "ana"}}});
        if (!allowed) return allowed.error();
        return 1;
      },
      answers({RecoveryAction::escalate()}), options};
  const Json task{{"clean", "users"}, {"password", "secret"}};
  const auto result = agent.run(task, {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  const Suspension& asked = *result.error().suspension();
  CHECK(asked.agent == "cleaner");
  CHECK_THAT(asked.message, ContainsSubstring("delete_user"));
  REQUIRE(asked.proposed);
  CHECK(asked.proposed->tool == "delete_user");
  CHECK(asked.proposed->action == "delete it");
  CHECK(asked.proposed->risk == 0.75);
  CHECK(asked.proposed->reason == "it deletes");
  const Json shown_task = hides == 0   ? task
                          : hides == 1 ? Json{{"clean", "users"}, {"password", "***"}}
                                       : Json();
  const Json shown_input = hides == 2 ? Json() : Json{{"user", hides == 0 ? "ana" : "***"}};
  CHECK(asked.task == shown_task);
  CHECK(asked.proposed->input == shown_input);
  if (stored) {
    const Json body = stored_journal(*kit.store, "r").suspended();
    CHECK(body["step"]["input"] == shown_input);
    CHECK(body["step"]["risk"] == 0.75);
    CHECK(body.contains("task") == (hides != 0));
    if (hides != 0) CHECK(body["task"] == shown_task);
  }
  CHECK(agent.decide(asked.token, RecoveryAction::retry()).value() == 1);
}
