// SPDX-License-Identifier: MIT
// Continuing a run costs what is left of it, and restores the same as reading the whole journal.
#include "stores/contract.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <random>

using namespace triage;
using namespace triage::test;

namespace {

std::vector<Step> steps_of(const Trajectory& trajectory) {
  return {trajectory.begin(), trajectory.end()};
}

// The reading used to continue a run equals the whole one, except for states that can be looked up.
void check_same(CheckpointStore& store, const RunId& run) {
  const Journal whole = Journal::fold(store.read(run, {}).value()).value();
  const Journal newest = Journal::fold(store.read_newest(run).value()).value();
  CHECK(newest.last() == whole.last());
  CHECK(newest.state() == whole.state());
  CHECK(newest.latest().info.id == whole.latest().info.id);
  CHECK(steps_of(newest.trajectory()) == steps_of(whole.trajectory()));
  CHECK(newest.branch() == whole.branch());
  CHECK(newest.history() == whole.history());
  CHECK(newest.usage() == whole.usage());
  CHECK(newest.attempts() == whole.attempts());
  CHECK(newest.broken_at() == whole.broken_at());
  CHECK(newest.lost_intent() == whole.lost_intent());
  REQUIRE(newest.effects().size() == whole.effects().size());
  for (const auto& [key, effect] : whole.effects()) {
    CHECK(newest.effects().at(key).status == effect.status);
    CHECK(newest.effects().at(key).known_at == effect.known_at);
  }
  REQUIRE(newest.positions().size() == whole.positions().size());
  for (std::size_t i = 0; i < whole.positions().size(); ++i) {
    CHECK(newest.info(i).id == whole.info(i).id);
    CHECK(newest.info(i).label == whole.info(i).label);
    INFO("position " << i << " at " << whole.positions()[i].seq);
    if (newest.knows_state(i)) {
      CHECK(newest.restore(i).state == whole.restore(i).state);
    } else {
      CHECK(store.load_state(whole.info(i).id).value() == whole.restore(i).state);
    }
  }
}

std::int64_t bytes_of(CheckpointStore& store, const RunId& run) {
  std::int64_t bytes = 0;
  const JournalReading reading = store.read(run, {}).value();
  for (const Record& record : reading.records) {
    std::string body;
    record.encode_body(body);
    bytes += static_cast<std::int64_t>(body.size());
  }
  return bytes;
}

}  // namespace

TEST_CASE("what is read for going on with a run is what the whole journal says",
          "[bounds][newest]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    const RunId run = "run-" + std::to_string(seed);
    Journal journal(run);
    std::vector<Record> records = random_run(journal, seed, 150);
    // Continues elsewhere without a snapshot, like resuming.
    std::mt19937_64 random(seed);
    for (int i = 0; i < 4 && !journal.positions().empty(); ++i) {
      const auto& to = journal.positions()[random() % journal.positions().size()];
      records.push_back(
          journal.add(RecordKind::resumed, at_ms(1), Json{{"to", to.seq}, {"reason", "x"}}));
      records.push_back(journal.change_state(Json{{"after", i}}, at_ms(1)));
      records.push_back(step(journal, "after"));
    }
    const Lease lease = store->start(run_info(run), {records.data(), 1}).value();
    REQUIRE_OK(store->append(lease, std::span(records).subspan(1), RunStatus::running));
    CHECK(Journal::fold(store->read(run, {}).value()).value().state() == journal.state());
    check_same(*store, run);
  }
}

TEST_CASE("a run of many state changes is continued without keeping them", "[bounds][newest]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  Journal journal("r");
  std::vector<Record> records{started(journal)};
  for (int i = 0; i < 20'000; ++i) {
    records.push_back(journal.change_state(Json{{"n", i}}, at_ms(1)));
    if (journal.wants_snapshot()) {
      records.push_back(journal.snapshot_state(journal.state().json(), false, at_ms(1)));
    }
  }
  const Lease lease = store->start(run_info("r"), {records.data(), 1}).value();
  REQUIRE_OK(store->append(lease, std::span(records).subspan(1), RunStatus::running));
  const JournalReading reading = store->read_newest("r").value();
  CHECK(reading.records.size() < 1'000);
  CHECK(Journal::fold(reading).value().state().json() == Json{{"n", 19'999}});
  check_same(*store, "r");
}

TEST_CASE("a damaged state change is judged as if the whole journal were read",
          "[bounds][newest]") {
  const TempFolder folder;
  {
    const auto store = SqliteStore::open(folder.file("a.db")).value();
    Journal journal("r");
    std::vector<Record> records = random_run(journal, 9, 300);
    const Lease lease = store->start(run_info("r"), {records.data(), 1}).value();
    REQUIRE_OK(store->append(lease, std::span(records).subspan(1), RunStatus::running));
  }
  SQLite::Database(folder.file("a.db"), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE records SET crc = crc + 1 WHERE seq = (SELECT min(seq) FROM records WHERE "
          "kind = 4)");
  check_same(*SqliteStore::open(folder.file("a.db")).value(), "r");
}

TEST_CASE("a process that dies again and again does not store the state again each time",
          "[bounds][newest]") {
  const TempFolder folder;
  AgentOptions options;
  options.max_crashes = 0;
  options.store = SqliteStore::open(folder.file("a.db")).value();
  const std::string large(1U << 20U, 'x');
  bool first = true;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> std::string {
                            if (std::exchange(first, false)) {
                              attempt.record_step({.action = "fetch"});
                              attempt.update_state({{"page", large}});
                            }
                            CHECK(attempt.state().value("page", std::string()) == large);
                            throw std::runtime_error("died");
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  const std::int64_t before = bytes_of(*options.store, "r");
  for (int i = 0; i < 6; ++i) CHECK_ERRC(Errc::escalated, agent.resume_run("r"));
  CHECK(bytes_of(*options.store, "r") - before < 100'000);
  check_same(*options.store, "r");
  CHECK(options.store->load_state(options.store->latest("r").value().info.id).value().size() == 1);
}

TEST_CASE("a resumed run can be rolled back to a checkpoint whose state was not read",
          "[bounds][newest]") {
  const TempFolder folder;
  AgentOptions options;
  options.store = SqliteStore::open(folder.file("a.db")).value();
  bool first = true;
  std::vector<std::string> began;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> std::string {
        began.push_back(attempt.state().json().dump());
        if (std::exchange(first, false)) {
          attempt.record_step({.action = "early"});
          attempt.update_state({{"n", -1}});
          static_cast<void>(attempt.checkpoint("early"));
          for (int i = 0; i < 2'000; ++i) attempt.update_state({{"n", i}});
        }
        if (began.size() == 3) return "done";
        throw std::runtime_error("timeout");
      },
      answers({RecoveryAction::escalate(),
               RecoveryAction::rollback({.kind = RollbackTarget::Kind::label, .name = "early"})}),
      options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK(options.store->read_newest("r").value().state_from > 100);
  REQUIRE_OK(agent.resume_run("r"));
  CHECK(began == std::vector<std::string>{"{}", R"({"n":1999})", R"({"n":-1})"});
}
