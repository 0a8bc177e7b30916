// SPDX-License-Identifier: MIT
// Several processes, or a forked one, on one file.
#include "triage/stores/sqlite.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>

using namespace triage;
using namespace triage::test;

namespace {

// A process that runs `work` and exits with its result.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(work());
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      static_cast<void>(wait());
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  // Its exit status, or -1 if a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

struct Pipe {
  std::array<int, 2> ends{};
  Pipe() { REQUIRE(::pipe(ends.data()) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void tell() const { static_cast<void>(::write(ends[1], "x", 1) == 1); }
  void hear() const {
    char byte = 0;
    static_cast<void>(::read(ends[0], &byte, 1) == 1);
  }
};

int append_steps(const std::string& path, const std::string& id, int steps) {
  const auto store = SqliteStore::open(path);
  if (!store) return 1;
  Journal journal(id);
  const Record first = started(journal);
  const auto lease = store.value()->start(run_info(id), {&first, 1});
  if (!lease) return 2;
  for (int i = 0; i < steps; ++i) {
    const Record record = step(journal, std::to_string(i));
    if (!store.value()->append(lease.value(), {&record, 1}, RunStatus::running)) return 3;
  }
  return 0;
}

// The number of the error's code; 0 for success.
template <class T>
int code_of(const Result<T>& result) {
  return result ? 0 : static_cast<int>(result.error().code);
}

}  // namespace

TEST_CASE("several processes make and fill one file at once", "[stores][sqlite][processes]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  {
    std::vector<std::unique_ptr<Child>> children;
    for (int c = 0; c < 4; ++c) {
      children.push_back(std::make_unique<Child>(
          [&path, c] { return append_steps(path, "run-" + std::to_string(c), 50); }));
    }
    for (const auto& child : children) CHECK(child->wait() == 0);
  }
  const auto store = SqliteStore::open(path).value();
  for (int c = 0; c < 4; ++c) {
    const auto reading = store->read("run-" + std::to_string(c), {}).value();
    CHECK(reading.records.size() == 51);
    CHECK(reading.damaged.empty());
    CHECK_FALSE(reading.info.owned);
  }
}

TEST_CASE("the run of a killed process can be taken over at once", "[stores][sqlite][processes]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const Pipe ready;
  Child child([&] {
    const auto store = SqliteStore::open(path).value();
    Journal journal("run-1");
    const std::array<Record, 2> records{started(journal), step(journal, "a")};
    if (!store->start(run_info("run-1"), records)) return 1;
    ready.tell();
    ::pause();
    return 0;
  });
  ready.hear();
  const auto store = SqliteStore::open(path).value();
  CHECK(store->run("run-1").value().owned);
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  CHECK_ERRC(Errc::busy, store->erase("run-1"));
  ::kill(child.pid(), SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child.pid()), &ended, WEXITED | WNOWAIT);  // Leaves a zombie.
  const auto before = std::chrono::steady_clock::now();
  const auto lease = store->acquire("run-1");
  REQUIRE_OK(lease);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::milliseconds(100));
  CHECK(lease.value().epoch == 2);
  CHECK(store->read("run-1", {}).value().records.size() == 2);
}

TEST_CASE("a process that got the number of a dead owner is not taken for it",
          "[stores][sqlite][processes]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const auto one = SqliteStore::open(path).value();
  Journal journal("run-1");
  const Record first = started(journal);
  REQUIRE_OK(one->start(run_info("run-1"), {&first, 1}));
  SQLite::Database raw(path, SQLite::OPEN_READWRITE);
  std::string owner = raw.execAndGet("SELECT owner FROM runs").getString();
  const std::size_t pid_at = owner.find(' ') + 1;
  const std::size_t start_at = owner.find(' ', pid_at) + 1;
  const std::size_t store_at = owner.find(' ', start_at);
  owner.replace(start_at, store_at - start_at, "1");
  SQLite::Statement change(raw, "UPDATE runs SET owner = ?");
  change.bind(1, owner);
  REQUIRE(change.exec() == 1);
  CHECK_FALSE(one->run("run-1").value().owned);
  REQUIRE_OK(SqliteStore::open(path).value()->acquire("run-1"));
}

TEST_CASE("waiting for another process's lock ends", "[stores][sqlite][processes]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  SqliteOptions options;
  options.busy_timeout = std::chrono::milliseconds(40);
  const auto store = SqliteStore::open(path, options).value();
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
  const Pipe held;
  const Pipe done;
  Child child([&] {
    SQLite::Database raw(path, SQLite::OPEN_READWRITE);
    raw.exec("BEGIN IMMEDIATE");
    held.tell();
    done.hear();
    raw.exec("ROLLBACK");
    return 0;
  });
  held.hear();
  const Record second = step(journal, "a");
  const auto before = std::chrono::steady_clock::now();
  CHECK_ERRC(Errc::busy, store->append(lease, {&second, 1}, RunStatus::running));
  const auto waited = std::chrono::steady_clock::now() - before;
  CHECK(waited >= options.busy_timeout / 2);
  CHECK(waited < std::chrono::seconds(20));
  CHECK_ERRC(Errc::busy, store->start(run_info("run-2"), {}));
  CHECK(store->read("run-1", {}).value().records.size() == 1);  // Readers do not wait.
  REQUIRE_OK(SqliteStore::open(path, options));
  done.tell();
  CHECK(child.wait() == 0);
  REQUIRE_OK(store->append(lease, {&second, 1}, RunStatus::running));
}

TEST_CASE("a store that was opened before fork() refuses to work in the child",
          "[stores][sqlite][processes]") {
  TempFolder folder;
  auto store = SqliteStore::open(folder.file("a.db")).value();
  Journal journal("run-1");
  const Record first = started(journal);
  const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
  const Record second = step(journal, "a");
  Child child([&] {
    constexpr int refused = static_cast<int>(Errc::unsupported);
    const bool all = code_of(store->read("run-1", {})) == refused &&
                     code_of(store->append(lease, {&second, 1}, RunStatus::running)) == refused &&
                     code_of(store->start(run_info("run-2"), {})) == refused &&
                     code_of(store->runs({})) == refused &&
                     code_of(store->get("s", "k")) == refused;
    store->idle();
    store.reset();
    return all ? 0 : 1;
  });
  CHECK(child.wait() == 0);
  CHECK(store->run("run-1").value().owned);
  REQUIRE_OK(store->append(lease, {&second, 1}, RunStatus::running));
}

TEST_CASE("a file or folder that may not be written is an error with the way out",
          "[stores][sqlite][processes]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  REQUIRE_OK(SqliteStore::open(path));
  REQUIRE(::chmod(path.c_str(), 0444) == 0);
  REQUIRE(::chmod(folder.file("").c_str(), 0555) == 0);
  Child child([&] {
    // Root may write everything, so become another user.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 100;
    const auto refused = SqliteStore::open(path);
    if (code_of(refused) != static_cast<int>(Errc::io)) return 1;
    if (refused.error().detail.find("change its permissions") == std::string::npos) return 2;
    return code_of(SqliteStore::open(folder.file("new.db"))) == static_cast<int>(Errc::io) ? 0 : 3;
  });
  CHECK(child.wait() == 0);
  REQUIRE(::chmod(folder.file("").c_str(), 0755) == 0);
}
