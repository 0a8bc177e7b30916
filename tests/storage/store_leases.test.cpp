// SPDX-License-Identifier: MIT
// Leases and starts whose answers get lost, waits, children of fork(), and exceptions of users'
// stores.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/renewing_store.hpp"
#include "support/result.hpp"
#include "triage/policies/circuit_breaker.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <set>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// An agent over a store whose leases expire.
struct Leased {
  Kit kit{};
  std::shared_ptr<RenewingStore> store =
      std::make_shared<RenewingStore>(kit.store, std::chrono::milliseconds(7'500));
  AgentOptions options = kit.with(store);

  void lose_at(int renewal) {
    store->before_renewal = [this, renewal](int number, const Lease& lease) {
      if (number == renewal) store->hand_over(lease);
      return std::optional<Error>();
    };
  }
};

}  // namespace

TEST_CASE("a wait that is longer than a lease lives keeps it", "[durability]") {
  Leased leased;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "s"});
                            if (++calls == 1) throw std::runtime_error("timeout");
                            return calls;
                          },
                          answers({RecoveryAction::retry({}, std::chrono::seconds(31))}),
                          leased.options};
  SECTION("and is as long as it was") {
    CHECK(agent.run("x", {.run_id = "r"}).value() == 2);
    CHECK(leased.store->renewals == 4);
    Duration waited{};
    for (const Duration wait : leased.kit.clock->waits) waited += wait;
    CHECK(waited == std::chrono::seconds(31));
  }
  SECTION("or, if another owner took the run, begins no further attempt") {
    leased.lose_at(2);
    CHECK_ERRC(Errc::fenced, agent.run("x", {.run_id = "r"}));
    CHECK(calls == 1);
    CHECK(leased.store->renewals == 2);
  }
}

TEST_CASE("a wait after a long silence renews the lease at once", "[durability]") {
  Leased leased;
  int renewals = 0;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        leased.kit.clock->advance(std::chrono::seconds(25));
        leased.kit.clock->on_sleep = [&](TimePoint) { renewals = leased.store->renewals; };
        attempt.sleep_until(leased.kit.clock->wall_now() + std::chrono::seconds(1));
        return 1;
      },
      FailurePolicy(), leased.options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(renewals == 1);
}

TEST_CASE("an attempt that records nothing for long keeps its lease when it asks", "[durability]") {
  Leased leased;
  std::vector<bool> kept;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (int i = 0; i < 5; ++i) {
                              kept.push_back(attempt.keep_lease().has_value());
                              CHECK(attempt.keep_lease().has_value() == kept.back());
                              leased.kit.clock->advance(std::chrono::milliseconds(7'500));
                            }
                          },
                          answers({}), leased.options};
  SECTION("as often as it is due") {
    REQUIRE_OK(agent.run("x", {.run_id = "r"}));
    CHECK(leased.store->renewals == 4);
  }
  SECTION("and hears that another owner has taken the run") {
    leased.lose_at(2);
    CHECK_ERRC(Errc::fenced, agent.run("x", {.run_id = "r"}));
    CHECK(kept == std::vector<bool>{true, true, false, false, false});
  }
}

TEST_CASE("a lease that could not be renewed is renewed at the next call", "[durability]") {
  Leased leased;
  leased.store->before_renewal = [](int number, const Lease&) {
    return number == 1 ? std::optional(Error{Errc::io, "the store is away"}) : std::nullopt;
  };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            leased.kit.clock->advance(std::chrono::seconds(10));
                            CHECK_ERRC(Errc::io, attempt.keep_lease());
                            REQUIRE_OK(attempt.keep_lease());
                          },
                          answers({}), leased.options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(leased.store->renewals == 2);
}

TEST_CASE("a run that was taken over while it was silent waits for nothing", "[durability]") {
  Leased leased;
  leased.lose_at(1);
  const TriageAgent agent{[&](const std::string&) -> int {
                            leased.kit.clock->advance(std::chrono::seconds(25));
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry({}, std::chrono::hours(1))}),
                          leased.options};
  CHECK_ERRC(Errc::fenced, agent.run("x", {.run_id = "r"}));
  CHECK(leased.kit.clock->waits.empty());
}

