// SPDX-License-Identifier: MIT
// No run continues from a state that claims what has been undone.
#include "support/crashed.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Charges, records that in its state, labels it, and fails until told otherwise.
struct UndoingShop {
  Kit kit{};
  std::vector<std::string> world{};
  std::vector<bool> claimed{};  // Whether the state claimed a charge when an attempt began.
  int failures = 2;

  TriageAgent<std::function<int(const std::string&, Attempt&)>> agent(
      std::vector<RecoveryAction> actions, bool stored = true) {
    AgentOptions options = stored ? kit.options() : kit.bare();
    options.compensations["refund"] = [this] { world.emplace_back("refund"); };
    return {[this](const std::string&, Attempt& attempt) {
              claimed.push_back(attempt.state().contains("charged"));
              attempt.record_step({.action = "look"});
              if (!claimed.back()) {
                REQUIRE(attempt.checkpoint("before"));
                attempt.effect("charge", [this] { world.emplace_back("charge"); },
                               {.compensate = "refund"});
                attempt.record_step({.action = "charged"});
                attempt.update_state({{"charged", true}});
                REQUIRE(attempt.checkpoint("behind"));
              }
              if (failures-- > 0) throw std::runtime_error("timeout");
              return static_cast<int>(world.size());
            },
            answers(std::move(actions)), options};
  }
  // Whether the last attempt's state was true.
  [[nodiscard]] bool truthful() const {
    return !claimed.back() || (!world.empty() && world.back() == "charge");
  }
};

RecoveryAction to_label(const std::string& name, bool or_start = false) {
  return RecoveryAction::rollback(
      RollbackTarget{.kind = RollbackTarget::Kind::label, .name = name, .or_start = or_start});
}

}  // namespace

TEST_CASE("what was undone by a rollback is done again, and only then claimed", "[undone]") {
  UndoingShop shop;
  shop.failures = 1;
  const auto agent = shop.agent({to_label("before")}, GENERATE(true, false));
  CHECK(agent.run("x").has_value());
  CHECK(shop.world == std::vector<std::string>{"charge", "refund", "charge"});
  CHECK(shop.truthful());
}

TEST_CASE("a run that rolled back and charged again can go back to behind the new charge",
          "[undone]") {
  UndoingShop shop;
  const auto agent = shop.agent({to_label("before"), to_label("behind")}, GENERATE(true, false));
  CHECK(agent.run("x").has_value());
  CHECK(shop.world == std::vector<std::string>{"charge", "refund", "charge"});
  CHECK(shop.claimed == std::vector<bool>{false, false, true});
}

TEST_CASE("a label behind an undone effect is no target any more", "[undone]") {
  Kit kit;
  std::vector<std::string> world;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.options() : kit.bare();
  options.compensations["refund"] = [&] { world.emplace_back("refund"); };
  bool claims = false;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            claims = attempt.state().contains("charged");
                            attempt.record_step({.action = "look"});
                            if (attempt.number() == 1) {
                              REQUIRE(attempt.checkpoint("before"));
                              attempt.effect("charge", [&] { world.emplace_back("charge"); },
                                             {.compensate = "refund"});
                              attempt.record_step({.action = "charge"});
                              attempt.update_state({{"charged", true}});
                              REQUIRE(attempt.checkpoint("behind"));
                            }
                            if (attempt.number() < 3) throw std::runtime_error("timeout");
                            return 1;
                          },
                          answers({to_label("before"), to_label("behind", true)}), options};
  CHECK(agent.run("x").has_value());  // The third attempt begins at the start instead.
  CHECK_FALSE(claims);
  CHECK(world == std::vector<std::string>{"charge", "refund"});
}

TEST_CASE("a rollback to a label behind an undone effect escalates and says why", "[undone]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.compensations["refund"] = [] {};
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            if (attempt.number() == 1) {
                              attempt.record_step({.action = "look"});
                              REQUIRE(attempt.checkpoint("before"));
                              attempt.effect("charge", [] {}, {.compensate = "refund"});
                              REQUIRE(attempt.checkpoint("behind"));
                            }
                            throw std::runtime_error("timeout");
                          },
                          answers({to_label("before"), to_label("behind")}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("undone"));
}

TEST_CASE("resume_run with from behind an undone effect is refused, before it is not", "[undone]") {
  UndoingShop shop;
  shop.failures = 1;
  const auto agent = shop.agent({RecoveryAction::abort()});
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  CHECK(shop.world == std::vector<std::string>{"charge", "refund"});

  const auto refused = agent.resume_run("r", {.from = "behind", .revive = true});
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("undone"));
  SECTION("from a label in front of it") {
    const auto position = stored_journal(*shop.kit.store, "r").find_label("before");
    REQUIRE(position);
    CHECK(agent.resume_run("r", {.from = "before", .revive = true}).has_value());
    CHECK(stored_journal(*shop.kit.store, "r").positions().size() > *position);
  }
  SECTION("by itself it goes on in front of it") {
    CHECK(agent.resume_run("r", {.revive = true}).has_value());
  }
  CHECK(shop.world == std::vector<std::string>{"charge", "refund", "charge"});
  CHECK(shop.truthful());
}

