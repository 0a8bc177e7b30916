// SPDX-License-Identifier: MIT
// The files of a store: their owners, that reading leaves nothing behind, and that a lost file is
// noticed.
#include "triage/stores/sqlite.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

using namespace triage;
using namespace triage::test;

namespace {

SqliteOptions looking() {
  SqliteOptions options;
  options.read_only = true;
  return options;
}

void fill(CheckpointStore& store, const RunId& id) {
  Journal journal(id);
  const Record first = started(journal);
  const auto lease = store.start(run_info(id), {&first, 1});
  REQUIRE_OK(lease);
}

std::set<std::string> files_in(const TempFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Returns the result of `work`, run as another user if we are root.
int as_another_user(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(100);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The number of runs seen by a user with read access only; 100 or more on failure.
int count_runs(const std::string& path) {
  const auto store = SqliteStore::open(path, looking());
  if (!store) return 100;
  const auto runs = store.value()->runs({});
  return runs ? static_cast<int>(runs.value().size()) : 101;
}

}  // namespace

TEST_CASE("the files of a new store are their owner's alone", "[stores][sqlite][files]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto store = SqliteStore::open(path).value();
  fill(*store, "run-1");
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat found {};
    INFO(suffix);
    REQUIRE(::stat((path + suffix).c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
  }
  CHECK(files_in(folder).size() == 3);
}

TEST_CASE("looking at a store leaves nothing beside it", "[stores][sqlite][files]") {
  TempFolder folder;
  const std::string path = folder.file("a?b %.db");
  fill(*SqliteStore::open(path).value(), "run-1");
  REQUIRE(files_in(folder).size() == 1);
  {
    const auto look = SqliteStore::open(path, looking()).value();
    CHECK(look->runs({}).value().size() == 1);
    CHECK(files_in(folder).size() == 1);
    // A new writer's changes are visible.
    const auto store = SqliteStore::open(path).value();
    fill(*store, "run-2");
    CHECK(look->runs({}).value().size() == 2);
    fill(*store, "run-3");
    CHECK(look->runs({}).value().size() == 3);
    store->idle();
    CHECK(look->runs({}).value().size() == 3);
  }
  CHECK(count_runs(path) == 3);
  const auto store = SqliteStore::open(path);
  REQUIRE_OK(store);
  fill(*store.value(), "run-4");
}

TEST_CASE("another user can look, in a folder that may not be written, and locks nobody out",
          "[stores][sqlite][files]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  auto store = SqliteStore::open(path).value();
  fill(*store, "run-1");
  for (const char* suffix : {"", "-wal", "-shm"}) ::chmod((path + suffix).c_str(), 0644);
  CHECK(as_another_user([&] { return count_runs(path); }) == 1);
  store.reset();
  REQUIRE(files_in(folder).size() == 1);
  CHECK(as_another_user([&] { return count_runs(path); }) == 1);
  CHECK(files_in(folder).size() == 1);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  CHECK(as_another_user([&] { return count_runs(path); }) == 1);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  fill(*SqliteStore::open(path).value(), "run-2");
}

TEST_CASE("a copy of a store with its log but without its shared memory can be looked at",
          "[stores][sqlite][files]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto store = SqliteStore::open(path).value();
  fill(*store, "run-1");
  TempFolder copies;
  for (const char* suffix : {"", "-wal"}) {
    std::filesystem::copy_file(path + suffix, copies.file(std::string("b.db") + suffix));
  }
  CHECK(count_runs(copies.file("b.db")) == 1);
  CHECK(files_in(copies).size() == 2);
}

TEST_CASE("a link to a store shows what is in its log", "[stores][sqlite][files]") {
  const TempFolder folder, elsewhere;
  const auto owner = SqliteStore::open(folder.file("runs.db")).value();
  fill(*owner, "r");
  // As it would be found after the owner's death: with the log, without shared memory.
  for (const char* name : {"runs.db", "runs.db-wal"}) {
    std::filesystem::copy_file(folder.file(name), elsewhere.file(name));
  }
  std::filesystem::create_symlink(elsewhere.file("runs.db"), folder.file("link.db"));
  const auto found = SqliteStore::open(folder.file("link.db"), looking());
  REQUIRE_OK(found);
  CHECK(found.value()->runs({}).value().size() == 1);
  const auto written = SqliteStore::open(folder.file("link.db"));
  REQUIRE_OK(written);
  fill(*written.value(), "s");
  CHECK(found.value()->runs({}).value().size() == 2);
}

TEST_CASE("a store whose file was removed while it is open does not report success",
          "[stores][sqlite][files]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto store = SqliteStore::open(path).value();
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
  const bool replaced = GENERATE(false, true);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  if (replaced) fill(*SqliteStore::open(path).value(), "run-2");
  const Record second = step(journal, "a");
  const auto appended = store->append(lease, {&second, 1}, RunStatus::running);
  CHECK_ERRC(Errc::io, appended);
  CHECK(appended.error().detail.find("removed") != std::string::npos);
  CHECK_ERRC(Errc::io, store->start(run_info("run-3"), {}));
  CHECK_ERRC(Errc::io, store->put_if("space", "key", 0, "value"));
}

TEST_CASE(
    "a file of the first format is brought up to date when it is written, and can be looked at",
    "[stores][sqlite][golden]") {
  TempFolder folder;
  const std::string path = folder.file("format_1.db");
  std::filesystem::copy_file(TRIAGE_GOLDEN_FOLDER "/format_1.db", path);
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  const auto format = [&] {
    return SQLite::Database(path).execAndGet("PRAGMA user_version").getInt();
  };
  {
    const auto look = SqliteStore::open(path, looking()).value();
    CHECK(look->read("golden-1", {}).value().damaged.empty());
    CHECK_FALSE(look->run("golden-1").value().damaged);
    CHECK(look->get("space", "key").value()->bytes == "value");
    CHECK(look->check().value().empty());
  }
  CHECK(format() == 1);
  {
    const auto store = SqliteStore::open(path).value();
    CHECK(store->run("golden-1").value().status == RunStatus::finished);
    CHECK(store->get("space", "key").value()->bytes == "value");
    CHECK(store->check().value().empty());
    CHECK_ERRC(Errc::conflict, store->start(run_info("golden-1"), {}));
    fill(*store, "run-2");
  }
  CHECK(format() == 2);
  SQLite::Database raw(path);
  CHECK(raw.execAndGet("SELECT run FROM runs WHERE run_id = 'run-2'").getInt64() == 2);
}

TEST_CASE("a file of the second format can be read for ever", "[stores][sqlite][golden]") {
  TempFolder folder;
  const std::string path = folder.file("format_2.db");
  std::filesystem::copy_file(TRIAGE_GOLDEN_FOLDER "/format_2.db", path);
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  Journal journal("golden-1");
  const auto records = random_run(journal, 1, 40);
  SqliteOptions options;
  options.read_only = GENERATE(false, true);
  const auto store = SqliteStore::open(path, options).value();
  const auto reading = store->read("golden-1", {}).value();
  CHECK(reading.damaged.empty());
  REQUIRE(reading.records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(same(reading.records[i], records[i]));
  CHECK(store->run("golden-1").value().status == RunStatus::finished);
  CHECK(store->get("space", "key").value()->bytes == "value");
  CHECK(store->check().value().empty());
}
