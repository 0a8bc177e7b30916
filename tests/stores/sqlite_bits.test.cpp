// SPDX-License-Identifier: MIT
// One flipped bit anywhere in the file never repeats completed work.
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

constexpr std::size_t page_size = 8192;

struct Counted {
  int finished_runs = 0;  // How often the callable of "done" ran.
  int charges = 0;        // How often the effect of "open" ran.
};

auto make_agent(const std::shared_ptr<CheckpointStore>& store, Counted& counted) {
  FailurePolicy policy;
  policy.otherwise(
      Strategy("none", [](const FailureContext&) { return RecoveryAction::escalate(); }));
  return TriageAgent{
      [&counted](const std::string& task, Attempt& attempt) -> Result<int> {
        if (task == "done") {
          ++counted.finished_runs;
          return attempt.effect("charge", [] { return 1; });
        }
        static_cast<void>(attempt.effect("charge", [&] { return ++counted.charges; }));
        return attempt.fail({.text = "stopped after the charge"});
      },
      policy,
      {.store = store}};
}

// The bytes of a store with a finished run, one that was charged and then stopped, a signal, and
// enough other runs and records for pages of every kind.
std::string make_bytes(const std::string& path) {
  {
    const auto store = SqliteStore::open(path).value();
    Counted counted;
    for (int i = 0; i < 250; ++i) {
      Journal journal("other-" + std::to_string(i));
      const Record first = started(journal);
      const auto lease = store->start(run_info(journal.run()), {&first, 1}).value();
      if (i == 100)
        REQUIRE_OK(make_agent(store, counted).run_or_resume("done", std::string("done")));
      if (i == 200) {
        CHECK_ERRC(Errc::escalated,
                   make_agent(store, counted).run_or_resume("open", std::string("open")));
      }
      for (int s = 0; s < 2; ++s) {
        const Record record = step(journal, std::string(i % 100 == 50 ? 9'000 : 30, 'x'));
        REQUIRE_OK(store->append(lease, {&record, 1}, RunStatus::finished));
      }
      REQUIRE_OK(store->release(lease));
    }
    REQUIRE(store->put_if(detail::own_space(detail::OwnSpace::signals), "open/amount", 0, "100"));
    CHECK(counted.finished_runs == 1);
    CHECK(counted.charges == 1);
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_nothing_repeats(const std::string& path) {
  const auto store = SqliteStore::open(path);
  if (!store) return;
  Counted counted;
  const auto agent = make_agent(store.value(), counted);
  const auto signal = store.value()->get("triage/signals", "open/amount");
  if (signal && signal.value()) CHECK(signal.value()->bytes == "100");
  static_cast<void>(agent.run_or_resume("open", std::string("open")));
  CHECK(counted.charges == 0);
  const auto again = agent.run(std::string("done"), {.run_id = "done"});
  if (again) CHECK(again.value() == 1);
  const auto done = agent.run_or_resume("done", std::string("done"));
  if (done) CHECK(done.value() == 1);
  CHECK(counted.finished_runs == 0);
}

}  // namespace

TEST_CASE("no single flipped bit makes a finished run run again or charges twice",
          "[stores][sqlite][damage]") {
  TempFolder folder;
  const std::string intact = make_bytes(folder.file("intact.db"));
  const std::string path = folder.file("flipped.db");
  std::ofstream(path, std::ios::binary) << intact;
  check_nothing_repeats(path);
  const auto seed = std::uint64_t{1};
  const auto random = seeded_random(seed);
  // Of each page: its header, the tree's entry counts, and some bits anywhere.
  for (std::size_t page = 0; page < intact.size(); page += page_size) {
    for (int flip = 0; flip < 6; ++flip) {
      const std::size_t most = flip < 3 ? 40 : page_size;
      const std::size_t at = page + random->next() % most;
      const auto bit = static_cast<unsigned>(random->next() % 8);
      INFO("seed " << seed << ", byte " << at << ", bit " << bit);
      std::string bytes = intact;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << bit));
      for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
      std::ofstream(path, std::ios::binary) << bytes;
      check_nothing_repeats(path);
    }
  }
}

TEST_CASE("a run that its index does not list is not made a second time",
          "[stores][sqlite][damage]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  std::string bytes = make_bytes(path);
  // Ids are in the table and in the index: each copy is flipped separately.
  int flipped = 0;
  for (std::size_t at = bytes.find("other-17"); at != std::string::npos;
       at = bytes.find("other-17", at + 1)) {
    if (bytes[at + 8] >= '0' && bytes[at + 8] <= '9') continue;
    std::string damaged = bytes;
    damaged[at + 7] = static_cast<char>(damaged[at + 7] ^ 4);
    const std::string copy = folder.file("copy.db");
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    std::ofstream(copy, std::ios::binary) << damaged;
    INFO("byte " << at + 7);
    const auto store = SqliteStore::open(copy).value();
    const auto made = store->start(run_info("other-17"), {});
    REQUIRE_FALSE(made);
    const bool refused = made.error().code == Errc::corrupt || made.error().code == Errc::conflict;
    CHECK(refused);
    CHECK_FALSE(store->check().value().empty());
    ++flipped;
  }
  CHECK(flipped >= 2);
}

TEST_CASE("a value whose bits changed is an error, not another value", "[stores][sqlite][damage]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  std::string bytes;
  {
    const auto store = SqliteStore::open(path).value();
    REQUIRE(
        store->put_if(detail::own_space(detail::OwnSpace::signals), "r/amount", 0, "value-100"));
  }
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  bytes[bytes.find("value-100") + 8] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  const auto store = SqliteStore::open(path).value();
  CHECK_ERRC(Errc::corrupt, store->get("triage/signals", "r/amount"));
  CHECK_ERRC(Errc::corrupt,
             store->put_if(detail::own_space(detail::OwnSpace::signals), "r/amount", 1, "other"));
  const auto problems = store->check().value();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("r/amount") != std::string::npos);
}

