// SPDX-License-Identifier: MIT
// Signals that a run waits for, across processes.
#include "resume/durable.hpp"
#include "triage/operations.hpp"
#include "triage/testing/flaky_store.hpp"

#include <functional>
#include <utility>

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("an attempt waits for a signal", "[suspension][signals]") {
  DurableKit kit;
  const WallTime deadline = kit.clock->wall_now() + 2h;
  int calls = 0;
  const auto make = [&](AgentOptions options) {
    return TriageAgent{[&](const std::string&, Attempt& attempt) {
                         ++calls;
                         const auto answer = attempt.wait("approved", deadline);
                         if (calls == 2 && attempt.number() == 2 && !answer) return 0;
                         return answer ? answer->get<int>() : -1;
                       },
                       answers({RecoveryAction::retry()}), std::move(options)};
  };
  const auto agent = make(kit.on_disk());
  SECTION("that was sent before") {
    REQUIRE_OK(agent.signal("r", "approved", 7));
    CHECK(agent.run("x", {.run_id = "r"}).value() == 7);
  }
  SECTION("that comes while the run is put aside") {
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
    CHECK(agent.resume_due().value().empty());
    REQUIRE_OK(agent.signal("r", "approved", 7));
    CHECK(agent.due().value().at(0).signal == "approved");
    CHECK(agent.resume_due().value().at(0).result.value() == 7);
  }
  SECTION("that comes while the attempt polls") {
    const auto polling = make(kit.options());
    kit.clock->on_sleep = [&](TimePoint) {
      if (kit.clock->waits.size() == 5) CHECK(polling.signal("r", "approved", 7));
    };
    CHECK(polling.run("x", {.run_id = "r"}).value() == 7);
  }
  SECTION("that never comes") {
    CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
    kit.clock->advance(2h);
    CHECK(agent.resume_due().value().at(0).result.value() == 0);
    CHECK(stored_journal(*kit.store, "r").signals().at("approved") == std::nullopt);
  }
}

TEST_CASE("a wait that was answered gives the same answer after a crash", "[suspension][signals]") {
  Kit kit;
  const WallTime deadline = kit.clock->wall_now() + 1min;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("go", deadline);
                            if (attempt.number() == 1) throw std::runtime_error("unknown");
                            return answer ? answer->get<int>() : -1;
                          },
                          answers({RecoveryAction::abort("stop")}), kit.options()};
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  CHECK_ERRC(Errc::conflict, agent.signal("r", "go", 7));  // The wait has ended without it.
  CHECK(agent.resume_run("r", {.revive = true}).value() == -1);
}

TEST_CASE("a signal is not sent where nobody knows whether the run has ended",
          "[suspension][signals]") {
  // Claims once that the run is still running, then ends it.
  struct EndsMeanwhile final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    bool asked = false;
    Result<RunInfo> run(const RunId& id) override {
      auto info = ForwardingStore::run(id);
      if (info && !std::exchange(asked, true)) info.value().status = RunStatus::running;
      return info;
    }
  };
  const DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("go", kit.clock->wall_now() + 1h)->get<int>();
                          },
                          answers({RecoveryAction::retry()}), kit.on_disk()};
  REQUIRE_OK(agent.signal("r", "go", 1));
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  kit.break_operation(1);
  CHECK_ERRC(Errc::io, agent.signal("r", "go", 2));
  CHECK_ERRC(Errc::conflict, agent.signal("r", "go", 2));
  EndsMeanwhile racing(kit.durable);
  CHECK_ERRC(Errc::conflict, send_signal(racing, "r", "go", 2));
  EndsMeanwhile taken(kit.durable);
  CHECK(send_signal(taken, "r", "go", 1).has_value());  // The run received this value.
}

