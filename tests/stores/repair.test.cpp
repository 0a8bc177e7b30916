// SPDX-License-Identifier: MIT
// Damage is found, nothing after it is trusted, and setting it aside loses nothing more.
#include "triage/repair.hpp"

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"
#include "triage/detail/hex.hpp"
#include "triage/journal.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/sqlite.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <functional>

using namespace triage;
using namespace triage::test;

namespace {

using Agent = TriageAgent<std::function<Result<int>(const std::string&, Attempt&)>>;

// Steps, state, a label, and effects before and after them; then it gives up.
Agent make_agent(const std::shared_ptr<CheckpointStore>& store, int& paid) {
  return {[&paid](const std::string&, Attempt& attempt) -> Result<int> {
            attempt.record_step({.action = "plan"});
            attempt.update_state({{"page", 1}});
            attempt.effect("mail", [] { return 1; });
            static_cast<void>(attempt.checkpoint("mailed"));
            attempt.record_step({.action = "fetch"});
            attempt.update_state({{"page", 2}});
            attempt.effect("pay", [&paid] { return ++paid; });
            attempt.record_step({.action = "store"});
            return attempt.fail({.text = "stopped"});
          },
          FailurePolicy().otherwise(escalate("Look.")),
          {.store = store}};
}

void make_run(const std::shared_ptr<CheckpointStore>& store) {
  int paid = 0;
  CHECK_ERRC(Errc::escalated, make_agent(store, paid).run("x", {.run_id = "r"}));
  CHECK(paid == 1);
}

std::string body_of(const Record& record) {
  std::string body;
  record.encode_body(body);
  return body;
}

// The newest checkpoint that can be restored from the intact run's records before this one.
Checkpoint newest_before(const JournalReading& intact, Sequence lost) {
  JournalReading part = intact;
  std::erase_if(part.records, [lost](const Record& record) { return record.seq() >= lost; });
  part.info.last = lost - 1;
  return Journal::fold(part).value().latest();
}

// Everything read is what was written, and nothing after damage is used.
void check_reading(const JournalReading& intact, const Result<JournalReading>& reading) {
  if (!reading) {
    const Errc code = reading.error().code;
    const bool typed =
        code == Errc::corrupt || code == Errc::not_found || code == Errc::unsupported;
    CHECK(typed);
    return;
  }
  for (const Record& record : reading.value().records) {
    REQUIRE(record.seq() >= 1);
    REQUIRE(record.seq() <= intact.records.size());
    const Record& written = intact.records[record.seq() - 1];
    REQUIRE(record.kind() == written.kind());
    REQUIRE(record.time() == written.time());
    REQUIRE(body_of(record) == body_of(written));
  }
  const auto lost = lost_records(reading.value());
  const auto journal = Journal::fold(reading.value());
  if (!journal) {
    REQUIRE_FALSE(lost.empty());
    REQUIRE(lost.front().first == 1);
    return;
  }
  const Sequence first_lost = lost.empty() ? intact.info.last + 1 : lost.front().first;
  const Checkpoint expected = newest_before(intact, first_lost);
  const Checkpoint found = journal.value().latest();
  REQUIRE(found.info.id.sequence == expected.info.id.sequence);
  REQUIRE(found.state == expected.state);
  REQUIRE(found.trajectory.size() == expected.trajectory.size());
  // An effect whose records are lost is never taken for one that did not happen.
  for (const char* key : {"mail", "pay"}) {
    REQUIRE(journal.value().effect(key).status != EffectState::Status::absent);
    REQUIRE(journal.value().effect(key).status != EffectState::Status::withdrawn);
  }
}

// A SQLite file, changed behind the store's back.
class Behind {
 public:
  explicit Behind(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
  }
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;
  ~Behind() { sqlite3_close(database_); }
  void run(const std::string& sql) const {
    REQUIRE(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }

 private:
  sqlite3* database_ = nullptr;
};

Sequence sequence_of(const JournalReading& reading, RecordKind kind, const std::string& key = {}) {
  for (const Record& record : reading.records) {
    if (record.kind() != kind) continue;
    if (key.empty() || record.body().value().value("key", "") == key) return record.seq();
  }
  return 0;
}

// The run with one damaged record.
struct Damaged {
  TempFolder folder{};
  std::shared_ptr<SqliteStore> store = SqliteStore::open(folder.file("a.db")).value();
  Sequence seq = 0;