TEST_CASE("a run goes on from before the effects whose undoing was cut off, and undoes them first",
          "[undone]") {
  UndoingShop shop;
  shop.failures = 1;
  CHECK_ERRC(Errc::escalated, shop.agent({RecoveryAction::escalate()}).run("x", {.run_id = "r"}));
  shop.kit.store = crashed_after(*shop.kit.store, "r",
                                 sequence_of(*shop.kit.store, "r", RecordKind::action_taken));
  shop.world = {"charge"};
  const auto agent = shop.agent({});
  CHECK_ERRC(Errc::conflict, agent.resume_run("r", {.from = "behind"}));
  CHECK(shop.world == std::vector<std::string>{"charge"});
  CHECK(agent.resume_run("r", {.from = "before"}).has_value());
  CHECK(shop.world == std::vector<std::string>{"charge", "refund", "charge"});
  CHECK_FALSE(shop.claimed.back());
}

TEST_CASE("a default rollback that the next process finishes is not repeated to the same place",
          "[undone]") {
  Kit kit;
  std::vector<int> pages;  // In the state at the start of each attempt.
  const auto agent = [&] {
    AgentOptions options = kit.options();
    options.compensations["refund"] = [] {};
    return TriageAgent{[&](const std::string&, Attempt& attempt) -> int {
                         const int page = attempt.state().value("page", 0);
                         pages.push_back(page);
                         for (int next = page + 1; next <= 2; ++next) {
                           attempt.record_step({.action = "turn"});
                           attempt.update_state({{"page", next}});
                         }
                         attempt.effect("charge", [] {}, {.compensate = "refund"});
                         throw std::runtime_error("timeout");
                       },
                       answers({RecoveryAction::rollback(), RecoveryAction::rollback(),
                                RecoveryAction::escalate()}),
                       options};
  };
  CHECK_ERRC(Errc::escalated, agent().run("x", {.run_id = "r"}));
  const std::vector<int> whole = pages;
  REQUIRE(whole.size() == 3);
  REQUIRE(whole[2] < whole[1]);
  kit.store = crashed_after(*kit.store, "r",
                            sequence_of(*kit.store, "r", RecordKind::compensation_completed));
  pages = {0};
  CHECK_ERRC(Errc::escalated, agent().resume_run("r"));
  CHECK(pages[1] == whole[1]);
  CHECK(pages[2] == whole[2]);
}

TEST_CASE("a fork behind an undone effect is refused", "[undone][fork]") {
  UndoingShop shop;
  shop.failures = 1;
  const auto agent = shop.agent({RecoveryAction::abort()});
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  const Journal journal = stored_journal(*shop.kit.store, "r");
  const auto at = [&](const char* label) {
    return to_string(journal.info(*journal.find_label(label)).id);
  };
  CHECK_ERRC(Errc::conflict, agent.fork(at("behind")));
  CHECK(agent.fork(at("before")).has_value());
  CHECK(shop.truthful());
}

TEST_CASE("an effect that was done again does not make the old state true", "[undone]") {
  UndoingShop shop;
  shop.failures = 3;
  const auto agent = shop.agent({to_label("before"), RecoveryAction::abort()});
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  const Journal journal = stored_journal(*shop.kit.store, "r");
  std::size_t refused = 0;
  for (std::size_t i = 0; i < journal.positions().size(); ++i) {
    const bool claims = journal.restore(i).state.contains("charged");
    if (!claims) continue;
    CHECK(journal.claims_undone(i));
    ++refused;
  }
  CHECK(refused >= 2);
}

TEST_CASE("a charge whose result a retry was given is not claimed when it was refunded",
          "[undone]") {
  UndoingShop shop;
  const auto agent = shop.agent({RecoveryAction::retry(""), RecoveryAction::escalate()});
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK(shop.world == std::vector<std::string>{"charge", "refund"});
  CHECK_ERRC(Errc::conflict, agent.resume_run("r", {.from = "behind"}));
  CHECK(agent.resume_run("r").has_value());
  CHECK(shop.world == std::vector<std::string>{"charge", "refund", "charge"});
  CHECK(shop.truthful());
}

TEST_CASE("what a branch carries out again is its own, and is undone", "[undone][fork]") {
  Kit kit;
  AgentOptions options = kit.options();
  int in_place = 0;
  options.compensations["refund"] = [&] { --in_place; };
  const std::string lost = "origin";  // The run whose charge gets no answer.
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> int {
        attempt.record_step({.action = "look"});
        attempt.effect("charge",
                       [&] {
                         ++in_place;
                         if (attempt.run_id() == lost) throw std::runtime_error("timeout");
                       },
                       {.semantics = EffectSemantics::at_least_once, .compensate = "refund"});
        if (attempt.number() == 1) throw std::runtime_error("timeout");
        return in_place;
      },
      answers({RecoveryAction::suspend("ask"),
               RecoveryAction::rollback({.kind = RollbackTarget::Kind::latest})}),
      options};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "origin"}));
  CHECK(in_place == 1);  // Perhaps. It belongs to the origin, and stays.
  const CheckpointId parent = kit.store->checkpoints("origin").value().front().id;
  CHECK(agent.fork(to_string(parent), {.run = {.run_id = "branch"}}).value() == 2);
  CHECK(stored_journal(*kit.store, "branch").effect("charge").generation == 2);
}

TEST_CASE("a compensation that was a function of a run since suspended is told as such",
          "[undone]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> int {
                            attempt.effect("charge", [] { return 1; }, {.compensate = [] {}});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::suspend("may I?")}), kit.options()};
  const auto waiting = agent.run("x", {.run_id = "r"});
  REQUIRE(waiting.error().suspension());
  const auto ended = agent.decide(waiting.error().suspension()->token, RecoveryAction::abort());
  CHECK_ERRC(Errc::aborted, ended);
  CHECK(ended.error().detail.find("when the run is suspended") != std::string::npos);
}