TEST_CASE("no flipped bit in a mark of an erasure keeps another one from its end",
          "[stores][sqlite][damage]") {
  TempFolder folder;
  const std::string path = folder.file("a.db");
  const std::vector<RunId> living{"run-1", "run-2", "run-3", "run-4"};
  {
    const auto store = SqliteStore::open(path).value();
    const auto add = [&](const RunId& id) {
      Journal journal(id);
      const Record first = started(journal);
      REQUIRE_OK(store->release(store->start(run_info(id), {&first, 1}).value()));
    };
    for (const RunId& id : living) add(id);
    add("gone");
    // One bit of 12 is between it and 4, a run's number. A flipped key is out of order as well.
    SQLite::Database(path, SQLite::OPEN_READWRITE)
        .exec("INSERT INTO meta VALUES('erasing/12', 12), ('erasing/13', 13), ('erasing/14', 14)");
  }
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::string mark = "erasing/12\x0C";  // The value lies behind the key.
  const std::size_t begin = bytes.find(mark);
  REQUIRE(begin != std::string::npos);
  const std::string copy = folder.file("copy.db");
  for (std::size_t bit = 0; bit < 8 * mark.size(); ++bit) {
    INFO("bit " << bit);
    std::string damaged = bytes;
    char& byte = damaged[begin + bit / 8];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << bit % 8));
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    std::ofstream(copy, std::ios::binary) << damaged;
    const auto store = SqliteStore::open(copy);
    REQUIRE_OK(store);
    REQUIRE_OK(store.value()->erase("gone"));
    for (const RunId& id : living) {
      const auto reading = store.value()->read(id, {});
      REQUIRE_OK(reading);
      REQUIRE(reading.value().damaged.empty());
      REQUIRE(reading.value().records.size() == 1);
    }
    SQLite::Database look(copy, SQLite::OPEN_READONLY);
    SQLite::Statement marks(look, "SELECT count(*) FROM meta WHERE +key GLOB 'erasing/*'");
    REQUIRE(marks.executeStep());
    CHECK(marks.getColumn(0).getInt() == 0);
  }
}
