// SPDX-License-Identifier: MIT
// Decisions that are only recorded: the program carries them out when it next looks.
#include "resume/durable.hpp"
#include "triage/operations.hpp"
#include "triage/policies/risk_guard.hpp"

#include <array>
#include <thread>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("a recorded decision is carried out once, by whatever the program does next",
          "[operations]") {
  DurableKit kit;
  std::stop_source stop;
  kit.clock->on_sleep = [&](TimePoint) { stop.request_stop(); };  // Nothing is left to do.
  int calls = 0;
  const TriageAgent agent{[&](const std::string& task, Attempt& attempt) {
                            ++calls;
                            return fails_once(task, attempt);
                          },
                          answers({asking()}), kit.on_disk()};
  const auto waiting = agent.run("x", {.run_id = "r"});
  CHECK(record_decision(*kit.store, token_of(waiting), RecoveryAction::resume(), {.who = "ann"})
            .value() == "r");
  CHECK(calls == 1);
  CHECK(kit.store->run("r").value().status == RunStatus::suspended);
  for (const auto& used :
       {record_decision(*kit.store, token_of(waiting), RecoveryAction::retry()).error(),
        agent.decide(token_of(waiting), RecoveryAction::retry()).error()}) {
    CHECK(used.code == Errc::not_found);
  }
  CHECK_ERRC(Errc::conflict, reissue_token(*kit.store, "r"));
  const int way = GENERATE(0, 1, 2, 3);
  if (way == 0) {
    const auto resumed = agent.resume_due().value();
    REQUIRE(resumed.size() == 1);
    CHECK(resumed[0].result.value() == 12);
  } else if (way == 1) {
    CHECK(agent.run_or_resume("r", "x").value() == 12);
  } else if (way == 2) {
    CHECK(agent.resume_run("r").value() == 12);
  } else {
    CHECK(agent.work(1, stop.get_token()).value().finished == 1);
  }
  CHECK(agent.run_or_resume("r", "x").value() == 12);
  CHECK(agent.resume_due().value().empty());
  CHECK(calls == 2);
  const auto history = stored_journal(*kit.store, "r").history();
  REQUIRE(history.size() == 1);
  CHECK(history[0].decided_by == "ann");
  CHECK(history[0].action == RecoveryAction::Kind::resume);
}

TEST_CASE("a recorded abort ends the run for good, at once if there is nothing to undo",
          "[operations]") {
  Kit kit;
  int undone = 0;
  const bool owes = GENERATE(true, false);
  AgentOptions options = kit.options();
  options.compensations["undo"] = Compensation([&] { ++undone; });
  const TriageAgent agent{[&](const std::string& task, Attempt& attempt) {
                            if (owes) attempt.effect("pay", [] {}, {.compensate = "undo"});
                            return fails_once(task, attempt);
                          },
                          answers({asking()}), options};
  const auto waiting = agent.run("x", {.run_id = "r"});
  REQUIRE_OK(record_decision(*kit.store, token_of(waiting), RecoveryAction::abort("too dear"),
                             {.who = "ann"}));
  CHECK(kit.store->run("r").value().status == (owes ? RunStatus::suspended : RunStatus::aborted));
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == (owes ? 1 : 0));
  if (owes) CHECK_ERRC(Errc::aborted, resumed[0].result);
  CHECK(undone == (owes ? 1 : 0));
  CHECK(kit.store->run("r").value().status == RunStatus::aborted);
  const auto ended = agent.run_or_resume("r", "x");
  CHECK_ERRC(Errc::aborted, ended);
  CHECK_THAT(ended.error().detail,
             ContainsSubstring("too dear") && ContainsSubstring("decided by ann"));
  CHECK_ERRC(Errc::aborted, agent.resume_run("r"));
  CHECK(agent.resume_due().value().empty());
  CHECK(agent.resume_run("r", {.revive = true}).has_value());
}

TEST_CASE("an abort without the program is recorded as the program would have recorded it",
          "[operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking(), asking()}), kit.options()};
  const auto by_program = agent.run("x", {.run_id = "a"});
  const auto from_outside = agent.run("x", {.run_id = "b"});
  CHECK_ERRC(Errc::aborted,
             agent.decide(token_of(by_program), RecoveryAction::abort("too dear"), {.who = "ann"}));
  REQUIRE_OK(record_decision(*kit.store, token_of(from_outside), RecoveryAction::abort("too dear"),
                             {.who = "ann"}));
  const Journal a = stored_journal(*kit.store, "a");
  const Journal b = stored_journal(*kit.store, "b");
  CHECK(a.stopped() == b.stopped());
  CHECK(a.history() == b.history());
  CHECK(a.last() == b.last());
}

