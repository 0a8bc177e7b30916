// SPDX-License-Identifier: MIT
#include "triage/stores/sqlite.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>

#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Creates a store with one run of these records, and closes it.
void make_store_file(const std::string& path, std::span<const Record> records) {
  const auto store = SqliteStore::open(path).value();
  const auto lease = store->start(run_info("run-1"), records).value();
  REQUIRE_OK(store->release(lease));
}

std::string detail_of(const Result<std::shared_ptr<SqliteStore>>& result) {
  return result.has_value() ? "" : result.error().detail;
}

}  // namespace

TEST_CASE("a journal outlives the store object", "[stores][sqlite]") {
  TempFolder folder;
  Journal journal("run-1");
  const auto records = random_run(journal, 3, 100);
  make_store_file(folder.file("a.db"), records);
  CHECK_FALSE(std::filesystem::exists(folder.file("a.db-wal")));
  const auto store = SqliteStore::open("sqlite:" + folder.file("a.db")).value();
  const auto reading = store->read("run-1", {}).value();
  REQUIRE(reading.records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(same(reading.records[i], records[i]));
  CHECK(store->latest("run-1").value().state == journal.state());
}

TEST_CASE("each durability is what was asked for, or refused", "[stores][sqlite]") {
  TempFolder folder;
  SqliteOptions options;
  CHECK(SqliteStore::open(folder.file("a.db")).value()->capabilities().durability ==
        Durability::process);
  options.durability = Durability::power;
  CHECK(SqliteStore::open(folder.file("a.db"), options).value()->capabilities().durability ==
        Durability::power);
  CHECK_ERRC(Errc::unsupported, SqliteStore::open(":memory:", options));
  options.durability = Durability::process;
  CHECK_ERRC(Errc::unsupported, SqliteStore::open(":memory:", options));
  options.durability = Durability::none;
  REQUIRE_OK(SqliteStore::open(":memory:", options));
  const auto memory = SqliteStore::open(":memory:").value();
  CHECK(memory->capabilities().durability == Durability::none);
  CHECK_FALSE(memory->capabilities().shared_by_processes);
}

TEST_CASE("a path or option that makes no sense is refused with the reason", "[stores][sqlite]") {
  TempFolder folder;
  const auto folder_error = SqliteStore::open(folder.file("."));
  CHECK_ERRC(Errc::invalid_argument, folder_error);
  CHECK_THAT(detail_of(folder_error), ContainsSubstring("is a folder"));
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(""));
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open("sqlite:"));
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(std::string("a\0b", 3)));
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open("/dev/null"));
  CHECK_ERRC(Errc::io, SqliteStore::open(folder.file("missing/a.db")));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(folder.file("pipe")));
  SqliteOptions options;
  options.busy_timeout = std::chrono::milliseconds(-1);
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(folder.file("a.db"), options));
  options = {};
  options.lease_timeout = std::chrono::milliseconds(999);
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(folder.file("a.db"), options));
  options = {};
  options.vfs = "no such vfs";
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(folder.file("a.db"), options));
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(std::unique_ptr<SQLite::Database>()));
  CHECK_FALSE(std::filesystem::exists(folder.file("a.db")));
}

