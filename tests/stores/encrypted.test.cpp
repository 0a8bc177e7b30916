// SPDX-License-Identifier: MIT
#include "triage/stores/encrypted.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/testing/conformance.hpp"
#include "triage/triage.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <fstream>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

StoreKey key_of(const std::string& id, char byte) { return {id, std::string(32, byte)}; }

std::shared_ptr<CheckpointStore> encrypted(const std::shared_ptr<CheckpointStore>& inner,
                                           EncryptionOptions options = {
                                               .key = key_of("one", 'a')}) {
  return EncryptedStore::around(inner, std::move(options)).value();
}

void run_once(const std::shared_ptr<CheckpointStore>& store, const RunId& id) {
  TriageAgent agent{[](const std::string& task, Attempt& attempt) {
                      attempt.record_step({.action = "plan the SECRET journey"});
                      attempt.update_state({{"password", "SECRET"}});
                      return task;
                    },
                    FailurePolicy().otherwise(escalate()),
                    {.name = "crawler", .store = store}};
  REQUIRE_OK(agent.run("a SECRET task", {.run_id = id}));
}

std::string all_files(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

Record change(Sequence seq) {
  return {seq, RecordKind::state_changed, WallTime(std::chrono::milliseconds(seq)),
          std::make_shared<const Json>(Json{{"page", seq}})};
}

}  // namespace

TEST_CASE("an encrypted store does all that the store behind it does",
          "[stores][encrypted][conformance]") {
  const ConformanceReport report = conformance(
      [](const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
        auto store = SqliteStore::open((folder / "store.db").string());
        if (!store) return store.error();
        return encrypted(store.value());
      },
      {.name = "encrypted SQLite",
       .damage = [](const std::filesystem::path& folder, const RunId& run,
                    Sequence seq) -> Result<void> {
         SQLite::Database(folder / "store.db", SQLite::OPEN_READWRITE)
             .exec("UPDATE records SET body = body || x'00' WHERE seq = " + std::to_string(seq) +
                   " AND run = (SELECT run FROM runs WHERE run_id = '" + run + "')");
         return outcome::success();
       },
       .make_newer = [](const std::filesystem::path& folder) -> Result<void> {
         SQLite::Database(folder / "store.db", SQLite::OPEN_READWRITE)
             .exec("PRAGMA user_version = 99");
         return outcome::success();
       }});
  INFO(report.text());
  CHECK(report.level() == ConformanceLevel::full);
  CHECK(report.count(ClauseOutcome::not_required) == 0);
}

TEST_CASE("nothing of a task, step or state lies in the files in clear text",
          "[stores][encrypted]") {
  const TempFolder folder;
  {
    const auto sqlite = SqliteStore::open(folder.file("runs.db")).value();
    run_once(sqlite, "clear");
    CHECK(all_files(folder.path()).find("SECRET") != std::string::npos);
    REQUIRE_OK(sqlite->erase("clear"));
  }
  const TempFolder other;
  const auto sqlite = SqliteStore::open(other.file("runs.db")).value();
  const auto files = JsonFileStore::open(other.file("files")).value();
  for (const auto& inner : std::vector<std::shared_ptr<CheckpointStore>>{sqlite, files}) {
    const auto store = encrypted(inner);
    run_once(store, "sealed");
    REQUIRE_OK(store->put_if("mine", "k", 0, "SECRET"));
    CHECK(store->get("mine", "k").value()->bytes == "SECRET");
    CHECK(store->latest("sealed").value().state.value("password", std::string()) == "SECRET");
  }
  CHECK(all_files(other.path()).find("SECRET") == std::string::npos);
}

TEST_CASE("a record in clear text is damaged where a key is set", "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  run_once(inner, "clear");
  REQUIRE_OK(inner->put_if("mine", "k", 0, "clear"));
  const auto reading = encrypted(inner)->read("clear", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().records.empty());
  REQUIRE_FALSE(reading.value().damaged.empty());
  CHECK(reading.value().damaged[0].error.detail.find("not encrypted") != std::string::npos);
  CHECK_ERRC(Errc::corrupt, encrypted(inner)->get("mine", "k"));
}

