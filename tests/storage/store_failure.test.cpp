// SPDX-License-Identifier: MIT
// Write modes, and a store that fails at every possible operation.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// A run that uses everything; returns how often its effects ran.
struct Everything {
  std::map<std::string, int> ran{};
  std::vector<std::string> acknowledged{};
  std::vector<CheckpointId> labels{};

  int operator()(const std::string&, Attempt& attempt) {
    for (int i = attempt.state().value("i", 0) + 1; i <= 6; ++i) {
      attempt.record_step({.action = "step " + std::to_string(i)});
      if (i % 2 == 0) {
        const std::string key = "pay " + std::to_string(i);
        if (attempt.try_effect(key, [&] { return ++ran[key]; })) acknowledged.push_back(key);
      }
      if (i == 3) {
        if (const auto label = attempt.checkpoint("three")) labels.push_back(label.value());
      }
      attempt.update_state({{"i", i}});
      if (i == 5 && attempt.number() == 1) throw std::runtime_error("timeout");
    }
    return 6;
  }
};

}  // namespace

TEST_CASE("immediate: what record_step returned from is in the store", "[modes]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.write_mode = WriteMode::immediate;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (std::size_t i = 1; i <= 3; ++i) {
                              attempt.record_step({.action = "s"});
                              CHECK(kit.store->latest("r").value().trajectory.size() == i);
                              attempt.update_state({{"i", i}});
                              CHECK(kit.store->latest("r").value().state.value("i", 0U) == i);
                            }
                          },
                          answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
}

TEST_CASE("deferred: nothing reaches the store before a drain", "[modes]") {
  Kit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (int i = 0; i < 100; ++i) attempt.record_step({.action = "s"});
                            CHECK(kit.store->run("r").value().last == 2);  // Started, attempt 1.
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(kit.store->latest("r").value().trajectory.size() == 100);
}

TEST_CASE("every mode drains before a failure is classified", "[modes]") {
  Kit kit;
  struct Looking final : Classifier {
    explicit Looking(std::shared_ptr<CheckpointStore> s) : store(std::move(s)) {}
    Classification classify(const ClassifierInput& input) override {
      CHECK(store->latest("r").value().trajectory.size() == input.trajectory.size());
      return {};
    }
    std::shared_ptr<CheckpointStore> store;
  };
  AgentOptions options = kit.options();
  options.write_mode = GENERATE(WriteMode::deferred, WriteMode::background, WriteMode::immediate);
  // A store that takes background appends.
  const auto store = std::make_shared<FlakyStore>(kit.store, Durability::process);
  options.store = store;
  options.classifier = std::make_shared<Looking>(kit.store);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            for (int i = 0; i < 50; ++i) attempt.record_step({.action = "s"});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry(), RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
}

TEST_CASE("a full queue pushes back instead of growing", "[modes]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.queue_capacity = 8;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (std::size_t i = 0; i < 40; ++i) {
                              attempt.record_step({.action = "s"});
                              CHECK(i + 1 - kit.store->latest("r").value().trajectory.size() <= 8);
                            }
                          },
                          answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
}

TEST_CASE("a detached run that outgrows its memory writes a gap that says what is missing",
          "[store_failure]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  options.queue_capacity = 10;
  const bool from_start = GENERATE(true, false);
  if (from_start) store->break_down();
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (int i = 0; i < 5; ++i) attempt.record_step({.action = "kept"});
                            store->break_down();
                            for (int i = 0; i < 60; ++i) {
                              attempt.record_step({.action = "lost?"});
                              attempt.update_state({{"i", i}});
                            }
                            store->repair();
                            attempt.record_step({.action = "last"});
                            attempt.update_state({{"last", true}});
                            return attempt.trajectory().size();
                          },
                          answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  REQUIRE_OK(result);
  CHECK(result.value() == 66);  // In memory nothing is missing.
  const Journal journal = stored_journal(*kit.store, "r");
  CHECK_FALSE(journal.broken_at());
  REQUIRE(journal.gaps().size() == 1);
  CHECK(journal.gaps()[0].first > 1);
  CHECK(journal.gaps()[0].second > journal.gaps()[0].first);
  CHECK(journal.state().json() == Json{{"i", 59}, {"last", true}});
  CHECK_FALSE(journal.finished().is_null());
  CHECK(kit.store->latest("r").value().state == journal.state());
}

