// SPDX-License-Identifier: MIT
// What becomes of nested runs that wait while the run around them goes on: each is done once, and
// its end is given to one call.
#include "resume/nested.hpp"
#include "triage/operations.hpp"
#include "triage/policies/risk_guard.hpp"

#include <algorithm>
#include <memory>
#include <thread>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

// A nested agent that charges and then asks once, on a store that outlives processes.
struct Charging {
  DurableKit kit{};
  int charged = 0;
  int asks = 1;  // How many of its runs ask.
  std::uint64_t seeds = 100;

  [[nodiscard]] AgentOptions options(const char* name) {
    AgentOptions all = kit.on_disk();
    all.name = name;
    all.random = seeded_random(++seeds);
    return all;
  }
  auto inner() {
    return TriageAgent{[this](const std::string&, Attempt& attempt) -> Result<int> {
                         const int number = attempt.effect("charge", [this] { return ++charged; });
                         if (attempt.number() == 1 && asks-- > 0) {
                           return attempt.fail({.text = "access_denied"});
                         }
                         return number;
                       },
                       answers({asking()}), options("inner")};
  }
  template <class Inner>
  auto outer(const Inner& agent, int parcels) {  // Pauses after each parcel.
    return TriageAgent{[&agent, parcels](const std::string&, Attempt& attempt) -> Result<int> {
                         int done = attempt.state().value("done", 0);
                         while (done < parcels) {
                           auto charge = agent.run("one parcel", {.parent = &attempt});
                           if (!charge) return charge.error();
                           attempt.record_step({.action = "shipped"});
                           attempt.update_state({{"done", ++done}});
                           attempt.sleep_for("pause " + std::to_string(done), 2h);
                         }
                         return done;
                       },
                       answers({RecoveryAction::escalate()}), options("outer")};
  }
  // Only calls the agent, once.
  template <class Agent>
  auto around(const Agent& agent, const char* name) {
    return TriageAgent{[&agent](const std::string&, Attempt& attempt) -> Result<int> {
                         return agent.run("job", {.parent = &attempt});
                       },
                       answers({RecoveryAction::escalate()}), options(name)};
  }
  [[nodiscard]] std::size_t inner_runs() {
    return kit.store->runs({.agent = "inner", .limit = 0}).value().size();
  }
};

}  // namespace

TEST_CASE("a nested run that waits is not begun anew after the run around it has slept",
          "[nested]") {
  Charging charging;
  const auto inner = charging.inner();
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            auto got = inner.run("job", {.parent = &attempt});
                            attempt.sleep_for("nap", 2h);
                            return got;
                          },
                          answers({RecoveryAction::escalate()}), charging.options("outer")};
  auto result = outer.run("x", {.run_id = "o"});
  CHECK_ERRC(Errc::suspended, result);
  REQUIRE(result.error().suspension()->inner);
  CHECK(result.error().suspension()->message == "may I?");
  REQUIRE(result.error().suspension()->until);  // Of the sleep.
  SECTION("its sleep is over") {
    charging.kit.clock->advance(3h);
    auto due = outer.resume_due().value();
    REQUIRE(due.size() == 1);
    result = std::move(due.front().result);
    CHECK_ERRC(Errc::suspended, result);
    result = outer.decide(token_of(result), RecoveryAction::retry());
  }
  SECTION("somebody decides first") {
    result = outer.decide(token_of(result), RecoveryAction::retry());
    CHECK_ERRC(Errc::suspended, result);
    charging.kit.clock->advance(3h);
    result = outer.resume_due().value().front().result;
  }
  CHECK(result.value() == 1);
  CHECK(charging.charged == 1);
  CHECK(charging.inner_runs() == 1);
}

TEST_CASE("a nested run that waits is not begun anew after a guard has asked", "[nested]") {
  Charging charging;
  AgentOptions options = charging.options("outer");
  options.guard = risk_guard({.rules = {{.name = "pays", .words = {"pay"}, .risk = 0.7}}});
  const auto inner = charging.inner();
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            auto got = inner.run("job", {.parent = &attempt});
                            attempt.record_step({.action = "look"});
                            if (auto may = attempt.propose_step({.action = "pay"}); !may) {
                              return may.error();
                            }
                            return got;
                          },
                          answers({RecoveryAction::escalate()}), options};
  auto result = outer.run("x", {.run_id = "o"});
  result = outer.decide(token_of(result), RecoveryAction::retry());  // What the guard asked.
  result = outer.decide(token_of(result), RecoveryAction::retry());  // What the nested run asked.
  CHECK(result.value() == 1);
  CHECK(charging.charged == 1);
  CHECK(charging.inner_runs() == 1);
}

TEST_CASE("the same task called once more is a new run, also after a pause", "[nested]") {
  Charging charging;
  const auto inner = charging.inner();
  const auto outer = charging.outer(inner, 3);
  auto result = outer.run("x", {.run_id = "o"});
  result = outer.decide(token_of(result), RecoveryAction::retry());
  for (int pause = 0; pause < 3; ++pause) {
    CHECK_ERRC(Errc::suspended, result);
    charging.kit.clock->advance(3h);
    auto due = charging.outer(inner, 3).resume_due().value();  // As another process would.
    REQUIRE(due.size() == 1);
    result = std::move(due.front().result);
  }
  CHECK(result.value() == 3);
  CHECK(charging.charged == 3);
  CHECK(charging.inner_runs() == 3);
}

