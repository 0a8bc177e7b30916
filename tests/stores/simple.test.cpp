// SPDX-License-Identifier: MIT
#include "triage/stores/simple.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/simple_shelf.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

bool equal_effects(const Journal& a, const Journal& b) {
  return std::equal(a.effects().begin(), a.effects().end(), b.effects().begin(), b.effects().end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.status == y.second.status &&
                             x.second.generation == y.second.generation &&
                             (x.second.result ? *x.second.result : Json()) ==
                                 (y.second.result ? *y.second.result : Json());
                    });
}

// Sees whether somebody calls it while somebody else is inside.
struct Narrow final : SimpleStore {
  Shelf shelf{};
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;

  template <class F>
  auto alone(F&& call) {
    if (++inside > 1) met = true;
    std::this_thread::yield();
    auto result = call();
    --inside;
    return result;
  }
  Result<void> save(const SavedCheckpoint& checkpoint) override {
    return alone([&] { return shelf.save(checkpoint); });
  }
  Result<SavedCheckpoint> load(const std::string& id) override {
    return alone([&] { return shelf.load(id); });
  }
  Result<std::optional<SavedCheckpoint>> latest(const RunId& run) override {
    return alone([&] { return shelf.latest(run); });
  }
};

}  // namespace

TEST_CASE("a simple store that many runs share is called by one at a time",
          "[stores][simple][threads]") {
  const auto narrow = std::make_shared<Narrow>();
  const auto store = make_store(narrow);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, id = "run-" + std::to_string(i)] {
      Journal journal(id);
      std::vector<Record> records{started(journal)};
      const auto lease = store->start(run_info(id), records);
      for (int steps = 0; steps < 50 && lease; ++steps) {
        records = {step(journal, "a")};
        static_cast<void>(store->append(lease.value(), records, RunStatus::running));
        static_cast<void>(store->run("absent-" + id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(narrow->met);
  for (int i = 0; i < 4; ++i) {
    const auto newest = narrow->latest("run-" + std::to_string(i));
    REQUIRE(newest.value().has_value());
    CHECK(newest.value()->trajectory.size() == 49);  // The last checkpoint has not ended.
  }
}

TEST_CASE("at a drain, the newest ended and every labelled checkpoint are saved",
          "[stores][simple]") {
  const auto shelf = std::make_shared<Shelf>();
  const auto store = make_store(shelf, Durability::process);
  CHECK(store->capabilities().durability == Durability::process);
  CHECK_FALSE(store->capabilities().background_appends);
  Journal journal("run-1");
  std::vector<Record> records{started(journal)};
  const auto lease = store->start(run_info("run-1"), records).value();
  CHECK(shelf->order == std::vector<std::string>{"run-1@1"});
  records = {step(journal, "a"), journal.label_checkpoint("first", at_ms(3)), step(journal, "b"),
             step(journal, "c")};
  REQUIRE_OK(store->append(lease, records, RunStatus::running));
  CHECK(shelf->order == std::vector<std::string>{"run-1@1", "run-1@3", "run-1@4"});
  CHECK(shelf->saved["run-1@3"].label == "first");
  CHECK(shelf->saved["run-1@4"].label.empty());
  CHECK(shelf->saved["run-1@4"].trajectory.size() == 2);
  REQUIRE_OK(store->append(lease, {}, RunStatus::running));
  CHECK(shelf->order.size() == 3);
}

TEST_CASE("another process goes on from what a simple store saved last", "[stores][simple]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    const auto shelf = std::make_shared<Shelf>();
    const auto store = make_store(shelf);
    Journal recorded("run-1");
    const auto records = random_run(recorded, seed, 60);
    const auto lease = store->start(run_info("run-1"), std::span(records).first(1)).value();
    Journal live("run-1");
    live.apply(records[0]);
    for (std::size_t at = 1; at < records.size();) {
      const std::size_t count = std::min(1 + random->next() % 5, records.size() - at);
      const auto part = std::span(records).subspan(at, count);
      REQUIRE_OK(store->append(lease, part, RunStatus::running));
      for (const Record& record : part) live.apply(record);
      at += count;

      const auto other = make_store(shelf);  // As in another process.
      const auto reading = other->read("run-1", {});
      REQUIRE_OK(reading);
      const auto again = Journal::fold(reading.value());
      REQUIRE_OK(again);
      const Journal& resumed = again.value();
      REQUIRE_FALSE(resumed.broken_at().has_value());
      REQUIRE(resumed.attempts() == live.attempts());
      REQUIRE(resumed.last() <= live.last());
      REQUIRE(equal_effects(resumed, live));
      REQUIRE(resumed.history().size() == live.history().size());
      REQUIRE(resumed.usage() == live.usage());
      if (live.branch().empty()) continue;
      const Checkpoint expected = live.restore(live.branch().back());
      const auto loaded = other->load(expected.info.id);
      REQUIRE_OK(loaded);
      REQUIRE(loaded.value().state == expected.state);
      REQUIRE(loaded.value().info.label == expected.info.label);
      REQUIRE(std::equal(loaded.value().trajectory.begin(), loaded.value().trajectory.end(),
                         expected.trajectory.begin(), expected.trajectory.end()));
    }
    const auto other = make_store(shelf);
    CHECK_ERRC(Errc::conflict, other->start(run_info("run-1"), {}));
    const auto taken = other->acquire("run-1");
    REQUIRE_OK(taken);
    Journal resumed = Journal::fold(other->read("run-1", {}).value()).value();
    const std::vector<Record> more{step(resumed, "more"), step(resumed, "last")};
    REQUIRE_OK(other->append(taken.value(), more, RunStatus::finished));
    CHECK(make_store(shelf)->run("run-1").value().status == RunStatus::finished);
    CHECK(make_store(shelf)->run("run-1").value().agent == "crawler");
  }
}

TEST_CASE("labelled checkpoints of another process can be loaded", "[stores][simple]") {
  const auto shelf = std::make_shared<Shelf>();
  Journal journal("run-1");
  {
    const auto store = make_store(shelf);
    std::vector<Record> records{started(journal), step(journal, "a"),
                                journal.change_state(Json{{"page", 1}}, at_ms(2)),
                                journal.label_checkpoint("first", at_ms(3))};
    for (int i = 0; i < 5; ++i) records.push_back(step(journal, "b"));
    REQUIRE_OK(store->start(run_info("run-1"), records));
  }
  const auto loaded = make_store(shelf)->load({"run-1", 4});
  REQUIRE_OK(loaded);
  CHECK(loaded.value().info.label == "first");
  CHECK(loaded.value().state.json() == Json({{"page", 1}}));
  CHECK(loaded.value().trajectory.size() == 1);
  CHECK_ERRC(Errc::not_found, make_store(shelf)->load({"run-1", 5}));
}

TEST_CASE("a save that fails is an error, and the next one saves what was kept",
          "[stores][simple]") {
  const auto shelf = std::make_shared<Shelf>();
  const auto store = make_store(shelf);
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
  const std::vector<Record> records{step(journal, "a"), step(journal, "b")};
  shelf->fail = true;
  CHECK_ERRC(Errc::io, store->append(lease, records, RunStatus::running));
  shelf->fail = false;
  shelf->throws = true;
  const auto thrown = store->append(lease, records, RunStatus::running);
  CHECK_ERRC(Errc::io, thrown);
  CHECK_THAT(thrown.error().detail, ContainsSubstring("no such bucket"));
  shelf->throws = false;
  REQUIRE_OK(store->append(lease, records, RunStatus::running));
  CHECK(shelf->order == std::vector<std::string>{"run-1@1", "run-1@2"});
  shelf->fail = true;
  CHECK_ERRC(Errc::io, store->start(run_info("run-2"), {&first, 1}));
  shelf->fail = false;
  REQUIRE_OK(store->start(run_info("run-2"), {&first, 1}));
}

TEST_CASE("what a simple store gives back is not trusted", "[stores][simple]") {
  const auto shelf = std::make_shared<Shelf>();
  Journal journal("run-1");
  const std::vector<Record> records{started(journal), step(journal, "a"), step(journal, "b")};
  REQUIRE_OK(make_store(shelf)->start(run_info("run-1"), records));
  SavedCheckpoint& saved = shelf->saved["run-1@2"];
  const SavedCheckpoint good = saved;
  const auto spoil = GENERATE(0, 1, 2, 3, 4, 5, 6);
  INFO(spoil);
  switch (spoil) {
    case 0: saved.run_data = nullptr; break;
    case 1: saved.run_data["facts"] = "none"; break;
    case 2: saved.trajectory = Json::array({5, Json::array()}); break;
    case 3: saved.run = "run-2"; break;
    case 4: saved.run_data["facts"] = Json::array(); break;
    case 5: saved.state = Json::array(); break;
    default: saved.id = "nonsense"; break;
  }
  const auto taken = make_store(shelf)->acquire("run-1");
  REQUIRE(taken.has_error());
  CHECK((taken.error().code == Errc::corrupt || taken.error().code == Errc::invalid_argument));
  saved = good;
  saved.run_data["format"] = 9;
  CHECK_ERRC(Errc::unsupported, make_store(shelf)->acquire("run-1"));
  CHECK_ERRC(Errc::invalid_argument, make_store(nullptr)->acquire("run-1"));
}
