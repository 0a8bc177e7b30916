// SPDX-License-Identifier: MIT
// Who owns a run, and how it is acquired after the owner has died, stopped or failed to release.
#include "triage/stores/sqlite.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

using namespace triage;
using namespace triage::test;

namespace {

SqliteOptions impatient() {
  SqliteOptions options;
  options.busy_timeout = std::chrono::milliseconds(20);
  return options;
}

Lease start_run(CheckpointStore& store, const RunId& id) {
  Journal journal(id);
  const Record first = started(journal);
  return store.start(run_info(id), {&first, 1}).value();
}

// 0 if a forked process acquires the run.
int acquire_elsewhere(const std::string& path, const RunId& id) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = SqliteStore::open(path);
    ::_exit(store && store.value()->acquire(id) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A process that starts the run, then does `rest`. Returns when the run is started and, if the
// process replaces itself by exec, after that.
pid_t start_elsewhere(const std::string& path, const RunId& id, const std::function<void()>& rest) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = SqliteStore::open(path);
    if (!store) ::_exit(1);
    start_run(*store.value(), id);
    rest();
    ::close(ends[1]);
    ::pause();
    ::_exit(0);
  }
  ::close(ends[1]);
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 0);  // The other end is closed, also by exec.
  ::close(ends[0]);
  return child;
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a run whose release failed is free at once, here and elsewhere",
          "[stores][sqlite][owners]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto store = SqliteStore::open(path, impatient()).value();
  const Lease lease = start_run(*store, "run-1");
  {
    SQLite::Database raw(path, SQLite::OPEN_READWRITE);
    raw.exec("BEGIN IMMEDIATE");
    CHECK_ERRC(Errc::busy, store->release(lease));
    raw.exec("ROLLBACK");
  }
  CHECK_FALSE(store->run("run-1").value().owned);
  CHECK_ERRC(Errc::fenced, store->append(lease, {}, RunStatus::running));
  SECTION("the same store takes it again") {
    const auto again = store->acquire("run-1");
    REQUIRE_OK(again);
    CHECK(store->run("run-1").value().owned);
    CHECK_ERRC(Errc::busy, SqliteStore::open(path).value()->acquire("run-1"));
    REQUIRE_OK(store->append(again.value(), {}, RunStatus::running));
  }
  SECTION("another store of the process takes it") {
    REQUIRE_OK(SqliteStore::open(path).value()->acquire("run-1"));
    CHECK_ERRC(Errc::fenced, store->append(lease, {}, RunStatus::running));
  }
  SECTION("another process takes it") { CHECK(acquire_elsewhere(path, "run-1") == 0); }
  SECTION("the release is written later") {
    store->idle();
    SQLite::Database raw(path, SQLite::OPEN_READWRITE);
    CHECK(raw.execAndGet("SELECT owner IS NULL FROM runs").getInt() == 1);
  }
}

TEST_CASE("a run that another store of the process holds stays busy", "[stores][sqlite][owners]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto store = SqliteStore::open(path).value();
  const Lease lease = start_run(*store, "run-1");
  CHECK_ERRC(Errc::busy, SqliteStore::open(path).value()->acquire("run-1"));
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  CHECK(acquire_elsewhere(path, "run-1") != 0);
  REQUIRE_OK(store->append(lease, {}, RunStatus::running));
}

TEST_CASE("the run of a process that replaced itself by exec is free", "[stores][sqlite][owners]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const pid_t child = start_elsewhere(
      path, "run-1", [] { ::execl("/bin/sleep", "sleep", "100", static_cast<char*>(nullptr)); });
  const auto store = SqliteStore::open(path).value();
  CHECK_FALSE(store->run("run-1").value().owned);
  REQUIRE_OK(store->acquire("run-1"));
  end(child);
}

TEST_CASE("an operator takes the run of a stopped process, and of a living one by force",
          "[stores][sqlite][owners]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const pid_t child = start_elsewhere(path, "run-1", [] {});
  const auto store = SqliteStore::open(path).value();
  CHECK_ERRC(Errc::busy, store->free_run("run-1", false));
  CHECK_ERRC(Errc::not_found, store->free_run("run-2", false));
  SECTION("by force") { CHECK_FALSE(store->free_run("run-1", true).value().empty()); }
  SECTION("stopped") {
    REQUIRE(::kill(child, SIGSTOP) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    CHECK_ERRC(Errc::busy, store->acquire("run-1"));
    CHECK_FALSE(store->free_run("run-1", false).value().empty());
  }
  CHECK_FALSE(store->run("run-1").value().owned);
  CHECK(store->free_run("run-1", false).value().empty());
  REQUIRE_OK(store->acquire("run-1"));
  end(child);
}

TEST_CASE("whoever lost a run to an operator cannot write it any more",
          "[stores][sqlite][owners]") {
  TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  const Lease lease = start_run(*store, "run-1");
  REQUIRE_OK(store->free_run("run-1", true));
  CHECK_ERRC(Errc::fenced, store->append(lease, {}, RunStatus::running));
  REQUIRE_OK(store->release(lease));
  REQUIRE_OK(store->acquire("run-1"));
}