  explicit Damaged(RecordKind kind, const std::string& key = {}) {
    make_run(store);
    seq = sequence_of(store->read("r", {}).value(), kind, key);
    REQUIRE(seq != 0);
    Behind(folder.file("a.db"))
        .run("UPDATE records SET body = body || x'00' WHERE seq = " + std::to_string(seq));
  }
};

}  // namespace

TEST_CASE(
    "every flipped bit of a journal in a file is found, and the newest good checkpoint stands",
    "[stores][damage][json_file]") {
  const TempFolder folder;
  JournalReading intact;
  {
    const auto store = JsonFileStore::open(folder.file("runs"));
    REQUIRE_OK(store);
    make_run(store.value());
    intact = store.value()->read("r", {}).value();
  }
  REQUIRE(intact.records.size() == intact.info.last);
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.file("runs"))) {
    const std::string text = entry.is_regular_file() ? read_text(entry.path()) : "";
    if (text.find("plan") != std::string::npos) file = entry.path();
  }
  const std::string bytes = read_text(file);
  REQUIRE(bytes.size() > 500);
  std::size_t unharmed = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      INFO("byte " << at << ", bit " << bit);
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << bit));
      std::ofstream(file, std::ios::binary | std::ios::trunc) << flipped;
      const auto store = JsonFileStore::open(folder.file("runs"), {.read_only = true});
      if (!store) continue;
      const auto reading = store.value()->read("r", {});
      check_reading(intact, reading);
      if (reading && lost_records(reading.value()).empty()) ++unharmed;
    }
  }
  CAPTURE(unharmed);
  CHECK(unharmed < bytes.size() * 8 / 4);  // Outside checksums, without consequences.
}

TEST_CASE("every flipped bit of a record in SQLite is found, and the newest good checkpoint stands",
          "[stores][damage][sqlite]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db"));
  REQUIRE_OK(store);
  make_run(store.value());
  const JournalReading intact = store.value()->read("r", {}).value();
  const Behind behind(folder.file("a.db"));
  behind.run("PRAGMA synchronous = OFF");
  for (const Record& record : intact.records) {
    const std::string body = body_of(record);
    const std::string where = " WHERE seq = " + std::to_string(record.seq());
    for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
      INFO("record " << record.seq() << ", bit " << bit);
      std::string flipped = body;
      flipped[bit / 8] =
          static_cast<char>(static_cast<unsigned char>(flipped[bit / 8]) ^ (1U << (bit % 8)));
      behind.run("UPDATE records SET body = x'" + detail::to_hex(flipped) + "'" + where);
      const auto reading = store.value()->read("r", {});
      check_reading(intact, reading);
      REQUIRE_FALSE(lost_records(reading.value()).empty());
    }
    behind.run("UPDATE records SET body = x'" + detail::to_hex(body) + "'" + where);
    for (int bit = 0; bit < 32; ++bit) {
      const std::string flip = " = (crc | (1 << " + std::to_string(bit) + ")) - (crc & (1 << " +
                               std::to_string(bit) + "))";
      behind.run("UPDATE records SET crc" + flip + where);
      const auto reading = store.value()->read("r", {});
      check_reading(intact, reading);
      REQUIRE_FALSE(lost_records(reading.value()).empty());
      behind.run("UPDATE records SET crc" + flip + where);
    }
  }
  check_reading(intact, store.value()->read("r", {}));
  CHECK(lost_records(store.value()->read("r", {}).value()).empty());
}

TEST_CASE("a repair names what is lost, once, and keeps everything else", "[stores][damage]") {
  const Damaged run(RecordKind::state_changed);
  const auto before = run.store->read("r", {}).value();
  const auto repaired = repair_run(*run.store, "r");
  REQUIRE_OK(repaired);
  REQUIRE(repaired.value().lost.size() == 1);
  CHECK(repaired.value().lost[0].first == run.seq);
  CHECK(repaired.value().newest == Journal::fold(before).value().latest().info.id);
  const auto after = run.store->read("r", {}).value();
  CHECK(after.records.size() == before.records.size() + 1);
  CHECK(after.damaged.size() == 1);  // It stays where it is, for inspection.
  CHECK(after.info.status == RunStatus::escalated);
  REQUIRE(lost_records(after).size() == 1);
  CHECK(lost_records(after)[0].set_aside);
  CHECK(Journal::fold(after).value().latest().info.id == repaired.value().newest);
  CHECK(Journal::fold(after).value().effect("pay").status == EffectState::Status::completed);

  const auto again = repair_run(*run.store, "r");
  REQUIRE_OK(again);
  CHECK(again.value().lost.empty());
  CHECK(run.store->read("r", {}).value().records.size() == after.records.size());
}

