// SPDX-License-Identifier: MIT
// Effects: at most once per run.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/observers/redacting.hpp"

#include <latch>
#include <set>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

struct Unreadable {};
void to_json(Json& json, const Unreadable&) { json = 0; }
void from_json(const Json&, Unreadable&) { throw 42; }

// Its effect's outcome is not known, so its run ends in doubt.
Result<int> run_in_doubt(const std::string& key, const AgentOptions& options) {
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            attempt.effect(key, []() -> int { throw std::runtime_error("lost"); });
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  return agent.run("x", {.run_id = "r"});
}

}  // namespace

TEST_CASE("an effect runs once across retries and rollbacks and gives its result ever after",
          "[effects]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  int paid = 0;
  std::vector<int> receipts;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        attempt.record_step({.action = "a"});
        receipts.push_back(attempt.effect("pay", [&] { return 100 + ++paid; }));
        attempt.record_step({.action = "b", .error = "x"});
        if (attempt.number() < 4) throw std::runtime_error("timeout");
      },
      answers({RecoveryAction::retry(), RecoveryAction::rollback({.or_start = true}),
               RecoveryAction::resume()}),
      stored ? kit.options() : kit.bare()};
  REQUIRE_OK(agent.run("x"));
  CHECK(paid == 1);
  CHECK(receipts == std::vector<int>(4, 101));
  CHECK(kit.log->count(EventKind::effect_completed) == 1);
  CHECK(kit.log->count(EventKind::effect_reused) == 3);
}

TEST_CASE("an effect runs once across resume_run", "[effects]") {
  Kit kit;
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const int receipt = attempt.effect("pay", [&] { return ++paid; });
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return receipt;
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK(agent.resume_run("r").value() == 1);
  CHECK(paid == 1);
}

TEST_CASE("the intent is durable before the effect runs, the result before it returns",
          "[effects]") {
  Kit kit;
  const auto mode = GENERATE(WriteMode::deferred, WriteMode::background, WriteMode::immediate);
  AgentOptions options = kit.options();
  options.write_mode = mode;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        attempt.effect("pay", [&] {
          const Journal now = stored_journal(*kit.store, "r");
          CHECK(now.effects().at("pay").status == EffectState::Status::intended);
          return 5;
        });
        const Journal now = stored_journal(*kit.store, "r");
        REQUIRE(now.effects().at("pay").status == EffectState::Status::completed);
        CHECK(*now.effects().at("pay").result == 5);
      },
      answers({RecoveryAction::escalate()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
}

TEST_CASE("a second thread on the same key waits for the first and gets its result", "[effects]") {
  Kit kit;
  std::atomic<int> paid{0};
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            std::latch inside(1);
                            std::atomic<bool> returned{false};
                            Result<int> second = 0;
                            std::thread other([&] {
                              inside.wait();
                              second = attempt.try_effect("pay", [&] { return ++paid; });
                              returned = true;
                            });
                            const int first = attempt.effect("pay", [&] {
                              inside.count_down();
                              // Room for the other thread to do what it must not do.
                              for (int i = 0; i < 20'000 && !returned; ++i)
                                std::this_thread::yield();
                              CHECK_FALSE(returned);
                              return ++paid;
                            });
                            other.join();
                            CHECK(first == 1);
                            CHECK(second.value() == 1);
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  REQUIRE_OK(agent.run("x"));
  CHECK(paid == 1);
}

TEST_CASE("an exception from an effect leaves it in doubt and the run says so", "[effects]") {
  Kit kit;
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("pay", [&]() -> int {
                              ++paid;
                              throw std::runtime_error("timeout");
                            });
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::in_doubt, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("pay"));
  CHECK(paid == 1);
  CHECK(kit.classifier->calls == 1);  // The first attempt's timeout; the doubt is not classified.
  CHECK(kit.log->count(EventKind::effect_in_doubt) == 2);
  CHECK(kit.store->run("r").value().status == RunStatus::escalated);
  // It is still in doubt for a later resume.
  CHECK_ERRC(Errc::in_doubt, agent.resume_run("r"));
  CHECK(paid == 1);
}

TEST_CASE("EffectNotDone frees the key", "[effects]") {
  Kit kit;
  int tries = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("pay", [&] {
                              if (++tries < 3) throw EffectNotDone("refused: timeout");
                              return tries;
                            });
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  CHECK(agent.run("x").value() == 3);
}

TEST_CASE("a call that did not happen says nothing about the one before it", "[effects]") {
  Kit kit;
  int calls = 0;
  std::set<std::string> keys;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        REQUIRE(attempt.checkpoint("before"));
        return attempt.effect("pay",
                              [&](const EffectCall& call) {
                                keys.insert(call.idempotency_key);
                                if (++calls == 1)
                                  throw std::runtime_error("timeout");  // It may have happened.
                                if (calls == 2) throw EffectNotDone("refused");
                                return calls;
                              },
                              {.semantics = EffectSemantics::idempotent});
      },
      answers({RecoveryAction::retry(), RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK(stored_journal(*kit.store, "r").effect("pay").status == EffectState::Status::intended);
  CHECK(agent.fork(to_string(kit.store->checkpoints("r").value().at(0).id)).value() == 3);
  CHECK(keys.size() == 1);  // Also in a branch, so that the other side recognises it.
}

TEST_CASE("an effect whose result cannot be stored is in doubt, and has run", "[effects]") {
  Kit kit;
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto done = attempt.try_effect("pay", [&] {
                              ++paid;
                              return std::numeric_limits<double>::quiet_NaN();
                            });
                            CHECK_ERRC(Errc::in_doubt, done);
                            CHECK_THAT(done.error().detail, ContainsSubstring("NaN"));
                            CHECK_ERRC(Errc::in_doubt,
                                       attempt.try_effect("pay", [&] { return ++paid; }));
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  REQUIRE_OK(agent.run("x"));
  CHECK(paid == 1);
}

TEST_CASE("a store that fails at the intent keeps the effect from running", "[effects]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  const auto fault = GENERATE(FlakyStore::Fault::refuses, FlakyStore::Fault::throws,
                              FlakyStore::Fault::forgets_to_answer);
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            store->break_down(fault);
                            return attempt.effect("pay", [&] { return ++paid; });
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::io, agent.run("x"));
  CHECK(paid == 0);
}

