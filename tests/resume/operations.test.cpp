// SPDX-License-Identifier: MIT
#include "triage/operations.hpp"

#include "resume/durable.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("an operator ends a run that waits; its token is useless, and resume_run goes on",
          "[operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const auto waiting = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, waiting);
  REQUIRE_OK(cancel_run(*kit.store, "r", {.who = "ann"}));
  const RunInfo info = kit.store->run("r").value();
  CHECK(info.status == RunStatus::cancelled);
  CHECK_FALSE(info.owned);
  CHECK_ERRC(Errc::not_found, agent.decide(token_of(waiting), RecoveryAction::retry()));
  const auto again = cancel_run(*kit.store, "r");
  CHECK_ERRC(Errc::conflict, again);
  CHECK_THAT(again.error().detail, ContainsSubstring("cancelled"));
  CHECK(agent.resume_run("r").value() == 12);
  CHECK_ERRC(Errc::conflict, cancel_run(*kit.store, "r"));
  CHECK_ERRC(Errc::not_found, cancel_run(*kit.store, "nobody"));
  CHECK_ERRC(Errc::invalid_argument, cancel_run(*kit.store, "r", {.who = std::string(257, 'x')}));
}

TEST_CASE("a run that somebody is at work on is left alone", "[operations]") {
  Kit kit;
  const TriageAgent agent{[&](int, Attempt&) {
                            CHECK_ERRC(Errc::busy, cancel_run(*kit.store, "r"));
                            CHECK_ERRC(Errc::busy, reissue_token(*kit.store, "r"));
                            CHECK_ERRC(Errc::busy, settle_effect(*kit.store, "r", "e", {}));
                            return 5;
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK(agent.run(1, {.run_id = "r"}).value() == 5);
}

TEST_CASE("what an operator found out about an effect in doubt holds", "[operations]") {
  Kit kit;
  int calls = 0;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            return attempt.effect("charge", Json{{"cents", 5}}, [&]() -> int {
                              if (++calls == 1) throw std::runtime_error("connection lost");
                              return calls;
                            });
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  CHECK_ERRC(Errc::in_doubt, agent.run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::not_found, settle_effect(*kit.store, "r", "other", {}));
  CHECK_ERRC(Errc::invalid_argument, settle_effect(*kit.store, "r", "charge", {.result = 7}));
  const bool happened = GENERATE(true, false);
  REQUIRE_OK(settle_effect(*kit.store, "r", "charge",
                           {.happened = happened, .result = happened ? Json(40) : Json()},
                           {.who = "ann"}));
  CHECK_ERRC(Errc::conflict, settle_effect(*kit.store, "r", "charge", {}));
  CHECK(agent.resume_run("r").value() == (happened ? 40 : 2));
  CHECK(calls == (happened ? 1 : 2));
}

TEST_CASE("an undoing in doubt is settled, too", "[operations]") {
  Kit kit;
  int undone = 0;
  AgentOptions options = kit.options();
  options.compensation.on_abort = true;
  options.compensations["refund"] = [&](const EffectCall&) -> void {
    ++undone;
    throw std::runtime_error("connection lost");
  };
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            attempt.effect("charge", [] { return 1; }, {.compensate = "refund"});
                            return attempt.fail({.text = "no"});
                          },
                          answers({RecoveryAction::abort("enough")}), options};
  CHECK_ERRC(Errc::aborted, agent.run(1, {.run_id = "r"}));
  CHECK(undone == 1);
  const auto status = [&] {
    return Journal::fold(kit.store->read("r", {}).value()).value().effect("charge").status;
  };
  CHECK(status() == EffectState::Status::compensating);
  const bool happened = GENERATE(true, false);
  REQUIRE_OK(settle_effect(*kit.store, "r", "charge", {.happened = happened}));
  CHECK(status() == (happened ? EffectState::Status::compensated : EffectState::Status::completed));
}

TEST_CASE("a lost token is made anew, once more for each time", "[operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const auto waiting = agent.run("x", {.run_id = "r"});
  const std::string lost = token_of(waiting);
  const auto token = reissue_token(*kit.store, "r", {.who = "ann"});
  REQUIRE_OK(token);
  CHECK(token.value().size() == lost.size());
  const auto newer = reissue_token(*kit.store, "r");
  REQUIRE_OK(newer);
  for (const std::string& useless : {lost, token.value()}) {
    CHECK_ERRC(Errc::not_found, agent.decide(useless, RecoveryAction::retry()));
  }
  CHECK(agent.decide(newer.value(), RecoveryAction::retry()).value() == 2);
  CHECK_ERRC(Errc::conflict, reissue_token(*kit.store, "r"));
}