TEST_CASE("a lease that could not be given back is given back later", "[durability][queue]") {
  struct Holding final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Holding() override { stop_queue(); }
    Result<void> release(const Lease& lease) override {
      if (fails) return Error{Errc::io, "the disk is full"};
      released.insert(lease.run);
      return ForwardingStore::release(lease);
    }
    bool fails = true;
    std::set<RunId> released{};
  };
  Kit kit;
  const auto store = std::make_shared<Holding>(kit.store);
  AgentOptions options = kit.with(store);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "s"});
                            if (++calls == 1) throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK_FALSE(store->released.contains("r"));
  store->fails = false;
  SECTION("with the next commit of another run") {
    REQUIRE_OK(agent.run("y", {.run_id = "other"}));
  }
  SECTION("before the run is taken over") { REQUIRE_OK(agent.resume_run("r")); }
  SECTION("before somebody hears that it is under way") {
    CHECK_ERRC(Errc::conflict, agent.run("x", {.run_id = "r"}));
  }
  CHECK(store->released.contains("r"));
  CHECK_FALSE(kit.store->run("r").value().owned);
}

TEST_CASE("a lease whose answer got lost does not lock the run", "[durability]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            if (++calls == 1) throw std::runtime_error("timeout");
                            return calls;
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  const int acquiring = store->operations() + 2;  // After reading the run.
  store->fail_between(acquiring, acquiring, FlakyStore::Fault::forgets_to_answer);
  CHECK_ERRC(Errc::io, agent.resume_run("r"));
  CHECK(agent.resume_run("r").value() == 2);
}

TEST_CASE("a start whose answer got lost is found again", "[durability]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  store->fail_between(1, 1, FlakyStore::Fault::forgets_to_answer);
  AgentOptions options = kit.with(store);
  const RunOptions named{.run_id = GENERATE(as<std::string>(), "r", "")};
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "one"});
                            return attempt.effect("pay", [&] { return ++paid; });
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK(agent.run("x", named).value() == 1);
  const auto runs = kit.store->runs({}).value();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].status == RunStatus::finished);
  CHECK_FALSE(runs[0].owned);
  CHECK_FALSE(stored_journal(*kit.store, runs[0].id).broken_at());
}

TEST_CASE("two runs of one id that begin alike are still two", "[durability]") {
  Kit kit;
  AgentOptions options = kit.options();
  int calls = 0;
  std::optional<Errc> second;
  const TriageAgent inner{[&](const std::string&) { ++calls; }, answers({RecoveryAction::retry()}),
                          options};
  const TriageAgent outer{[&](const std::string& task) {
                            const auto same = inner.run(task, {.run_id = "r"});
                            if (same.has_error()) second = same.error().code;
                          },
                          answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(outer.run("x", {.run_id = "r"}));
  CHECK(second == Errc::busy);
  CHECK(calls == 0);
}

TEST_CASE("what is recorded while a store is slow to start the run is kept in order",
          "[durability]") {
  struct Slow final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Slow() override { stop_queue(); }
    Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
      if (++starts == 1) return Error{Errc::io, "the disk is full"};
      if (during) during();
      return ForwardingStore::start(run, records);
    }
    int starts = 0;
    std::function<void()> during{};
  };
  Kit kit;
  const auto store = std::make_shared<Slow>(kit.store);
  AgentOptions options = kit.with(store);
  options.queue_capacity = 4;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (int i = 0; i < 3; ++i) attempt.record_step({.action = "before"});
                            store->during = [&] {
                              std::thread other([&] {
                                for (int i = 0; i < 20; ++i) {
                                  attempt.record_step({.action = "during"});
                                  attempt.update_state({{"i", i}});
                                }
                              });
                              other.join();
                            };
                            CHECK_ERRC(Errc::io, attempt.checkpoint("here"));  // It was given up.
                          },
                          answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  const Journal journal = stored_journal(*kit.store, "r");
  CHECK_FALSE(journal.broken_at());
  CHECK_FALSE(journal.find_label("here"));
  CHECK(journal.state().value("i", -1) == 19);
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
}