TEST_CASE("the end of a nested run is given again to an attempt that does not know it",
          "[nested]") {
  Charging charging;
  const auto inner = charging.inner();
  const bool behind = GENERATE(false, true);  // It continues behind that call.
  int failures = 0;
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            auto got = inner.run("job", {.parent = &attempt});
                            if (!got) return got;
                            if (behind) attempt.record_step({.action = "note"});
                            if (++failures == 1) throw std::runtime_error("access_denied");
                            return got;
                          },
                          answers({RecoveryAction::abort()}), charging.options("outer")};
  auto result = outer.run("x", {.run_id = "o"});
  CHECK_ERRC(Errc::aborted, outer.decide(token_of(result), RecoveryAction::retry()));
  result = outer.resume_run("o", {.revive = true});
  CHECK(result.value() == (behind ? 2 : 1));
  CHECK(charging.charged == (behind ? 2 : 1));
}

TEST_CASE("a nested run that is gone does not hide the one begun instead", "[nested]") {
  Charging charging;
  charging.asks = 2;
  const auto inner = charging.inner();
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            return inner.run("job", {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), charging.options("outer")};
  auto result = outer.run("x", {.run_id = "o"});
  REQUIRE_OK(charging.kit.store->erase(result.error().suspension()->inner->run_id));
  result = outer.resume_run("o");  // The one that was erased is begun anew.
  CHECK(charging.charged == 2);
  result = outer.decide(token_of(result), RecoveryAction::retry());
  CHECK(result.value() == 2);
  CHECK(charging.inner_runs() == 1);
}

TEST_CASE("a nested run that is gone does not hide another one of the same task", "[nested]") {
  Charging charging;
  charging.asks = 2;
  const auto inner = charging.inner();
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            const auto call = [&] {
                              return inner.run("job", {.parent = &attempt});
                            };
                            if (attempt.number() > 1) return call();
                            Result<int> other = 0;
                            std::thread([&] { other = call(); }).join();
                            return call();
                          },
                          answers({RecoveryAction::escalate()}), charging.options("outer")};
  auto result = outer.run("x", {.run_id = "o"});
  REQUIRE(charging.charged == 2);
  auto waiting = charging.kit.store->runs({.agent = "inner", .limit = 0}).value();
  REQUIRE(waiting.size() == 2);
  const bool smaller = GENERATE(true, false);
  const auto gone = std::minmax(waiting[0].id, waiting[1].id);
  REQUIRE_OK(charging.kit.store->erase(smaller ? gone.first : gone.second));
  result = outer.resume_run("o");
  CHECK_FALSE(result);  // It waits for the other one.
  CHECK(charging.charged == 2);
}

TEST_CASE("a run is due when its nested run need not wait any more", "[nested]") {
  Charging charging;
  const TriageAgent inner{[&](const std::string&, Attempt& attempt) {
                            const auto paid =
                                attempt.wait("paid", charging.kit.clock->wall_now() + 24h);
                            return paid ? paid->get<int>() : -1;
                          },
                          answers({RecoveryAction::escalate()}), charging.options("inner")};
  const auto middle = charging.around(inner, "middle");
  const auto outer = charging.around(middle, "outer");
  const auto waiting = outer.run("x", {.run_id = "o"});
  REQUIRE(waiting.error().suspension()->inner->inner);
  CHECK(outer.due().value().empty());
  REQUIRE_OK(inner.signal(waiting.error().suspension()->inner->inner->run_id, "paid", 5));
  SECTION("because its signal was sent") {}
  SECTION("because it has ended") { REQUIRE(inner.resume_due().value().size() == 1); }
  const auto due = outer.resume_due().value();
  REQUIRE(due.size() == 1);
  CHECK(due.front().result.value() == 5);
}

TEST_CASE("a decision about the innermost of three runs reaches the outermost", "[nested]") {
  Charging charging;
  const auto inner = charging.inner();
  const auto middle = charging.around(inner, "middle");
  const auto outer = charging.around(middle, "outer");
  const auto waiting = outer.run("x", {.run_id = "o"});
  REQUIRE_OK(
      inner.decide(waiting.error().suspension()->inner->inner->token, RecoveryAction::retry()));
  CHECK(outer.resume_run("o").value() == 1);
  CHECK(charging.charged == 1);
}

TEST_CASE("a decision that a nested run cannot carry out changes nothing", "[nested]") {
  Charging charging;
  int refunded = 0;
  const auto inner = charging.inner();
  AgentOptions options = charging.options("outer");
  options.compensations = {{"refund", [&] { ++refunded; }}};
  const TriageAgent outer{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            attempt.effect("fee", [] { return 1; }, {.compensate = "refund"});
                            return inner.run("job", {.parent = &attempt});
                          },
                          answers({RecoveryAction::escalate()}), options};
  std::string token = token_of(outer.run("x", {.run_id = "o"}));
  SECTION("it has no such checkpoint") {
    const auto nowhere =
        RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "nope"});
    CHECK_ERRC(Errc::invalid_argument, outer.decide(token, nowhere));
    CHECK_ERRC(Errc::invalid_argument, record_decision(*charging.kit.store, token, nowhere));
  }
  SECTION("the value is none of its agent's") {
    const auto again = outer.decide(token, RecoveryAction::fallback("five"));
    CHECK_ERRC(Errc::suspended, again);  // Only the nested agent knows that.
    CHECK_THAT(again.error().detail,
               Catch::Matchers::ContainsSubstring("the decision was refused"));
    token = token_of(again);
  }
  CHECK(outer.decide(token, RecoveryAction::retry()).value() == 1);
  CHECK(refunded == 0);
}