TEST_CASE("effects behind the damage are not done again after a repair", "[stores][damage]") {
  const Damaged run(RecordKind::step);
  REQUIRE_OK(repair_run(*run.store, "r"));
  int paid = 0;
  CHECK_ERRC(Errc::escalated, make_agent(run.store, paid).resume_run("r"));
  CHECK(paid == 0);
}

TEST_CASE("an intent that is lost never reads as an effect that was not begun",
          "[stores][damage]") {
  int paid = 0;
  SECTION("its record is damaged") {
    const Damaged run(RecordKind::effect_intended, "pay");
    Behind(run.folder.file("a.db"))
        .run("DELETE FROM records WHERE seq > " + std::to_string(run.seq));
    const auto repaired = repair_run(*run.store, "r");
    REQUIRE_OK(repaired);
    CHECK(repaired.value().effects_in_doubt);
    CHECK_FALSE(make_agent(run.store, paid).resume_run("r"));
  }
  SECTION("records are missing behind which others are") {
    const Damaged run(RecordKind::effect_intended, "pay");
    Behind(run.folder.file("a.db"))
        .run("DELETE FROM records WHERE seq IN (" + std::to_string(run.seq) + ", " +
             std::to_string(run.seq + 1) + ")");
    const auto repaired = repair_run(*run.store, "r");
    REQUIRE_OK(repaired);
    CHECK(repaired.value().lost.at(0).last == run.seq + 1);
    CHECK(repaired.value().effects_in_doubt);
    const JournalReading after = run.store->read("r", {}).value();
    REQUIRE(lost_records(after).size() == 1);
    CHECK(lost_records(after)[0].set_aside);
    CHECK(Journal::fold(after).value().effect("pay").status == EffectState::Status::intended);
    CHECK_FALSE(make_agent(run.store, paid).resume_run("r"));
  }
  CHECK(paid == 0);
}

TEST_CASE("a finished run with a hole tells its result, unless that may be an earlier one",
          "[stores][damage]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  int paid = 0;
  const Agent agent{[&paid](const std::string&, Attempt& attempt) -> Result<int> {
                      attempt.record_step({.action = "plan"});
                      attempt.update_state({{"page", 1}});
                      attempt.effect("pay", [&paid] { return ++paid; });
                      return attempt.number();
                    },
                    FailurePolicy(),
                    {.store = store}};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  const JournalReading whole = store->read("r", {}).value();
  const Behind file(folder.file("a.db"));
  const std::string early = std::to_string(sequence_of(whole, RecordKind::state_changed));
  SECTION("the newest end is there") {
    file.run("UPDATE records SET time = time + 1 WHERE seq = " + early);
    CHECK(agent.resume_run("r").value() == 1);
    REQUIRE_OK(repair_run(*store, "r"));
    CHECK(agent.resume_run("r").value() == 1);
  }
  SECTION("the newest end is lost, an earlier one is not") {
    const std::string from = to_string(Journal::fold(whole).value().latest().info.id);
    CHECK(agent.resume_run("r", {.from = from}).value() == 2);
    const Sequence last = store->read("r", {}).value().info.last;
    REQUIRE(last > whole.info.last);
    file.run("UPDATE records SET time = time + 1 WHERE seq = " + early);
    const bool gone = GENERATE(true, false);
    file.run((gone ? "DELETE FROM records WHERE seq = "
                   : "UPDATE records SET time = time + 1 WHERE seq = ") +
             std::to_string(last));
    CHECK_ERRC(Errc::corrupt, agent.resume_run("r"));
  }
  CHECK(paid == 1);
}

TEST_CASE("a repair refuses what it cannot help, or must not touch", "[stores][damage]") {
  const Damaged run(RecordKind::run_started);
  CHECK_ERRC(Errc::corrupt, repair_run(*run.store, "r"));
  CHECK_ERRC(Errc::not_found, repair_run(*run.store, "nobody"));
  const auto lease = run.store->acquire("r");
  REQUIRE_OK(lease);
  const auto other = SqliteStore::open(run.folder.file("a.db")).value();
  CHECK_ERRC(Errc::busy, repair_run(*other, "r"));
}
