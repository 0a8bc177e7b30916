// SPDX-License-Identifier: MIT
// What every store must do, whatever it is built on.
#include "stores/contract.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <algorithm>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

std::vector<Sequence> sequences(const JournalReading& reading) {
  std::vector<Sequence> all;
  for (const Record& record : reading.records) all.push_back(record.seq());
  return all;
}

}  // namespace

TEST_CASE("a started run is stored with what was said about it", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = in.store->start(run_info("run-1"), {&first, 1});
  REQUIRE_OK(lease);
  const auto info = in.store->run("run-1");
  REQUIRE_OK(info);
  CHECK(info.value().agent == "crawler");
  CHECK(info.value().label == "nightly");
  CHECK(info.value().parent == "parent-1");
  CHECK(info.value().status == RunStatus::running);
  CHECK(info.value().started == at_ms(1'000));
  CHECK(info.value().owned);
  CHECK(info.value().last == 1);
  const auto reading = in.store->read("run-1", {});
  REQUIRE_OK(reading);
  REQUIRE(reading.value().records.size() == 1);
  CHECK(same(reading.value().records[0], first));
  CHECK(reading.value().damaged.empty());
}

TEST_CASE("what does not exist is not found, and bad names are refused", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  CHECK_ERRC(Errc::not_found, in.store->run("run-1"));
  CHECK_ERRC(Errc::not_found, in.store->read("run-1", {}));
  CHECK_ERRC(Errc::not_found, in.store->acquire("run-1"));
  CHECK_ERRC(Errc::not_found, in.store->load({"run-1", 1}));
  CHECK_ERRC(Errc::not_found, in.store->load_state({"run-1", 1}));
  CHECK_ERRC(Errc::not_found, in.store->latest("run-1"));
  CHECK_ERRC(Errc::not_found, in.store->checkpoints("run-1"));
  if (in.kind.erases) CHECK_ERRC(Errc::not_found, in.store->erase("run-1"));
  CHECK_ERRC(Errc::invalid_argument, in.store->start(run_info(""), {}));
  CHECK_ERRC(Errc::invalid_argument, in.store->start(run_info(".hidden"), {}));
  CHECK_ERRC(Errc::invalid_argument, in.store->start(run_info("a b"), {}));
}

TEST_CASE("a run has one owner, and an old owner can change nothing", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const Record first = started(journal);
  const auto old = in.store->start(run_info("run-1"), {&first, 1});
  REQUIRE_OK(old);
  CHECK_ERRC(Errc::busy, in.store->acquire("run-1"));
  REQUIRE_OK(in.store->renew(old.value()));
  REQUIRE_OK(in.store->release(old.value()));
  REQUIRE_OK(in.store->release(old.value()));
  CHECK_FALSE(in.store->run("run-1").value().owned);
  const Record second = step(journal, "a");
  CHECK_ERRC(Errc::fenced, in.store->append(old.value(), {&second, 1}, RunStatus::running));

  const auto newer = in.store->acquire("run-1");
  REQUIRE_OK(newer);
  CHECK(newer.value().epoch > old.value().epoch);
  CHECK_ERRC(Errc::fenced, in.store->append(old.value(), {&second, 1}, RunStatus::finished));
  CHECK_ERRC(Errc::fenced, in.store->renew(old.value()));
  REQUIRE_OK(in.store->release(old.value()));
  CHECK(in.store->run("run-1").value().owned);
  CHECK(in.store->run("run-1").value().status == RunStatus::running);
  CHECK(in.store->run("run-1").value().last == 1);
  REQUIRE_OK(in.store->append(newer.value(), {&second, 1}, RunStatus::finished));
  CHECK(in.store->run("run-1").value().status == RunStatus::finished);
  CHECK(in.store->run("run-1").value().last == 2);
  CHECK(in.store->run("run-1").value().updated == at_ms(2'000));
}

TEST_CASE("a commit whose answer was lost can be repeated, but nothing is overwritten",
          "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = in.store->start(run_info("run-1"), {&first, 1}).value();
  const std::vector<Record> records{step(journal, "a"), step(journal, "b")};
  REQUIRE_OK(in.store->append(lease, records, RunStatus::running));
  REQUIRE_OK(in.store->append(lease, records, RunStatus::running));
  Journal other("run-1");
  static_cast<void>(started(other));
  static_cast<void>(step(other, "a"));
  const std::vector<Record> different{step(other, "changed"), step(other, "c")};
  CHECK_ERRC(Errc::conflict, in.store->append(lease, different, RunStatus::finished));
  const auto reading = in.store->read("run-1", {}).value();
  REQUIRE(sequences(reading) == std::vector<Sequence>{1, 2, 3});
  CHECK(same(reading.records[2], records[1]));
  CHECK(reading.info.status == RunStatus::running);
  REQUIRE_OK(in.store->append(lease, {}, RunStatus::aborted));
  CHECK(in.store->run("run-1").value().status == RunStatus::aborted);
}

TEST_CASE("a large commit that was stored in part is completed, or refused as a whole",
          "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = in.store->start(run_info("run-1"), {&first, 1}).value();
  std::vector<Record> records;
  for (int i = 0; i < 70; ++i) records.push_back(step(journal, "step " + std::to_string(i)));
  const std::span all(records);
  const std::size_t known = GENERATE(as<std::size_t>(), 0, 1, 15, 16, 17, 37, 64, 70);
  REQUIRE_OK(in.store->append(lease, all.first(known), RunStatus::running));

  Journal other("run-1");
  static_cast<void>(started(other));
  std::vector<Record> different;
  for (int i = 0; i < 70; ++i) different.push_back(step(other, "other " + std::to_string(i)));
  if (known != 0) {
    CHECK_ERRC(Errc::conflict, in.store->append(lease, different, RunStatus::running));
    CHECK(in.store->read("run-1", {}).value().records.size() == known + 1);
  }
  REQUIRE_OK(in.store->append(lease, all, RunStatus::running));
  const auto reading = in.store->read("run-1", {}).value();
  REQUIRE(reading.records.size() == 71);
  for (std::size_t i = 0; i < 70; ++i) CHECK(same(reading.records[i + 1], records[i]));
}

TEST_CASE("in a group, each run gets its own outcome", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  std::vector<Journal> journals;
  std::vector<Lease> leases;
  std::vector<std::vector<Record>> records;
  for (const char* name : {"good-1", "stale", "clash", "good-2"}) {
    Journal& journal = journals.emplace_back(name);
    const Record first = started(journal);
    leases.push_back(in.store->start(run_info(name), {&first, 1}).value());
    records.push_back({step(journal, "a"), step(journal, "b")});
  }
  REQUIRE_OK(in.store->release(leases[1]));
  REQUIRE_OK(in.store->acquire("stale"));
  Journal other("clash");
  static_cast<void>(started(other));
  const std::vector<Record> clash{step(other, "different")};
  REQUIRE_OK(in.store->append(leases[2], clash, RunStatus::running));
  std::vector<AppendBatch> batches;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    batches.push_back({.lease = leases[i], .records = records[i], .status = RunStatus::finished});
  }
  in.store->append_group(batches);
  CHECK(batches[0].outcome.has_value());
  CHECK_ERRC(Errc::fenced, batches[1].outcome);
  CHECK_ERRC(Errc::conflict, batches[2].outcome);
  CHECK(batches[3].outcome.has_value());
  CHECK(in.store->run("good-1").value().last == 3);
  CHECK(in.store->run("stale").value().last == 1);
  CHECK(in.store->run("clash").value().last == 2);
  CHECK(in.store->run("clash").value().status == RunStatus::running);
  CHECK(in.store->run("good-2").value().status == RunStatus::finished);
}

TEST_CASE("any range of a journal can be read", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  Journal journal("run-1");
  const auto records = random_run(journal, 7, 60);
  REQUIRE_OK(in.store->start(run_info("run-1"), records));
  const Sequence last = records.back().seq();
  for (const auto& [first, until] : {std::pair<Sequence, Sequence>{1, last},
                                     {5, 9},
                                     {last, last},
                                     {last - 2, last + 100},
                                     {9, 5},
                                     {last + 1, last + 9}}) {
    const auto reading = in.store->read("run-1", {first, until});
    REQUIRE_OK(reading);
    std::vector<Sequence> expected;
    for (Sequence seq = first; seq <= std::min(until, last); ++seq) expected.push_back(seq);
    CHECK(sequences(reading.value()) == expected);
    for (const Record& record : reading.value().records) {
      CHECK(same(record, records[record.seq() - 1]));
    }
  }
}

TEST_CASE("restoring from a store gives what the live journal gives, at every checkpoint",
          "[stores]") {
  const auto kind = GENERATE(from_range(store_kinds()));
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Opened in(kind);
    INFO(in.kind.name << ", seed " << seed);
    Journal journal("run-1");
    const auto records = random_run(journal, seed, 25 * seed);
    REQUIRE_OK(in.store->start(run_info("run-1"), records));
    const auto latest = in.store->latest("run-1");
    REQUIRE_OK(latest);
    CHECK(latest.value().info.id == journal.latest().info.id);
    CHECK(latest.value().state == journal.state());
    CHECK(latest.value().trajectory.size() == journal.trajectory().size());
    const auto state = in.store->load_state(latest.value().info.id);
    if (latest.value().info.id.sequence != 0) {
      REQUIRE_OK(state);
      CHECK(state.value() == journal.state());
    }
    std::size_t found = 0;
    for (Sequence seq = 1; seq <= records.back().seq(); ++seq) {
      const CheckpointId id{"run-1", seq};
      const auto position = journal.find(seq);
      if (!position && id != journal.latest().info.id) {
        CHECK_ERRC(Errc::not_found, in.store->load(id));
        CHECK_ERRC(Errc::not_found, in.store->load_state(id));
        continue;
      }
      const Checkpoint live = position ? journal.restore(*position) : journal.latest();
      const auto loaded = in.store->load(id);
      REQUIRE_OK(loaded);
      REQUIRE(loaded.value().state == live.state);
      REQUIRE(std::equal(loaded.value().trajectory.begin(), loaded.value().trajectory.end(),
                         live.trajectory.begin(), live.trajectory.end()));
      const auto quick = in.store->load_state(id);
      REQUIRE_OK(quick);
      REQUIRE(quick.value() == live.state);
      ++found;
    }
    journal.end_checkpoint();
    CHECK(in.store->checkpoints("run-1").value().size() == journal.positions().size());
    CHECK(found == journal.positions().size());
  }
}

TEST_CASE("runs are listed newest first, by what is asked for", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  for (int i = 0; i < 6; ++i) {
    RunInfo info = run_info("run-" + std::to_string(i), 1'000 * (i + 1));
    info.agent = i % 2 == 0 ? "even" : "odd";
    info.label = i < 3 ? "low" : "high";
    if (i == 5) info.parent = "run-0";
    Journal journal(info.id);
    const Record first = started(journal, 1'000 * (i + 1));
    const auto lease = in.store->start(info, {&first, 1});
    REQUIRE_OK(lease);
    if (i == 4) REQUIRE_OK(in.store->append(lease.value(), {}, RunStatus::finished));
  }
  const auto ids = [&](const RunQuery& query) {
    std::string all;
    const std::vector<RunInfo> found = in.store->runs(query).value();
    for (const RunInfo& info : found) all += info.id.back();
    return all;
  };
  RunQuery query;
  CHECK(ids(query) == "543210");
  query.limit = 2;
  CHECK(ids(query) == "54");
  query = {};
  query.agent = "odd";
  CHECK(ids(query) == "531");
  query.label = "low";
  CHECK(ids(query) == "1");
  query = {};
  query.parent = "run-0";
  CHECK(ids(query) == "5");
  query = {};
  query.status = RunStatus::finished;
  CHECK(ids(query) == "4");
  query = {};
  query.started_since = at_ms(2'000);
  query.started_until = at_ms(4'000);
  CHECK(ids(query) == "21");
}

TEST_CASE("pruning removes ended runs only, and never one that is under way", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  if (!in.kind.erases) {
    CHECK_ERRC(Errc::unsupported, in.store->erase("run-1"));
    return;
  }
  std::vector<Lease> leases;
  for (int i = 0; i < 6; ++i) {
    const std::string id = "run-" + std::to_string(i);
    Journal journal(id);
    const Record first = started(journal, 1'000 * (i + 1));
    leases.push_back(in.store->start(run_info(id, 1'000 * (i + 1)), {&first, 1}).value());
  }
  CHECK_ERRC(Errc::busy, in.store->erase("run-0"));
  for (const std::size_t ended : {0U, 1U, 2U, 3U}) {
    REQUIRE_OK(in.store->append(leases[ended], {}, RunStatus::finished));
    REQUIRE_OK(in.store->release(leases[ended]));
  }
  CHECK(in.store->prune({.keep_since = at_ms(2'000)}).value() == 1);
  CHECK(in.store->prune({.keep_newest = 4}).value() == 1);
  CHECK(in.store->runs({}).value().size() == 4);
  CHECK(in.store->prune({.keep_newest = 0}).value() == 2);
  CHECK(in.store->runs({}).value().size() == 2);
  REQUIRE_OK(in.store->release(leases[4]));
  CHECK(in.store->prune({.keep_newest = 0}).value() == 0);
  CHECK(in.store->prune({.keep_newest = 0, .only_ended = false}).value() == 1);
  CHECK_ERRC(Errc::not_found, in.store->read("run-4", {}));
}

TEST_CASE("a lease of an erased run fits no later run of the same name", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  if (!in.kind.erases) return;
  Journal journal("run-1");
  const Record first = started(journal);
  const auto old = in.store->start(run_info("run-1"), {&first, 1}).value();
  REQUIRE_OK(in.store->release(old));
  REQUIRE_OK(in.store->erase("run-1"));
  REQUIRE_OK(in.store->start(run_info("run-1"), {&first, 1}));
  const Record second = step(journal, "a");
  CHECK_ERRC(Errc::fenced, in.store->append(old, {&second, 1}, RunStatus::running));
}

TEST_CASE("keys are versioned, and written only over what was read", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  const std::string odd("a\0b\xff", 4);
  CHECK_FALSE(in.store->get("space", "key").value().has_value());
  CHECK_ERRC(Errc::conflict, in.store->put_if("space", "key", 1, "x"));
  CHECK(in.store->put_if("space", "key", 0, "one").value() == 1);
  CHECK_ERRC(Errc::conflict, in.store->put_if("space", "key", 0, "x"));
  CHECK(in.store->put_if("space", "key", 1, odd).value() == 2);
  CHECK(in.store->get("space", "key").value()->bytes == odd);
  CHECK(in.store->get("space", "key").value()->version == 2);
  CHECK_FALSE(in.store->get("other", "key").value().has_value());
  for (const std::string& key : {std::string("k/b"), std::string("k/a"), std::string("k"), odd,
                                 std::string("l"), std::string()}) {
    CHECK(in.store->put_if("list", key, 0, "").value() == 1);
  }
  CHECK(in.store->list("list", "k").value() == std::vector<std::string>{"k", "k/a", "k/b"});
  CHECK(in.store->list("list", odd).value() == std::vector<std::string>{odd});
  CHECK(in.store->list("list", "").value().size() == 6);
  CHECK(in.store->list("none", "").value().empty());
  CHECK(in.store->get("list", "k").value()->bytes.empty());
}

TEST_CASE("eight threads share a store and lose nothing", "[stores]") {
  Opened in(GENERATE(from_range(store_kinds())));
  INFO(in.kind.name);
  constexpr int threads = 8;
  constexpr int steps = 40;
  std::vector<std::thread> workers;
  std::vector<std::string> errors(threads);
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const std::string id = "run-" + std::to_string(t);
      Journal journal(id);
      const Record first = started(journal);
      const auto lease = in.store->start(run_info(id), {&first, 1});
      if (!lease) errors[static_cast<std::size_t>(t)] = lease.error().detail;
      for (int i = 0; i < steps && lease; ++i) {
        const Record record = step(journal, std::to_string(i));
        const auto done = in.store->append(lease.value(), {&record, 1}, RunStatus::running);
        if (!done) errors[static_cast<std::size_t>(t)] = done.error().detail;
        if (i % 10 == 0) static_cast<void>(in.store->runs({}));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (int t = 0; t < threads; ++t) {
    CHECK(errors[static_cast<std::size_t>(t)].empty());
    const auto reading = in.store->read("run-" + std::to_string(t), {});
    REQUIRE_OK(reading);
    CHECK(reading.value().records.size() == steps + 1);
    CHECK(reading.value().damaged.empty());
  }
}