TEST_CASE("a signal that the run takes and ends with while it is confirmed was sent",
          "[suspension][signals]") {
  // Lets the run continue right after its journal was read.
  struct EndsBehindReading final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    std::function<void()> go_on{};
    Result<JournalReading> read_newest(const RunId& run) override {
      auto reading = ForwardingStore::read_newest(run);
      if (go_on) std::exchange(go_on, {})();
      return reading;
    }
  };
  const DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("go", kit.clock->wall_now() + 1h)->get<int>();
                          },
                          answers({RecoveryAction::retry()}), kit.on_disk()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  EndsBehindReading racing(kit.durable);
  racing.go_on = [&] { CHECK(agent.resume_run("r").value() == 1); };
  REQUIRE_OK(send_signal(racing, "r", "go", 1));
  CHECK_FALSE(racing.go_on);
  CHECK(kit.durable->run("r").value().status == RunStatus::finished);
}

TEST_CASE("a run that goes on after its end keeps its answer, and says so to a second sender",
          "[suspension][signals]") {
  const DurableKit kit;
  Result<void> second = outcome::success();
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("go", kit.clock->wall_now() + 1h);
                            if (attempt.number() == 1) throw std::runtime_error("unknown");
                            second = send_signal(*kit.durable, "r", "go", 2);
                            return answer->get<int>();
                          },
                          answers({RecoveryAction::abort("stop")}), kit.on_disk()};
  REQUIRE_OK(agent.signal("r", "go", 1));
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  CHECK(agent.resume_run("r", {.revive = true}).value() == 1);
  CHECK_ERRC(Errc::conflict, second);
}

TEST_CASE("signals refuse what they cannot keep", "[suspension][signals]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.signal("r", "n", 1));
  REQUIRE_OK(agent.signal("r", "n", 1));
  CHECK_ERRC(Errc::conflict, agent.signal("r", "n", 2));
  CHECK_ERRC(Errc::invalid_argument, agent.signal("r", ""));
  CHECK_ERRC(Errc::invalid_argument, agent.signal("r", std::string(257, 'n')));
  CHECK_ERRC(Errc::invalid_argument, agent.signal("r/s", "n"));
  const TriageAgent bare{&fails_once, answers({RecoveryAction::retry()}), kit.bare()};
  CHECK_ERRC(Errc::not_found, bare.signal("r", "n"));
  const TriageAgent waiting{
      [&](const std::string&, Attempt& attempt) { return attempt.wait("n", WallTime()) ? 1 : 0; },
      answers({RecoveryAction::retry()}), kit.bare()};
  CHECK_ERRC(Errc::unsupported, waiting.run("x"));
}

TEST_CASE("a wait whose time is before all time is over", "[suspension][signals]") {
  const DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("go", WallTime::min()).has_value();
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  CHECK_FALSE(agent.run("x", {.run_id = "r"}).value());
}

TEST_CASE("fields of another type in a stored record are no exception", "[signals][operations]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  CHECK_ERRC(Errc::suspended, agent.run("x", {.run_id = "r"}));
  const Lease lease = kit.store->acquire("r").value();
  const Sequence last = kit.store->run("r").value().last;
  const auto record = [last](Sequence n, RecordKind kind, Json body) {
    return Record(last + n, kind, WallTime(), std::make_shared<const Json>(std::move(body)));
  };
  const std::vector<Record> records{record(1, RecordKind::signal_received, Json{{"name", 7}}),
                                    record(2, RecordKind::suspended, Json{{"waiting", "yes"}})};
  SECTION("of a signal") {
    REQUIRE_OK(kit.store->append(lease, records, RunStatus::cancelled));
    REQUIRE_OK(kit.store->release(lease));
    REQUIRE_OK(send_signal(*kit.store, "r", "go", 1));
  }
  SECTION("of a suspension") {
    REQUIRE_OK(kit.store->append(lease, records, RunStatus::suspended));
    REQUIRE_OK(kit.store->release(lease));
    REQUIRE_OK(reissue_token(*kit.store, "r"));
  }
}

