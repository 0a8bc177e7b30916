// SPDX-License-Identifier: MIT
#include "triage/stores/encrypted.hpp"

#include "stores/conforming.hpp"
#include "stores/encrypted_kit.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/detail/hex.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/testing/conformance.hpp"
#include "triage/triage.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

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

// What version 0.1 made of record 1 of "run-1" and of a value before bodies were hashed by
// Poly1305.
const std::string older_record = *detail::from_hex(
    "a2636b6579636f6e65667365616c6564782f5766eb275f4990174135b7d75c46109ec9076b67be8b8848b9330835ba"
    "3bb26af634ea561d524f9d1099a2befb6dfb");
const std::string older_value = *detail::from_hex(
    "a2636b6579636f6e65667365616c6564782f71662f2ad49089f90223a0850da21f8629a5cde8baa0cbbc5a761a"
    "08d6eabada9270f096714a24b6335c23c942b4b1");

// The same record, as this version encrypts it; computed from docs/checkpoint_format.md in Python.
const std::string newer_record = *detail::from_hex(
    "a2636b6579636f6e65667365616c6564782f018d2a759b15eb9b68083aea53ee53f9d97b61d996e0196ea4912308ee"
    "62e050f06b35e41f91af8e7527960846c662");

std::string sealed_body(CheckpointStore& inner, const RunId& run) {
  std::string body;
  inner.read(run, {}).value().records.at(0).encode_body(body);
  return body;
}

// How many of the run's records are damaged if `body` is what the inner store has of the first.
std::size_t damaged_with(const std::string& body,
                         EncryptionOptions options = {.key = key_of("one", 'a')}) {
  const auto inner = MemoryStore::create();
  const std::vector<Record> records{
      {1, RecordKind::state_changed, change(1).time(), std::make_shared<const std::string>(body)}};
  REQUIRE_OK(inner->start({.id = "run-1"}, records));
  return encrypted(inner, std::move(options))->read("run-1", {}).value().damaged.size();
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
  expect_full(report);
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

TEST_CASE("no bit and no byte of a sealed record can be changed", "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  REQUIRE_OK(encrypted(inner)->start({.id = "run-1"}, std::vector<Record>{change(1)}));
  CHECK(sealed_body(*inner, "run-1") == newer_record);  // The format does not change by accident.
  for (const std::string& whole : {newer_record, older_record}) {
    REQUIRE(damaged_with(whole) == 0);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string other = whole;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
      INFO("bit " << bit);
      REQUIRE(damaged_with(other) == 1);
    }
    for (std::size_t size = 0; size < whole.size(); ++size) {
      REQUIRE(damaged_with(whole.substr(0, size)) == 1);
    }
    REQUIRE(damaged_with(whole + 'x') == 1);
  }
}

TEST_CASE("parts of two sealed records do not fit together", "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const auto store = encrypted(inner);
  const auto sealed = [&](const RunId& run, Json body) {
    const std::vector<Record> one{{1, RecordKind::state_changed, change(1).time(),
                                   std::make_shared<const Json>(std::move(body))}};
    REQUIRE_OK(store->start({.id = run}, one));
    return sealed_body(*inner, run);
  };
  const std::string mine = sealed("run-1", {{"page", 1}});
  const std::string other = sealed("run-2", {{"page", 2}});
  REQUIRE(mine.size() == other.size());
  // Neither the nonces nor the hidden bytes are the same, and no mixture of both is read.
  std::size_t same = 0;
  while (same < mine.size() && mine[same] == other[same]) ++same;
  CHECK(same < 20);
  for (std::size_t cut = same + 1; cut < mine.size(); ++cut) {
    CHECK(damaged_with(mine.substr(0, cut) + other.substr(cut)) == 1);
  }
  CHECK(damaged_with(other) == 1);
}

TEST_CASE("two bodies in one place have different nonces", "[stores][encrypted]") {
  std::set<std::string> nonces;
  for (const int page : {1, 2, 3}) {
    const auto inner = MemoryStore::create();
    const std::vector<Record> one{{1, RecordKind::state_changed, change(1).time(),
                                   std::make_shared<const Json>(Json{{"page", page}})}};
    REQUIRE_OK(encrypted(inner)->start({.id = "run-1"}, one));
    const std::string body = sealed_body(*inner, "run-1");
    nonces.insert(body.substr(body.find("sealed") + 8, 24));
  }
  CHECK(nonces.size() == 3);
}

