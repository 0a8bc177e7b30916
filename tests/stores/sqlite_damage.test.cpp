// SPDX-License-Identifier: MIT
// Files whose bytes differ from what was written.
#include "triage/stores/sqlite.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

struct Damaged {
  TempFolder folder{};
  std::string path = folder.file("a.db");
  Journal journal{"run-1"};
  std::vector<Record> records = random_run(journal, 5, 80);

  Damaged() {
    const auto store = SqliteStore::open(path).value();
    REQUIRE_OK(store->start(run_info("run-1"), records));
  }
  void edit(const std::string& sql) const {
    SQLite::Database(path, SQLite::OPEN_READWRITE).exec(sql);
  }
};

}  // namespace

TEST_CASE("a record that was changed is reported and never used", "[stores][sqlite][damage]") {
  Damaged in;
  const std::string change =
      GENERATE("body = x'a0'", "body = zeroblob(length(body))", "body = CAST('text' AS TEXT)",
               "body = 5", "crc = crc + 1", "crc = 'no number'", "kind = kind % 20 + 1",
               "kind = 3000", "time = time + 1", "epoch = epoch + 1", "body = body || x'00'");
  INFO(change);
  in.edit("UPDATE records SET " + change + " WHERE seq = 30");
  const auto store = SqliteStore::open(in.path).value();
  const auto reading = store->read("run-1", {});
  REQUIRE_OK(reading);
  REQUIRE(reading.value().damaged.size() == 1);
  CHECK(reading.value().damaged[0].seq == 30);
  CHECK(reading.value().damaged[0].error.code == Errc::corrupt);
  CHECK(reading.value().records.size() == in.records.size() - 1);
}

TEST_CASE("a run whose row was changed is reported and not continued", "[stores][sqlite][damage]") {
  Damaged in;
  const std::string change = GENERATE("status = 3 - status", "epoch = epoch + 1", "crc = crc + 1");
  INFO(change);
  in.edit("UPDATE runs SET " + change);
  const auto store = SqliteStore::open(in.path).value();
  CHECK_ERRC(Errc::corrupt, store->run("run-1"));
  CHECK_ERRC(Errc::corrupt, store->acquire("run-1"));
  CHECK_FALSE(store->check().value().empty());
}

TEST_CASE("a run that nothing can name keeps no other from being removed",
          "[stores][sqlite][damage]") {
  Damaged in;
  const auto store = SqliteStore::open(in.path).value();
  for (const RunId run : {"run-2", "run-3"}) {
    Journal journal(run);
    const Record first = started(journal);
    REQUIRE_OK(store->release(store->start(run_info(run), {&first, 1}).value()));
  }
  in.edit("UPDATE runs SET run_id = 'run 2' WHERE run_id = 'run-2'");
  CHECK(store->prune({.keep_newest = 0, .only_ended = false}).value() == 2);
  CHECK_ERRC(Errc::not_found, store->run("run-3"));
}

TEST_CASE("a record moved to another place is damaged there", "[stores][sqlite][damage]") {
  Damaged in;
  in.edit(
      "UPDATE records SET seq = 100000 WHERE seq = 30; UPDATE records SET seq = 30 WHERE seq = 31; "
      "UPDATE records SET seq = 31 WHERE seq = 100000");
  const auto reading = SqliteStore::open(in.path).value()->read("run-1", {}).value();
  REQUIRE(reading.damaged.size() == 2);
  CHECK(reading.damaged[0].seq == 30);
  CHECK(reading.damaged[1].seq == 31);
}

TEST_CASE("behind a damaged record, the newest intact checkpoint before it is restored",
          "[stores][sqlite][damage]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  Journal journal("run-1");
  std::vector<Record> records{started(journal)};
  for (int i = 0; i < 10; ++i) {
    records.push_back(step(journal, std::to_string(i)));
    records.push_back(journal.change_state(Json{{"page", i}}, at_ms(5)));
  }
  {
    const auto store = SqliteStore::open(path).value();
    REQUIRE_OK(store->start(run_info("run-1"), records));
  }
  // Record 12 is step 5; 11 is the state after step 4.
  SQLite::Database(path, SQLite::OPEN_READWRITE)
      .exec("UPDATE records SET body = x'00' WHERE seq = 12");
  const auto store = SqliteStore::open(path).value();
  const auto latest = store->latest("run-1");
  REQUIRE_OK(latest);
  CHECK(latest.value().info.id.sequence == 11);
  CHECK(latest.value().state.json() == Json({{"page", 4}}));
  CHECK_ERRC(Errc::corrupt, store->load({"run-1", 15}));
  CHECK(store->load_state({"run-1", 11}).value().json() == Json({{"page", 4}}));
  // A state does not depend on steps, so it is available even after a damaged one.
  CHECK(store->load_state({"run-1", 15}).value().json() == Json({{"page", 6}}));

  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("DELETE FROM records WHERE seq = 12");
  CHECK_ERRC(Errc::corrupt, store->load({"run-1", 15}));
  CHECK_ERRC(Errc::corrupt, store->load_state({"run-1", 15}));
  SQLite::Database(path, SQLite::OPEN_READWRITE)
      .exec("UPDATE records SET body = x'00' WHERE seq = 1");
  CHECK_ERRC(Errc::corrupt, store->latest("run-1"));
}