TEST_CASE("a decision that cannot be taken leaves the token as it was", "[operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking({"retry", "rollback"})}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  CHECK_ERRC(Errc::invalid_argument, record_decision(*kit.store, token, RecoveryAction::abort()));
  CHECK_ERRC(Errc::invalid_argument,
             record_decision(*kit.store, token,
                             RecoveryAction::rollback(
                                 {.kind = RollbackTarget::Kind::label, .name = "nowhere"})));
  CHECK_ERRC(Errc::invalid_argument, record_decision(*kit.store, token, RecoveryAction::retry(),
                                                     {.who = std::string(257, 'x')}));
  CHECK_ERRC(Errc::not_found, record_decision(*kit.store, "no token", RecoveryAction::retry()));
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("a token that has expired records nothing", "[operations]") {
  Kit kit;
  RecoveryAction action = asking();
  action.expires_after = 1h;
  const TriageAgent agent{&fails_once, answers({action}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  kit.clock->advance(2h);
  CHECK_ERRC(Errc::conflict,
             record_decision(*kit.store, token, RecoveryAction::retry(), {.clock = kit.clock}));
  CHECK(agent.resume_due().value().empty());
}

TEST_CASE("a decision about a run that went on without it is refused", "[operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  CHECK(agent.resume_run("r").value() == 12);
  const auto late = record_decision(*kit.store, token, RecoveryAction::retry());
  REQUIRE_FALSE(late);
  CHECK((late.error().code == Errc::not_found || late.error().code == Errc::conflict));
}

TEST_CASE("of two decisions that are recorded at once one wins", "[operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  std::array<std::optional<Result<RunId>>, 4> answers;
  {
    std::vector<std::jthread> approvers;
    for (auto& answer : answers) {
      approvers.emplace_back([&] {
        answer = record_decision(*kit.store, token, RecoveryAction::resume("", "go on"));
      });
    }
  }
  int won = 0;
  for (const auto& answer : answers) {
    if (*answer) {
      ++won;
    } else {
      CHECK((answer->error().code == Errc::not_found || answer->error().code == Errc::busy));
    }
  }
  CHECK(won == 1);
  CHECK(agent.run_or_resume("r", "x").value() == 12);
}

TEST_CASE("a recorded decision approves the step that a guard asked about", "[operations]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.guard = risk_guard({.rules = {{.name = "pays", .words = {"pay"}, .risk = 0.7}}});
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            if (auto allowed = attempt.propose_step({.tool_called = "pay"});
                                !allowed) {
                              return allowed.error();
                            }
                            return 7;
                          },
                          answers({RecoveryAction::escalate()}), options};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  REQUIRE_OK(record_decision(*kit.store, token, RecoveryAction::retry()));
  CHECK(agent.run_or_resume("r", "x").value() == 7);
}

TEST_CASE("what strict_idempotency forbids is escalated when the program carries it out",
          "[operations]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.strict_idempotency = true;
  const TriageAgent agent{&fails_once, answers({asking()}), options};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  REQUIRE_OK(record_decision(*kit.store, token, RecoveryAction::retry()));
  const auto resumed = agent.resume_due().value();
  REQUIRE(resumed.size() == 1);
  CHECK_ERRC(Errc::escalated, resumed[0].result);
}

TEST_CASE("a recorded rollback may name a checkpoint of the nested run", "[operations]") {
  Kit kit;
  AgentOptions nested = kit.options();
  nested.name = "nested";
  const TriageAgent inner{[](const std::string& task, Attempt& attempt) {
                            if (attempt.number() > 1) return task + " done";
                            attempt.record_step({.action = "write"});
                            static_cast<void>(attempt.checkpoint("draft"));
                            throw std::runtime_error("access_denied");
                          },
                          answers({asking()}), nested};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  const std::string token = token_of(outer.run("x", {.run_id = "r"}));
  REQUIRE_OK(record_decision(
      *kit.store, token,
      RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "draft"})));
  CHECK(outer.run_or_resume("r", "x").value() == "x done");
}

TEST_CASE("a decision about a nested run reaches it through the run around it", "[operations]") {
  Kit kit;
  AgentOptions nested = kit.options();
  nested.name = "nested";
  const TriageAgent inner{&fails_once, answers({asking()}), nested};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  const auto waiting = outer.run("x", {.run_id = "r"});
  const bool by_inner = GENERATE(true, false);
  const auto suspension = waiting.error().suspension();
  REQUIRE(suspension);
  REQUIRE_OK(record_decision(*kit.store, by_inner ? suspension->inner->token : suspension->token,
                             RecoveryAction::resume()));
  if (by_inner) {
    CHECK(outer.resume_run("r").value() == 12);
  } else {
    CHECK(outer.run_or_resume("r", "x").value() == 12);
  }
}