TEST_CASE("equal bodies are sealed differently in every place and under every key",
          "[stores][encrypted]") {
  std::set<std::string> tails;  // Without the names and the nonce.
  std::size_t sealed = 0;
  const auto add = [&](const std::string& body) {
    tails.insert(body.substr(body.size() - 7));
    ++sealed;
  };
  for (const char secret : {'a', 'b'}) {
    for (const RunId& run : {RunId("run-1"), RunId("run-2")}) {
      for (const int time : {1, 2}) {
        for (const RecordKind kind : {RecordKind::state_changed, RecordKind::state_snapshot}) {
          const auto inner = MemoryStore::create();
          const std::vector<Record> one{{1, kind, WallTime(std::chrono::milliseconds(time)),
                                         std::make_shared<const Json>(Json{{"page", 1}})}};
          REQUIRE_OK(encrypted(inner, {.key = key_of("one", secret)})->start({.id = run}, one));
          add(sealed_body(*inner, run));
        }
      }
    }
  }
  CHECK(sealed == 16);
  CHECK(tails.size() == sealed);
}

TEST_CASE("what an earlier version encrypted is read, and rotated to a new key",
          "[stores][encrypted]") {
  CHECK(damaged_with(older_record) == 0);
  CHECK(damaged_with(older_record, {.key = key_of("one", 'b')}) == 1);
  const auto inner = MemoryStore::create();
  const std::vector<Record> records{{1, RecordKind::state_changed, change(1).time(),
                                     std::make_shared<const std::string>(older_record)}};
  const auto lease = inner->start({.id = "run-1"}, records);
  REQUIRE_OK(lease);
  REQUIRE_OK(inner->put_if("mine", "k", 0, older_value));
  CHECK(encrypted(inner)->get("mine", "k").value()->bytes == "a value");
  const auto body = [](CheckpointStore& store) {
    return store.read("run-1", {}).value().records.at(0).body().value();
  };
  CHECK(body(*encrypted(inner)) == Json{{"page", 1}});
  REQUIRE_OK(inner->release(lease.value()));
  const auto both =
      EncryptedStore::around(inner, {.key = key_of("two", 'b'), .older = {key_of("one", 'a')}})
          .value();
  CHECK(both->rotate().value().records == 1);
  CHECK(body(*encrypted(inner, {.key = key_of("two", 'b')})) == Json{{"page", 1}});
}

TEST_CASE("empty and large values are encrypted and read back", "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const auto store = encrypted(inner);
  for (const std::size_t size : {0U, 1U, 23U, 24U, 255U, 256U, 65'535U, 65'536U, 1'000'000U}) {
    const std::string key = std::to_string(size);
    const std::string value(size, 'v');
    REQUIRE_OK(store->put_if("mine", key, 0, size == 0 ? std::string_view() : value));
    CHECK(store->get("mine", key).value()->bytes == value);
    CHECK(inner->get("mine", key).value()->bytes.find("vvvvvvvv") == std::string::npos);
  }
}

TEST_CASE("what a store keeps of a sealed record is not written over by later ones",
          "[stores][encrypted]") {
  const auto inner = MemoryStore::create();  // Keeps the very bytes that it is given.
  const auto store = encrypted(inner);
  const auto large = [](Sequence seq) {
    return Record(seq, RecordKind::state_changed, change(seq).time(),
                  std::make_shared<const Json>(
                      Json{{"page", seq}, {"text", std::string(10'000 + seq, 't')}}));
  };
  const auto lease = store->start({.id = "run-1"}, std::vector<Record>{large(1), large(2)}).value();
  for (Sequence seq = 3; seq <= 20; ++seq) {
    REQUIRE_OK(store->append(lease, std::vector<Record>{large(seq)}, RunStatus::running));
    // Refused, so kept by nobody: its memory is used again.
    const std::vector<Record> other{{seq, RecordKind::state_changed, change(seq).time(),
                                     std::make_shared<const Json>(large(seq + 1).body().value())}};
    CHECK_ERRC(Errc::conflict, store->append(lease, other, RunStatus::running));
  }
  const auto reading = store->read("run-1", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().damaged.empty());
  REQUIRE(reading.value().records.size() == 20);
  for (const Record& record : reading.value().records) {
    CHECK(record.body().value().at("page") == record.seq());
  }
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
  // A pipe: empty while nobody writes into it.
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_ERRC(Errc::invalid_argument, store_key_in_file(pipe));
  std::ofstream writer;
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.open(pipe);
  writer << "mine " << std::string(64, 'b') << std::flush;
  writer.close();
  CHECK(store_key_in_file(pipe).value().id == "mine");
  ::close(reader);
}