TEST_CASE("a changed record is not taken for the same one", "[stores][sqlite][damage]") {
  TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
  const Record second = step(journal, "a");
  REQUIRE_OK(store->append(lease, {&second, 1}, RunStatus::running));
  SQLite::Database(folder.file("a.db"), SQLite::OPEN_READWRITE)
      .exec("UPDATE records SET body = x'a0' WHERE seq = 2");
  CHECK_ERRC(Errc::conflict, store->append(lease, {&second, 1}, RunStatus::running));
}

TEST_CASE("a damaged mark of an erasure goes, and takes no record of a run along",
          "[stores][sqlite][damage]") {
  Damaged in;
  const std::string mark =
      GENERATE("'erasing/12', 13", "'erasing/12', 1", "'erasing/1', 1", "'erasing/1', 12",
               "'erasing/', 12", "'erasing/12', NULL", "'erasing/12', 'text'", "'erasing/1', '1'",
               "'erasing/1', x'31'", "'erasing/1', 1.0", "CAST(x'65726173696e672fb1' AS TEXT), 1");
  const bool many = GENERATE(false, true);
  INFO(mark << (many ? ", several" : ", one"));
  const auto store = SqliteStore::open(in.path).value();
  Journal journal("gone");
  const Record first = started(journal);
  REQUIRE_OK(store->release(store->start(run_info("gone"), {&first, 1}).value()));
  // Behind it, an intact mark with a record.
  in.edit("INSERT INTO meta VALUES(" + mark +
          "), ('erasing/77', 77); INSERT INTO records(run, seq, epoch, kind, time, crc, body) "
          "VALUES(77, 1, 1, 1, 1, 1, x'a0')");
  SQLite::Database look(in.path, SQLite::OPEN_READONLY);
  REQUIRE(look.execAndGet("SELECT run FROM runs WHERE run_id = 'run-1'").getInt() == 1);
  if (many) {
    const std::vector<RunId> runs{"gone"};
    CHECK(store->erase_all(runs).value() == 1);
  } else {
    REQUIRE_OK(store->erase("gone"));
  }
  const auto reading = store->read("run-1", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().damaged.empty());
  CHECK(reading.value().records.size() == in.records.size());
  CHECK(look.execAndGet("SELECT count(*) FROM meta").getInt() == 1);
  CHECK(look.execAndGet("SELECT count(*) FROM records WHERE run <> 1").getInt() == 0);
}

TEST_CASE("no change of bytes in a file makes the store crash or give wrong records",
          "[stores][sqlite][damage]") {
  Damaged in;
  std::string intact;
  {
    std::ifstream file(in.path, std::ios::binary);
    intact.assign(std::istreambuf_iterator<char>(file), {});
  }
  constexpr std::uint64_t seeds = 150;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    std::string bytes = intact;
    const std::string path = in.folder.file("damaged.db");
    const std::uint64_t changes = 1 + random->next() % 40;
    for (std::uint64_t i = 0; i < changes; ++i) {
      bytes[random->next() % bytes.size()] = static_cast<char>(random->next());
    }
    if (seed % 5 == 0) bytes.resize(random->next() % bytes.size());
    if (seed % 7 == 0) {  // A whole page.
      const std::size_t page = random->next() % (bytes.size() / 4096 + 1) * 4096;
      for (std::size_t i = page; i < std::min(bytes.size(), page + 4096); ++i) {
        bytes[i] = static_cast<char>(random->next());
      }
    }
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
    std::ofstream(path, std::ios::binary) << bytes;
    const auto store = SqliteStore::open(path);
    if (!store) continue;
    static_cast<void>(store.value()->runs({}));
    static_cast<void>(store.value()->latest("run-1"));
    static_cast<void>(store.value()->load_state({"run-1", 40}));
    const auto reading = store.value()->read("run-1", {});
    if (!reading) continue;
    for (const Record& record : reading.value().records) {
      REQUIRE(record.seq() >= 1);
      REQUIRE(record.seq() <= in.records.size());
      REQUIRE(same(record, in.records[record.seq() - 1]));
    }
    const auto lease = store.value()->acquire("run-1");
    if (lease) static_cast<void>(store.value()->append(lease.value(), {}, RunStatus::running));
  }
}

TEST_CASE("an effect whose intent was damaged after a crash is in doubt, not forgotten",
          "[stores][sqlite][damage]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  int paid = 0;
  const auto run = [&](const Reconcile& reconcile) {
    FailurePolicy policy;
    policy.otherwise(
        Strategy("none", [](const FailureContext&) { return RecoveryAction::escalate(); }));
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                              return attempt.effect("pay",
                                                    [&]() -> int {
                                                      if (++paid == 1)
                                                        throw std::runtime_error("cut off");
                                                      return paid;
                                                    },
                                                    {.reconcile = reconcile});
                            },
                            policy,
                            {.store = SqliteStore::open(path).value()}};
    return agent.run_or_resume("r", std::string("x"), {.revive = true});
  };
  CHECK_ERRC(Errc::escalated, run({}));
  const std::string change =
      GENERATE("UPDATE records SET body = x'00' WHERE kind = 9",
               "UPDATE records SET kind = 11 WHERE kind = 9", "DELETE FROM records WHERE kind = 9");
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec(change);
  CHECK_ERRC(Errc::in_doubt, run({}));
  CHECK(paid == 1);
  CHECK(run([] { return Reconciled::done(1); }).value() == 1);
  CHECK(paid == 1);
  CHECK(run({}).value() == 1);  // The findings are recorded.
}
