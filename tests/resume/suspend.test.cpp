// SPDX-License-Identifier: MIT
// A run that waits for a decision from outside.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

namespace {

RecoveryAction asking(std::vector<std::string> allowed = {}) {
  RecoveryAction action = RecoveryAction::suspend("may I?");
  action.allowed_actions = std::move(allowed);
  return action;
}

int work(const std::string&, Attempt& attempt) {
  if (attempt.number() == 1) {
    attempt.record_step({.action = "one"});
    attempt.update_state({{"k", 1}});
    throw std::runtime_error("access_denied");
  }
  return static_cast<int>(attempt.trajectory().size()) * 10 + attempt.number();
}

}  // namespace

TEST_CASE("a suspended run is decided upon once", "[suspend]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const TriageAgent agent{&work, answers({asking()}), stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::suspended, result);
  REQUIRE(result.error().suspension());
  const std::string token = result.error().suspension()->token;
  CHECK(token.size() == 64);
  CHECK(result.error().suspension()->run_id == "r");
  CHECK(result.error().suspension()->message == "may I?");
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->type() == FailureType::access_denied);
  if (stored) CHECK(kit.store->run("r").value().status == RunStatus::suspended);

  SECTION("retry starts from nothing") {
    CHECK(agent.decide(token, RecoveryAction::retry("go")).value() == 2);
  }
  SECTION("resume goes on from the newest checkpoint") {
    CHECK(agent.decide(token, RecoveryAction::resume()).value() == 12);
  }
  SECTION("rollback goes to a checkpoint") {
    CHECK(agent.decide(token, RecoveryAction::rollback()).value() == 12);
  }
  SECTION("abort") {
    const auto aborted = agent.decide(token, RecoveryAction::abort("no"));
    CHECK_ERRC(Errc::aborted, aborted);
    CHECK(aborted.error().failure()->text == "access_denied");
  }
  SECTION("fallback") {
    const auto answer = agent.decide(token, RecoveryAction::fallback(7));
    CHECK(answer.value() == 7);
    CHECK(is_degraded(answer));
  }
  CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::retry()));
}

TEST_CASE("the token is in no event, record or text", "[suspend]") {
  Kit kit;
  const TriageAgent agent{&work, answers({asking()}), kit.options()};
  const auto result = agent.run("x", {.run_id = "r"});
  const std::string token = result.error().suspension()->token;
  CHECK(result.error().detail.find(token) == std::string::npos);
  const auto events = kit.log->entries();
  for (const auto& event : events) {
    CHECK((event.text + event.error + event.action).find(token) == std::string::npos);
    CHECK_FALSE(event.has_token);
  }
  const JournalReading reading = kit.store->read("r", {}).value();
  for (const Record& record : reading.records) {
    std::string bytes;
    record.encode_body(bytes);
    CHECK(bytes.find(token) == std::string::npos);
  }
  const auto other = agent.run("x", {.run_id = "r2"});
  CHECK(other.error().suspension()->token != token);
}

TEST_CASE("only allowed actions are taken, and a refused one costs no token", "[suspend]") {
  Kit kit;
  const TriageAgent agent{&work, answers({asking({"retry", "abort"})}), kit.options()};
  const auto result = agent.run("x", {.run_id = "r"});
  const std::string token = result.error().suspension()->token;
  const auto refused = agent.decide(token, RecoveryAction::rollback());
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail,
             ContainsSubstring("rollback") && ContainsSubstring("retry, abort"));
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("an unknown token is not_found", "[suspend]") {
  const TriageAgent agent{&work, answers({asking()}), Kit().options()};
  CHECK_ERRC(Errc::not_found, agent.decide("", RecoveryAction::retry()));
  CHECK_ERRC(Errc::not_found, agent.decide(std::string(64, '0'), RecoveryAction::retry()));
}

TEST_CASE("a token survives a store that is busy or failing", "[suspend]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  const TriageAgent agent{&work, answers({asking()}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  const std::string token = result.error().suspension()->token;
  const Lease other = kit.store->acquire("r").value();
  CHECK_ERRC(Errc::busy, agent.decide(token, RecoveryAction::retry()));
  REQUIRE_OK(kit.store->release(other));
  store->break_down(FlakyStore::Fault::throws);
  CHECK_ERRC(Errc::io, agent.decide(token, RecoveryAction::retry()));
  store->repair();
  CHECK(agent.decide(token, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("a run that was resumed without its decision cannot be decided upon", "[suspend]") {
  Kit kit;
  const TriageAgent agent{&work, answers({asking()}), kit.options()};
  const auto result = agent.run("x", {.run_id = "r"});
  const std::string token = result.error().suspension()->token;
  CHECK(agent.resume_run("r").value() == 12);
  CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::retry()));
  CHECK_FALSE(stored_journal(*kit.store, "r").broken_at());
}

TEST_CASE("a decision may be to wait again, and a suspended failure counts once", "[suspend]") {
  Kit kit;
  std::vector<std::size_t> history;
  FailurePolicy policy;
  policy.otherwise([&](const FailureContext& context) {
    history.push_back(context.history.size());
    return context.history.size() < 2 ? asking() : RecoveryAction::escalate();
  });
  const bool stored = GENERATE(true, false);
  const TriageAgent agent{
      [](const std::string&) -> int { throw std::runtime_error("access_denied"); }, policy,
      stored ? kit.options() : kit.bare()};
  auto result = agent.run("x");
  result = agent.decide(result.error().suspension()->token, asking());
  CHECK_ERRC(Errc::suspended, result);
  result = agent.decide(result.error().suspension()->token, RecoveryAction::retry());
  CHECK_ERRC(Errc::suspended, result);
  result = agent.decide(result.error().suspension()->token, RecoveryAction::retry());
  CHECK_ERRC(Errc::escalated, result);
  CHECK(history == std::vector<std::size_t>{0, 1, 2});
  CHECK(result.error().failure()->history ==
        std::vector<HistoryEntry>(
            2, {FailureType::access_denied, RecoveryAction::Kind::retry, "named"}));
}