TEST_CASE("what limits a token limits the one that takes its place", "[operations]") {
  Kit kit;
  RecoveryAction action = asking({"abort"});
  action.expires_after = 1h;
  const TriageAgent agent{&fails_once, answers({action}), kit.options()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  const auto token = reissue_token(*kit.store, "r", {.clock = kit.clock});
  REQUIRE_OK(token);
  CHECK_ERRC(Errc::invalid_argument, agent.decide(token.value(), RecoveryAction::retry()));
  kit.clock->advance(2h);
  CHECK_ERRC(Errc::conflict, agent.decide(token.value(), RecoveryAction::abort("no")));
}

TEST_CASE("a signal is sent without the agent, and a run that waits for it has no token to lose",
          "[operations]") {
  DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("go", kit.clock->wall_now() + 48h)->get<int>();
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  CHECK_ERRC(Errc::conflict, reissue_token(*kit.store, "r"));
  REQUIRE_OK(send_signal(*kit.store, "r", "go", 9));
  REQUIRE_OK(send_signal(*kit.store, "r", "go", 9));
  CHECK_ERRC(Errc::conflict, send_signal(*kit.store, "r", "go", 10));
  const auto due = agent.resume_due();
  REQUIRE_OK(due);
  REQUIRE(due.value().size() == 1);
  CHECK(due.value()[0].result.value() == 9);
}

TEST_CASE("settling an effect leaves a waiting run its token and its time", "[operations]") {
  DurableKit kit;
  int calls = 0;
  RecoveryAction waits = asking();
  waits.until = kit.clock->wall_now() + 2h;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            return attempt.effect("charge", [&]() -> int {
                              if (++calls == 1) throw std::runtime_error("connection lost");
                              return calls;
                            });
                          },
                          answers({waits}), kit.on_disk()};
  const auto waiting = agent.run(1, {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, waiting);
  REQUIRE_OK(settle_effect(*kit.store, "r", "charge", {.happened = true, .result = 40}));
  SECTION("so it is decided") {
    CHECK(agent.decide(token_of(waiting), RecoveryAction::resume()).value() == 40);
  }
  SECTION("so it comes due") {
    CHECK(agent.due().value().empty());
    kit.clock->advance(3h);
    const auto due = agent.resume_due().value();
    REQUIRE(due.size() == 1);
    CHECK(due[0].result.value() == 40);
  }
  SECTION("so it waits until then") {
    const auto asked = agent.run_or_resume("r", 1);
    CHECK_ERRC(Errc::suspended, asked);
    CHECK(asked.error().suspension()->until == waits.until);
  }
  CHECK(calls == 1);
}

TEST_CASE("a result that was left out when an effect was settled can be added", "[operations]") {
  Kit kit;
  const TriageAgent agent{[](int, Attempt& attempt) {
                            return attempt.effect("pay", []() -> std::string {
                              throw std::runtime_error("connection lost");
                            });
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::in_doubt, agent.resume_run("r"));
  REQUIRE_OK(settle_effect(*kit.store, "r", "pay", {.happened = true}));
  CHECK_ERRC(Errc::conflict, agent.resume_run("r"));  // Nothing is no text.
  CHECK_ERRC(Errc::conflict, settle_effect(*kit.store, "r", "pay", {}));
  REQUIRE_OK(settle_effect(*kit.store, "r", "pay", {.happened = true, .result = "receipt"}));
  CHECK(agent.resume_run("r").value() == "receipt");
  CHECK_ERRC(Errc::conflict,
             settle_effect(*kit.store, "r", "pay", {.happened = true, .result = "another"}));
}

TEST_CASE("an effect that happened with nothing as its result is not settled", "[operations]") {
  Kit kit;
  const TriageAgent agent{[](int, Attempt& attempt) {
                            attempt.effect("mail", [] {});
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  REQUIRE_OK(agent.run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::conflict,
             settle_effect(*kit.store, "r", "mail", {.happened = true, .result = 7}));
}

TEST_CASE("a run around one that waits says that its nested run holds the question",
          "[operations]") {
  Kit kit;
  AgentOptions nested = kit.options();
  nested.name = "nested";
  nested.random = seeded_random(2);
  const TriageAgent inner{&fails_once, answers({asking()}), nested};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            return inner.run(task, {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  const auto waiting = outer.run("x", {.run_id = "r"});
  const RunId child = waiting.error().suspension()->inner->run_id;
  const auto refused = reissue_token(*kit.store, "r");
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring(child));
}