TEST_CASE("threads may wait while others record", "[durability]") {
  Leased leased;
  Kit& kit = leased.kit;
  AgentOptions& options = leased.options;
  options.write_mode = WriteMode::immediate;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        std::thread waiting([&] {
          for (int i = 0; i < 50; ++i) {
            attempt.sleep_until(kit.clock->wall_now() + std::chrono::milliseconds(5));
          }
        });
        for (int i = 0; i < 200; ++i) attempt.record_step({.action = "s"});
        waiting.join();
      },
      answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(kit.store->latest("r").value().trajectory.size() == 200);
}

TEST_CASE("a child made by fork() can destroy a store whose queue was used",
          "[durability][queue]") {
  Kit kit;
  auto store = std::make_shared<FlakyStore>(kit.store, Durability::process);
  AgentOptions options = kit.options();
  options.write_mode = WriteMode::background;
  {
    options.store = store;
    const TriageAgent agent{
        [](const std::string&, Attempt& attempt) { attempt.record_step({.action = "s"}); },
        answers({RecoveryAction::retry()}), options};
    REQUIRE_OK(agent.run("x"));
  }
  options.store.reset();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(20);  // It must not hang.
    store.reset();
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("an exception of a store's idle() is nobody's business", "[durability][queue]") {
  struct Grumpy final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Grumpy() override { stop_queue(); }
    StoreCapabilities capabilities() const noexcept override {
      return {.durability = Durability::process};
    }
    void idle() override {
      {
        const std::scoped_lock lock(mutex);
        idled = true;
      }
      changed.notify_all();
      throw std::runtime_error("leave me alone");
    }
    std::mutex mutex;
    std::condition_variable changed;
    bool idled = false;
  };
  Kit kit;
  const auto store = std::make_shared<Grumpy>(kit.store);
  AgentOptions options = kit.with(store);
  options.write_mode = WriteMode::background;
  const TriageAgent agent{
      [](const std::string&, Attempt& attempt) { attempt.record_step({.action = "s"}); },
      answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.run("x"));
  {
    std::unique_lock lock(store->mutex);
    store->changed.wait(lock, [&] { return store->idled; });
  }
  REQUIRE_OK(agent.run("x"));
}

TEST_CASE("a suspended run does not keep a store of its own open", "[durability]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::suspend("may I?")}), kit.bare()};
  auto own = MemoryStore::create();
  const auto waiting = agent.run("x", {.run_id = "r", .store = own});
  CHECK_ERRC(Errc::suspended, waiting);
  const std::weak_ptr<MemoryStore> open = own;
  own.reset();
  CHECK(open.expired());
  const std::string token = waiting.error().suspension()->token;
  CHECK_ERRC(Errc::not_found, agent.decide(token, RecoveryAction::retry()));
}

TEST_CASE("a key space that throws leaves a gate to what this process knows",
          "[durability][gates]") {
  struct Throwing final : KeySpace {
    Result<std::optional<VersionedValue>> get(std::string_view, std::string_view) override {
      throw std::runtime_error("no network");
    }
    Result<std::uint64_t> put_if(std::string_view, std::string_view, std::uint64_t,
                                 std::string_view) override {
      throw std::runtime_error("no network");
    }
    Result<std::vector<std::string>> list(std::string_view, std::string_view) override {
      throw std::runtime_error("no network");
    }
  };
  Kit kit;
  AgentOptions options = kit.bare();
  options.gates = {
      CircuitBreaker::create({.minimum_calls = 1, .shared = std::make_shared<Throwing>()}).value()};
  const TriageAgent agent{[](const std::string&) { return 1; }, answers({RecoveryAction::retry()}),
                          options};
  CHECK(agent.run("x").value() == 1);
}