TEST_CASE("a store that fails at the result leaves the effect in doubt", "[effects]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("pay", [&] {
                              store->break_down();
                              return ++paid;
                            });
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::in_doubt, agent.run("x", {.run_id = "r"}));
  CHECK(paid == 1);
  CHECK(stored_journal(*kit.store, "r").effects().at("pay").status ==
        EffectState::Status::intended);
}

TEST_CASE("effects return nothing, text or a user's type, and keys have 1 to 512 bytes",
          "[effects]") {
  Kit kit;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        int done = 0;
        attempt.effect("nothing", [&] { ++done; });
        attempt.effect("nothing", [&] { ++done; });
        CHECK(done == 1);
        CHECK(attempt.effect("text", [] { return std::string("\xff"); }) == "\xff");
        CHECK(attempt.effect("text", [] { return std::string("other"); }) == "\xff");
        CHECK_ERRC(Errc::invalid_argument, attempt.try_effect("", [] { return 1; }));
        const auto long_key = attempt.try_effect(std::string(513, 'k'), [] { return 1; });
        CHECK_ERRC(Errc::invalid_argument, long_key);
        CHECK_THAT(long_key.error().detail, ContainsSubstring("513") && ContainsSubstring("512"));
        REQUIRE_OK(attempt.try_effect(std::string(512, 'k'), [] { return 1; }));
      },
      answers({RecoveryAction::escalate()}), kit.options()};
  REQUIRE_OK(agent.run("x"));
}

TEST_CASE("an effect that asks for its own key gets an error instead of waiting for itself",
          "[effects]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("pay", [&] {
                              const auto inner = attempt.try_effect("pay", [] { return 1; });
                              CHECK_ERRC(Errc::invalid_argument, inner);
                              return 2;
                            });
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK(agent.run("x").value() == 2);
}

TEST_CASE("a result that does not convert is an error, whatever its conversion throws",
          "[effects]") {
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.effect("pay", [] { return 1; });
                            const auto other = [] { return Unreadable(); };
                            const auto again = attempt.try_effect("pay", other);
                            CHECK_ERRC(Errc::conflict, again);
                            CHECK_THAT(again.error().detail, ContainsSubstring("does not convert"));
                            const auto text = [] { return std::string(); };
                            CHECK_ERRC(Errc::conflict, attempt.try_effect("pay", text));
                          },
                          answers({RecoveryAction::escalate()}), Kit().bare()};
  REQUIRE_OK(agent.run("x"));
}

