// SPDX-License-Identifier: MIT
// The write-ahead log stays short, and erasing delays nobody.
#include "stores/contract.hpp"
#include "support/result.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

using namespace triage;
using namespace triage::test;

namespace {

constexpr std::uint64_t fold_at = 1U << 20U;

// Appends `count` steps of 16 KB; returns the largest size of the log meanwhile.
std::uintmax_t fill(const std::string& path, const RunId& id, int count) {
  const auto store = SqliteStore::open(path, {.wal_checkpoint_bytes = fold_at}).value();
  Journal journal(id);
  const Record first = started(journal);
  const Lease lease = store->start(run_info(id), {&first, 1}).value();
  std::uintmax_t largest = 0;
  for (int i = 0; i < count; ++i) {
    const Record record = step(journal, std::string(16'000, 'x'));
    if (!store->append(lease, {&record, 1}, RunStatus::running)) return UINTMAX_MAX;
    std::error_code gone;
    const auto size = std::filesystem::file_size(path + "-wal", gone);
    if (!gone) largest = std::max(largest, size);
  }
  return largest;
}

int changed_rows = 0;
int most_rows = 0;

}  // namespace

TEST_CASE("the log stays short while four processes write", "[bounds][log]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  { const auto made = SqliteStore::open(path).value(); }
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto largest = fill(path, "run-" + std::to_string(c), 600);
      ::_exit(largest <= 4 * fold_at ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);  // 1: it was longer, or could not be written.
  }
}

TEST_CASE("a reader that keeps the log from being checkpointed is named, and only once",
          "[bounds][log]") {
  const TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto store = SqliteStore::open(path, {.busy_timeout = std::chrono::milliseconds(5),
                                              .wal_checkpoint_bytes = fold_at})
                         .value();
  Journal journal("r");
  const Record first = started(journal);
  const Lease lease = store->start(run_info("r"), {&first, 1}).value();
  const auto write = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Record record = step(journal, std::string(16'000, 'x'));
      REQUIRE_OK(store->append(lease, {&record, 1}, RunStatus::running));
    }
  };
  write(10);
  {
    SQLite::Database reader(path, SQLite::OPEN_READONLY);
    reader.exec("BEGIN");
    REQUIRE(reader.execAndGet("SELECT count(*) FROM records").getInt() == 11);
    write(400);
    const std::string warning = store->take_warning();
    CHECK_THAT(warning, ContainsSubstring("cannot be checkpointed") &&
                            ContainsSubstring("process " + std::to_string(::getpid())));
    write(200);
    CHECK(store->take_warning().empty());
  }
  write(200);
  CHECK(std::filesystem::file_size(path + "-wal") <= 2 * fold_at);
}

TEST_CASE("erasing many runs takes a thousand records at a time away, and all in the end",
          "[bounds][erase]") {
  const TempFolder folder;
  auto connection = std::make_unique<SQLite::Database>(
      folder.file("a.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  sqlite3* raw = connection->getHandle();
  const auto store = SqliteStore::open(std::move(connection)).value();
  const auto add = [&](const RunId& id, int steps) {
    Journal journal(id);
    std::vector<Record> records{started(journal)};
    for (int i = 0; i < steps; ++i) records.push_back(step(journal, "s"));
    const Lease lease = store->start(run_info(id), {records.data(), 1}).value();
    if (steps > 0) {
      REQUIRE_OK(store->append(lease, std::span(records).subspan(1), RunStatus::finished));
    }
    REQUIRE_OK(store->release(lease));
  };
  for (int i = 0; i < 900; ++i) add("run-" + std::to_string(i), 2);
  add("large", 4'500);
  changed_rows = most_rows = 0;
  sqlite3_update_hook(
      raw, [](void*, int, const char*, const char*, sqlite3_int64) { ++changed_rows; }, nullptr);
  sqlite3_commit_hook(
      raw,
      [](void*) {
        most_rows = std::max(most_rows, std::exchange(changed_rows, 0));
        return 0;
      },
      nullptr);
  CHECK(store->prune({.keep_newest = 0, .only_ended = true}).value() == 901);
  CHECK(most_rows > 100);
  CHECK(most_rows <= 2'010);  // Its records, at most as many runs, and marks.
  CHECK(store->runs({}).value().empty());
  SQLite::Database look(folder.file("a.db"), SQLite::OPEN_READONLY);
  CHECK(look.execAndGet("SELECT count(*) FROM records").getInt() == 0);
  CHECK(look.execAndGet("SELECT count(*) FROM meta").getInt() == 1);
}

TEST_CASE("what a process that died had not erased yet is erased with the next run",
          "[bounds][erase]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  Journal journal("r");
  const Record first = started(journal);
  REQUIRE_OK(store->release(store->start(run_info("r"), {&first, 1}).value()));
  {
    SQLite::Database other(folder.file("a.db"), SQLite::OPEN_READWRITE);
    other.exec(
        "INSERT INTO records(run, seq, epoch, kind, time, crc, body) VALUES(77, 1, 1, 1, 1, "
        "1, x'a0'); INSERT INTO meta VALUES('erasing/77', 77)");
  }
  REQUIRE_OK(store->erase("r"));
  SQLite::Database look(folder.file("a.db"), SQLite::OPEN_READONLY);
  CHECK(look.execAndGet("SELECT count(*) FROM records").getInt() == 0);
}