TEST_CASE("a file that is not a store is refused and left as it is", "[stores][sqlite]") {
  TempFolder folder;
  write(folder.file("text"), std::string(5'000, 'x'));
  CHECK_ERRC(Errc::corrupt, SqliteStore::open(folder.file("text")));
  CHECK(contents(folder.file("text")) == std::string(5'000, 'x'));
  write(folder.file("short"), "SQLite format 3");
  CHECK_ERRC(Errc::corrupt, SqliteStore::open(folder.file("short")));

  const std::string foreign = folder.file("foreign.db");
  SQLite::Database(foreign, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE users(name); INSERT INTO users VALUES('ann'); PRAGMA application_id = 7");
  const std::string before = contents(foreign);
  const auto refused = SqliteStore::open(foreign);
  CHECK_ERRC(Errc::unsupported, refused);
  CHECK_THAT(detail_of(refused),
             ContainsSubstring("another program") && ContainsSubstring(foreign));
  CHECK(contents(foreign) == before);

  const std::string claimed = folder.file("claimed.db");  // Empty, but already another program's.
  SQLite::Database(claimed, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("PRAGMA application_id = 7");
  CHECK_ERRC(Errc::unsupported, SqliteStore::open(claimed));
}

TEST_CASE("a newer format is refused, naming both versions", "[stores][sqlite]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const char* change =
      GENERATE("PRAGMA user_version = 9", "UPDATE meta SET value = 9 WHERE key = 'triage_format'");
  REQUIRE_OK(SqliteStore::open(path));
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec(change);
  const auto refused = SqliteStore::open(path);
  CHECK_ERRC(Errc::unsupported, refused);
  CHECK_THAT(detail_of(refused), ContainsSubstring("format 9") && ContainsSubstring("up to 2"));
}

TEST_CASE("a store whose tables are gone is corrupt, not made anew", "[stores][sqlite]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const char* change = GENERATE("DROP TABLE records", "DROP TABLE meta", "DROP TABLE runs",
                                "ALTER TABLE records DROP COLUMN crc");
  REQUIRE_OK(SqliteStore::open(path));
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec(change);
  CHECK_ERRC(Errc::corrupt, SqliteStore::open(path));
}

TEST_CASE("a store opened read-only shows everything and changes nothing", "[stores][sqlite]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  SqliteOptions options;
  options.read_only = true;
  CHECK_ERRC(Errc::not_found, SqliteStore::open(path, options));
  CHECK_FALSE(std::filesystem::exists(path));
  Journal journal("run-1");
  make_store_file(path, random_run(journal, 1, 20));
  const auto store = SqliteStore::open(path, options).value();
  CHECK(store->latest("run-1").value().state == journal.state());
  CHECK_ERRC(Errc::unsupported, store->start(run_info("run-2"), {}));
  CHECK_ERRC(Errc::unsupported, store->acquire("run-1"));
  CHECK_ERRC(Errc::unsupported, store->erase("run-1"));
  CHECK_ERRC(Errc::unsupported, store->put_if("s", "k", 0, "v"));
}

TEST_CASE("a connection that is handed over keeps its user's tables", "[stores][sqlite]") {
  TempFolder folder;
  const std::string path = folder.file("shared.db");
  auto connection =
      std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  connection->exec(
      "CREATE TABLE users(name); INSERT INTO users VALUES('ann'); "
      "PRAGMA application_id = 7; PRAGMA user_version = 42");
  Journal journal("run-1");
  const auto records = random_run(journal, 2, 30);
  {
    const auto store = SqliteStore::open(std::move(connection)).value();
    REQUIRE_OK(store->start(run_info("run-1"), records));
  }
  SQLite::Database again(path, SQLite::OPEN_READONLY);
  CHECK(again.execAndGet("SELECT name FROM users").getString() == "ann");
  CHECK(again.execAndGet("PRAGMA application_id").getInt() == 7);
  CHECK(again.execAndGet("PRAGMA user_version").getInt() == 42);
  const auto store = SqliteStore::open(path);  // Has the store's own mark from now on.
  REQUIRE_OK(store);
  CHECK(store.value()->latest("run-1").value().state == journal.state());
}

TEST_CASE("a connection that cannot be used is refused", "[stores][sqlite]") {
  TempFolder folder;
  const auto connect = [&] {
    return std::make_unique<SQLite::Database>(folder.file("a.db"),
                                              SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  };
  auto busy = connect();
  busy->exec("BEGIN");
  CHECK_ERRC(Errc::invalid_argument, SqliteStore::open(std::move(busy)));
  auto clash = connect();
  clash->exec("CREATE TABLE records(mine)");
  const auto refused = SqliteStore::open(std::move(clash));
  CHECK_ERRC(Errc::unsupported, refused);
  CHECK_THAT(detail_of(refused), ContainsSubstring("\"records\""));
}

TEST_CASE("a full disk is an error that loses nothing stored", "[stores][sqlite]") {
  TempFolder folder;
  auto connection = std::make_unique<SQLite::Database>(
      folder.file("a.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Database& raw = *connection;
  const auto store = SqliteStore::open(std::move(connection)).value();
  raw.exec("PRAGMA max_page_count = 40");
  Journal journal("run-1");
  std::vector<Record> stored{started(journal)};
  const auto lease = store->start(run_info("run-1"), stored).value();
  Result<void> full = outcome::success();
  std::vector<Record> refused;
  for (int i = 0; i < 100 && full; ++i) {
    refused = {step(journal, std::string(3'000, 'x')), step(journal, std::string(3'000, 'y'))};
    full = store->append(lease, refused, RunStatus::running);
    if (full) stored.insert(stored.end(), refused.begin(), refused.end());
  }
  CHECK_ERRC(Errc::io, full);
  CHECK_THAT(full.error().detail, ContainsSubstring("no room"));
  CHECK(store->read("run-1", {}).value().records.size() == stored.size());
  raw.exec("PRAGMA max_page_count = 4000");
  REQUIRE_OK(store->append(lease, refused, RunStatus::running));
  CHECK(store->read("run-1", {}).value().records.size() == stored.size() + 2);
}

TEST_CASE("the write-ahead log stays short", "[stores][sqlite]") {
  TempFolder folder;
  SqliteOptions options;
  options.wal_checkpoint_bytes = 64U << 10U;
  const auto store = SqliteStore::open(folder.file("a.db"), options).value();
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
  for (int i = 0; i < 300; ++i) {
    const Record record = step(journal, std::string(1'000, 'x'));
    REQUIRE_OK(store->append(lease, {&record, 1}, RunStatus::running));
  }
  CHECK(std::filesystem::file_size(folder.file("a.db-wal")) < 2 * options.wal_checkpoint_bytes);
  store->idle();
  CHECK(std::filesystem::file_size(folder.file("a.db")) > 300'000);
}

TEST_CASE("a lease of another host lapses by the database's clock", "[stores][sqlite]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  Journal journal("run-1");
  const Record first = started(journal);
  const auto old_store = SqliteStore::open(path).value();
  const auto old = old_store->start(run_info("run-1"), {&first, 1}).value();
  const auto edit = [&](const std::string& sql) {
    SQLite::Database raw(path, SQLite::OPEN_READWRITE);
    CHECK(raw.exec(sql) == 1);
  };
  edit("UPDATE runs SET owner = 'another-boot/1 17 99 1234'");
  const auto store = SqliteStore::open(path).value();
  CHECK(store->run("run-1").value().owned);
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  CHECK_ERRC(Errc::busy, store->erase("run-1"));
  edit("UPDATE runs SET renewed = renewed - 29000");
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  edit("UPDATE runs SET renewed = renewed - 2000");
  CHECK_FALSE(store->run("run-1").value().owned);
  REQUIRE_OK(store->acquire("run-1"));
  const Record second = step(journal, "a");
  CHECK_ERRC(Errc::fenced, old_store->append(old, {&second, 1}, RunStatus::running));
}

TEST_CASE("a store that is closed lets its runs go", "[stores][sqlite]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  Journal journal("run-1");
  const Record first = started(journal);
  auto one = SqliteStore::open(path).value();
  const auto two = SqliteStore::open(path).value();
  REQUIRE_OK(one->start(run_info("run-1"), {&first, 1}));
  CHECK_ERRC(Errc::busy, two->acquire("run-1"));
  one.reset();
  REQUIRE_OK(two->acquire("run-1"));
}

TEST_CASE("a file of the first format can be read for ever", "[stores][sqlite][golden]") {
  TempFolder folder;
  const std::string copy = folder.file("format_1.db");
  std::filesystem::copy_file(TRIAGE_GOLDEN_FOLDER "/format_1.db", copy);
  Journal journal("golden-1");
  const auto records = random_run(journal, 1, 40);
  const auto store = SqliteStore::open(copy).value();
  const auto reading = store->read("golden-1", {}).value();
  CHECK(reading.damaged.empty());
  REQUIRE(reading.records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(same(reading.records[i], records[i]));
  CHECK(reading.info.agent == "crawler");
  CHECK(store->latest("golden-1").value().state == journal.state());
  CHECK(store->get("space", "key").value()->bytes == "value");
}