TEST_CASE("a record that was moved to another place is damaged", "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const auto store = encrypted(inner);
  const std::vector<Record> records{change(1), change(2)};
  REQUIRE_OK(store->start({.id = "mine"}, records));
  const auto sealed = inner->read("mine", {}).value().records;
  // Another run, another sequence, another kind, another time.
  const auto moved = [&](const RunId& run, Sequence seq, RecordKind kind, WallTime time) {
    const std::vector<Record> one{{seq, kind, time, *sealed[0].bytes()}};
    REQUIRE_OK(inner->start({.id = run}, one));
    return store->read(run, {}).value().damaged.size();
  };
  CHECK(moved("other", 1, sealed[0].kind(), sealed[0].time()) == 1);
  CHECK(moved("third", 2, sealed[0].kind(), sealed[0].time()) == 1);
  CHECK(store->read("mine", {}).value().damaged.empty());
  const std::vector<Record> kinds{
      {3, RecordKind::state_snapshot, sealed[0].time(), *sealed[0].bytes()}};
  REQUIRE_OK(inner->start({.id = "kind"}, kinds));
  CHECK(store->read("kind", {}).value().damaged.size() == 1);
}

TEST_CASE("after a change of the key, old records are read and new ones use the new one",
          "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const std::vector<Record> first{change(1)};
  const auto lease = encrypted(inner)->start({.id = "run-1"}, first);
  REQUIRE_OK(lease);
  const auto second = encrypted(inner, {.key = key_of("two", 'b'), .older = {key_of("one", 'a')}});
  const std::vector<Record> more{change(2)};
  REQUIRE_OK(second->append(lease.value(), more, RunStatus::running));
  CHECK(second->read("run-1", {}).value().records.size() == 2);
  const auto without = encrypted(inner, {.key = key_of("two", 'b')})->read("run-1", {});
  REQUIRE(without.value().damaged.size() == 1);
  CHECK(without.value().damaged[0].error.detail.find("\"one\"") != std::string::npos);
  const auto wrong = encrypted(inner, {.key = key_of("one", 'c')})->read("run-1", {});
  CHECK(wrong.value().damaged.size() == 2);
  int asked = 0;
  const auto asking =
      encrypted(inner, {.key = key_of("two", 'b'), .find = [&](const std::string& id) {
                          ++asked;
                          return Result<StoreKey>(key_of(id, 'a'));
                        }});
  CHECK(asking->read("run-1", {}).value().records.size() == 2);
  CHECK(asking->read("run-1", {}).value().records.size() == 2);
  CHECK(asked == 1);
}

TEST_CASE("an append that comes again is known again under encryption", "[stores][encrypted]") {
  const auto store = encrypted(MemoryStore::create());
  const std::vector<Record> first{change(1)};
  const auto lease = store->start({.id = "run-1"}, first).value();
  const std::vector<Record> more{change(2)};
  REQUIRE_OK(store->append(lease, more, RunStatus::running));
  REQUIRE_OK(store->append(lease, more, RunStatus::running));
  const std::vector<Record> other{{2, RecordKind::state_changed, change(2).time(),
                                   std::make_shared<const Json>(Json{{"page", 3}})}};
  CHECK_ERRC(Errc::conflict, store->append(lease, other, RunStatus::running));
}

TEST_CASE("keys of a wrong length or shape are refused, and never quoted", "[stores][encrypted]") {
  const std::string hex(64, 'a');
  const auto good = parse_store_key("  mine " + hex + "\n");
  REQUIRE_OK(good);
  CHECK(good.value().id == "mine");
  CHECK(good.value().secret == std::string(32, '\xAA'));
  for (const std::string& bad : {"mine " + hex + "a", "mine " + hex.substr(1), hex, std::string(),
                                 "mi ne " + hex, "mine " + std::string(64, 'g'), "/ " + hex}) {
    const auto refused = parse_store_key(bad);
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK(refused.error().detail.find("aaaa") == std::string::npos);
  }
  const auto inner = MemoryStore::create();
  CHECK_ERRC(Errc::invalid_argument,
             EncryptedStore::around(inner, {.key = {"one", std::string(31, 'a')}}));
  CHECK_ERRC(
      Errc::invalid_argument,
      EncryptedStore::around(inner, {.key = key_of("one", 'a'), .older = {key_of("one", 'b')}}));
  CHECK_ERRC(Errc::invalid_argument, EncryptedStore::around(nullptr, {.key = key_of("one", 'a')}));
}

TEST_CASE("a key comes from a file of its owner's alone, or from the environment",
          "[stores][encrypted]") {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const std::string path = folder.file("key");
  CHECK_ERRC(Errc::not_found, store_key_in_file(path));
  std::ofstream(path) << "mine " << std::string(64, 'b') << '\n';
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read);
  CHECK_ERRC(Errc::invalid_argument, store_key_in_file(path));
  fs::permissions(path, fs::perms::owner_read);
  CHECK(store_key_in_file(path).value().id == "mine");
  CHECK_ERRC(Errc::not_found, store_key_in_environment("TRIAGE_NO_SUCH_KEY"));
}