TEST_CASE("a rollback to a position that a gap swallowed still restores the state",
          "[store_failure]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  options.queue_capacity = 10;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 2) {
                              store->repair();
                              return attempt.state().value("i", -1);
                            }
                            store->break_down();
                            for (int i = 0; i < 30; ++i) {
                              attempt.record_step({.action = "s"});
                              attempt.update_state({{"i", i}});
                            }
                            attempt.record_step({.action = "bad", .error = "boom"});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::rollback()}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 29);
  const Journal journal = stored_journal(*kit.store, "r");
  CHECK_FALSE(journal.broken_at());
  CHECK(journal.state().value("i", -1) == 29);
  CHECK(journal.attempts() == 2);
}

TEST_CASE("a run whose lease was taken over stops writing and says so", "[store_failure]") {
  Kit kit;
  const auto on_error = GENERATE(OnStoreError::degrade, OnStoreError::fail);
  AgentOptions options = kit.options();
  options.on_store_error = on_error;
  Lease theirs;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "mine"});
                            REQUIRE_OK(kit.store->release({.run = "r", .epoch = 1}));
                            theirs = kit.store->acquire("r").value();  // Owned by someone else now.
                            attempt.record_step({.action = "lost"});
                            CHECK_ERRC(Errc::fenced, attempt.try_effect("pay", [] { return 1; }));
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::fenced, agent.run("x", {.run_id = "r"}));
  CHECK(kit.store->run("r").value().last == 2);
  CHECK(kit.store->run("r").value().owned);
}

TEST_CASE("the n-th store operation fails, for every n", "[store_failure][sweep]") {
  const auto fault = GENERATE(FlakyStore::Fault::refuses, FlakyStore::Fault::throws,
                              FlakyStore::Fault::forgets_to_answer);
  const auto on_error = GENERATE(OnStoreError::degrade, OnStoreError::fail);
  const bool for_good = GENERATE(false, true);
  for (int n = 1;; ++n) {
    INFO("operation " << n << ", fault " << static_cast<int>(fault) << ", fail "
                      << (on_error == OnStoreError::fail) << ", for good " << for_good);
    Kit kit;
    const auto store = std::make_shared<FlakyStore>(kit.store);
    store->fail_between(n, for_good ? 1'000'000 : n, fault);
    AgentOptions options = kit.with(store);
    options.on_store_error = on_error;
    auto work = std::make_shared<Everything>();
    const TriageAgent agent{
        [work](const std::string& task, Attempt& attempt) { return (*work)(task, attempt); },
        answers({RecoveryAction::rollback({.or_start = true})}), options};
    const auto result = agent.run("x", {.run_id = "r"});
    const bool undisturbed = store->faults() == 0;
    const auto stored = kit.store->run("r");
    if (result.has_value()) {
      CHECK(result.value() == 6);
      REQUIRE_OK(stored);
      CHECK(stored.value().status == RunStatus::finished);
    } else {
      CHECK_FALSE(undisturbed);
      CHECK((for_good || on_error == OnStoreError::fail));
      if (on_error == OnStoreError::degrade) CHECK(*result.error().unstored_value<int>() == 6);
      CHECK(result.error().code == Errc::io);
      CHECK_THAT(result.error().detail, ContainsSubstring("the disk is"));
    }
    for (const auto& [key, times] : work->ran) {
      INFO(key);
      CHECK(times == 1);
    }
    if (kit.store->run("r")) {  // Otherwise not even its start was stored.
      const Journal journal = stored_journal(*kit.store, "r");
      CHECK_FALSE(journal.broken_at());
      for (const std::string& key : work->acknowledged) {
        CHECK(journal.effects().at(key).status == EffectState::Status::completed);
      }
      for (const CheckpointId& label : work->labels) REQUIRE_OK(kit.store->load(label));
      if (undisturbed) CHECK(journal.trajectory().size() == 6);
    } else {
      CHECK(work->acknowledged.empty());
      CHECK(work->labels.empty());
    }
    if (undisturbed) {
      CHECK(n > 10);
      break;
    }
    REQUIRE(n < 1000);
  }
}