TEST_CASE("a doubt that try_effect returns ends the run when the callable fails with it",
          "[effects]") {
  Kit kit;
  int attempts = 0;
  int undone = 0;
  AgentOptions options = kit.options();
  options.compensations = {{"cancel", [&undone](const EffectCall&) { ++undone; }}};
  const bool throws = GENERATE(true, false);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            ++attempts;
                            attempt.effect("book", [] { return 1; }, {.compensate = "cancel"});
                            const auto lost = []() -> int {
                              throw std::runtime_error("connection lost");
                            };
                            auto paid = attempt.try_effect("pay", lost);
                            return throws ? Result<int>(paid.value()) : paid;
                          },
                          retrying(), options};
  CHECK_ERRC(Errc::in_doubt, agent.run("x", {.run_id = "r"}));
  CHECK(attempts == 2);  // The second one asks what became of it.
  CHECK(undone == 0);
  CHECK(kit.store->run("r").value().status == RunStatus::escalated);
}

TEST_CASE("observers are told the facts of an error, and its secrets are redacted", "[effects]") {
  Kit kit;
  const bool redacts = GENERATE(false, true);
  const std::string key = "pay with token=a1b2c3d4e5f6a7b8";
  std::vector<Error> told;
  std::string text;
  AgentOptions options = kit.options();
  options.observer = observe([&](const Event& event) {
    if (event.kind != EventKind::run_escalated) return;
    told.push_back(*event.error);
    text = event.text;
  });
  if (redacts) options.observer = redacted(options.observer, common_secrets());
  const auto result = run_in_doubt(key, options);
  CHECK_ERRC(Errc::in_doubt, result);
  const std::shared_ptr<const Redactor> secrets = common_secrets();
  const auto shown = [&](std::string_view of) {
    return redacts ? secrets->text(of) : std::string(of);
  };
  REQUIRE(told.size() == 1);
  const Error& error = told[0];
  CHECK(error.code == Errc::in_doubt);
  CHECK(error.detail == shown(result.error().detail));
  CHECK(error.advice() == shown(result.error().advice()));
  CHECK(error.reason() == shown(result.error().reason()));
  CHECK(error.doubted_effect() == shown(key));
  CHECK(text == shown(result.error().message()));
  REQUIRE(error.failure() != nullptr);
  CHECK(error.failure()->run_id == "r");
  for (const std::string& one : {error.message(), text}) {
    CHECK(ContainsSubstring("a1b2c3d4e5f6a7b8").match(one) == !redacts);
  }
}

TEST_CASE("an error about an effect in doubt has its key, and its advice apart", "[effects]") {
  Kit kit;
  const std::string key = GENERATE(as<std::string>{}, "pay", "it's", "two\nlines");
  const bool asks = GENERATE(false, true);
  AgentOptions options = kit.options();
  if (asks) options.hooks.on_escalate = [](const FailureContext&) { return std::nullopt; };
  const auto result = run_in_doubt(key, options);
  CHECK_ERRC(Errc::in_doubt, result);
  const Error& error = result.error();
  CHECK(error.doubted_effect() == key);
  CHECK_THAT(error.detail, !ContainsSubstring("find out"));
  CHECK_THAT(std::string(error.reason()), ContainsSubstring("its outcome is not known"));
  CHECK(error.message() == error.detail + "; " + std::string(error.advice()));
  CHECK_THAT(error.message(),
             ContainsSubstring(key == "pay"    ? "triage settle r pay done|not-done"
                               : key == "it's" ? "triage settle r 'it'\\''s' done|not-done"
                                               : "triage settle r $'"));
  CHECK(stored_journal(*kit.store, "r").stopped()["detail"] == error.message());
}

TEST_CASE("a doubt says that its recorded reconciliation is not registered", "[effects]") {
  Kit kit;
  const auto pay = [](const std::string&, Attempt& attempt) {
    EffectOptions how;
    if (attempt.number() == 1) how.reconcile = "find charge";
    return attempt.effect(
        "pay", [&]() -> int { throw std::runtime_error("timeout"); }, how);
  };
  AgentOptions options = kit.options();
  options.reconciliations["find charge"] = [] { return Reconciled::unknown(); };
  const auto first =
      TriageAgent{pay, answers({RecoveryAction::retry()}), options}.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::in_doubt, first);
  const auto second =
      TriageAgent{pay, answers({RecoveryAction::retry()}), kit.options()}.resume_run("r");
  CHECK_ERRC(Errc::in_doubt, second);
  CHECK_THAT(second.error().detail,
             ContainsSubstring("its outcome is not known; its reconciliation "
                               "\"find charge\" is not registered"));
}