TEST_CASE("a store that fails while a run waits for a signal does not end the wait",
          "[suspension][signals]") {
  struct Blinking final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    Result<std::optional<VersionedValue>> get(std::string_view space,
                                              std::string_view key) override {
      if (++looks >= first && looks <= last) return Error{Errc::busy, "the store is locked"};
      return ForwardingStore::get(space, key);
    }
    int looks = 0;
    int first = 0;
    int last = 0;
  };
  Kit kit;
  const auto store = std::make_shared<Blinking>(kit.store);
  AgentOptions options = kit.with(store);
  const WallTime deadline = kit.clock->wall_now() + 1s;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("go", deadline);
                            return answer ? answer->get<int>() : -1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  SECTION("the signal is found by a later look") {
    store->first = 3;
    store->last = 4;
    kit.clock->on_sleep = [&](TimePoint) {
      if (kit.clock->waits.size() == 6) REQUIRE_OK(send_signal(*kit.store, "r", "go", 7));
    };
    CHECK(agent.run("x", {.run_id = "r"}).value() == 7);
  }
  SECTION("that none came is not recorded on a guess") {
    store->first = 3;
    store->last = 1'000;
    CHECK_ERRC(Errc::busy, agent.run("x", {.run_id = "r"}));
    CHECK(stored_journal(*kit.store, "r").signals().empty());
  }
}

TEST_CASE("who sends a signal after the wait for it has ended is told so",
          "[suspension][signals]") {
  Kit kit;
  const WallTime deadline = kit.clock->wall_now() + 1s;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            CHECK_FALSE(attempt.wait("go", deadline));
                            const auto late = send_signal(*kit.store, "r", "go", 7);
                            CHECK_ERRC(Errc::conflict, late);
                            CHECK_THAT(late.error().detail, ContainsSubstring("comes too late"));
                            CHECK_FALSE(attempt.wait("go", deadline + 1h));
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
}

TEST_CASE("one look for a signal that fails is one that has found nothing",
          "[suspension][signals]") {
  Kit kit;
  const auto store = testing::FlakyStore::around(kit.store);
  store->only({testing::StoreOperation::get});
  AgentOptions options = kit.with(store);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            store->fail_nth(1);
                            CHECK_FALSE(attempt.received("go"));
                            CHECK_FALSE(attempt.error());
                            return attempt.received("go")->get<int>();
                          },
                          answers({RecoveryAction::escalate()}), options};
  REQUIRE_OK(agent.signal("r", "go", 7));
  CHECK(agent.run("x", {.run_id = "r"}).value() == 7);
  options.on_store_error = OnStoreError::fail;
  const TriageAgent strict{[&](const std::string&, Attempt& attempt) {
                             store->fail_nth(1);
                             return attempt.received("go").has_value();
                           },
                           answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::io, strict.run("x", {.run_id = "s"}));
}

TEST_CASE("an answer that is stored is known while the store fails", "[suspension][signals]") {
  Kit kit;
  const auto store = testing::FlakyStore::around(kit.store);
  store->only({testing::StoreOperation::append});
  AgentOptions options = kit.with(store);
  const WallTime deadline = kit.clock->wall_now() + 1s;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("go", deadline);
                            if (attempt.number() == 1) {
                              store->fail_until_healed();
                              attempt.record_step({.action = "s"});
                              throw std::runtime_error("unknown");
                            }
                            const auto same = attempt.received("go");
                            store->heal();
                            return answer->get<int>() + same->get<int>();
                          },
                          answers({RecoveryAction::retry()}), options};
  REQUIRE_OK(agent.signal("r", "go", 7));
  CHECK(agent.run("x", {.run_id = "r"}).value() == 14);
}

TEST_CASE("a wait until the end of time, in any unit, ends with the signal", "[signals]") {
  Kit kit;
  const bool in_days = GENERATE(true, false);
  const TriageAgent agent{[in_days](const std::string&, Attempt& attempt) {
                            const auto sent =
                                in_days ? attempt.wait("go", std::chrono::sys_days::max())
                                        : attempt.wait("go", std::chrono::sys_seconds::max());
                            attempt.sleep_until(std::chrono::sys_seconds::min());
                            return sent.value_or(Json("nothing came")).get<std::string>();
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  kit.clock->on_sleep = [&](TimePoint) {
    if (kit.clock->waits.size() == 5) REQUIRE_OK(agent.signal("r", "go", "it came"));
  };
  CHECK(agent.run("x", {.run_id = "r"}).value() == "it came");
}
