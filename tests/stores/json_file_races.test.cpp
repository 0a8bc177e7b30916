// SPDX-License-Identifier: MIT
// What another process does to a JSON-file store between two reads of this one, and what is left
// where a sync fails. Replaces fsync() and fdatasync() of its program.
#include "stores/read_while_compacted.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "support/watched_reads.hpp"
#include "triage/compaction.hpp"
#include "triage/stores/json_file.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

std::atomic<long> failing_sync{0};  // SYS_fsync or SYS_fdatasync; 0: none.
std::atomic<int> failing_with{0};

// The next call of this kind fails, and only that one.
void fail_next(long kind, int code = EIO) {
  failing_with = code;
  failing_sync = kind;
}

std::function<void()> at_sync{};  // Once.

int sync_or_fail(long kind, int file) {
  if (at_sync) std::exchange(at_sync, {})();
  long failing = kind;
  if (failing_sync.compare_exchange_strong(failing, 0L)) {
    errno = failing_with;
    return -1;
  }
  return static_cast<int>(::syscall(kind, file));
}

// A store at level power, with a run without records.
struct SyncedStore {
  const TempFolder folder{};
  const std::string runs = folder.file("files") + "/runs/";
  const JsonFileOptions options{.durability = Durability::power, .segment_bytes = 4'096};
  const std::shared_ptr<JsonFileStore> store =
      JsonFileStore::open(folder.file("files"), options).value();
  const Lease lease = store->start({.id = "r"}, {}).value();

  [[nodiscard]] Result<void> add(Sequence seq, std::size_t bytes = 10) const {
    return store->append(lease, page_of(seq, bytes), RunStatus::running);
  }
  [[nodiscard]] std::vector<Sequence> sequences() const {
    const auto reading = store->read("r", {});
    REQUIRE_OK(reading);
    CHECK(reading.value().damaged.empty());
    std::vector<Sequence> all;
    for (const Record& record : reading.value().records) all.push_back(record.seq());
    return all;
  }
};

}  // namespace

extern "C" int fsync(int file) { return sync_or_fail(SYS_fsync, file); }
extern "C" int fdatasync(int file) { return sync_or_fail(SYS_fdatasync, file); }

TEST_CASE("a run of several files that is compacted in the middle of its reading is read whole",
          "[stores][json_file][compaction]") {
  const TempFolder folder;
  const JsonFileOptions small{.segment_bytes = GENERATE(40'000U, 100'000U)};  // Four files, or two.
  const auto owner = JsonFileStore::open(folder.file("files"), small).value();
  const auto reader = JsonFileStore::open(folder.file("files"), {.read_only = true}).value();
  BeforeNth reads;
  const WatchedReads watched([&] { reads(); });
  read_while_compacted(reads, "r", *owner, *reader, 100);
}

TEST_CASE("what is appended after a compaction whose folder could not be synced is read, and once",
          "[stores][json_file][compaction]") {
  const SyncedStore in;
  for (Sequence seq = 1; seq <= 5; ++seq) REQUIRE_OK(in.add(seq, 3'000));
  REQUIRE(std::filesystem::exists(in.runs + "r~3.jsonl"));
  auto& compacts = dynamic_cast<CompactsRuns&>(*in.store);
  const std::vector<SequenceRange> ranges{{2, 3}};
  const std::vector<Record> instead = page_of(3, 10);
  fail_next(SYS_fsync);
  CHECK_ERRC(Errc::io, compacts.replace(in.lease, ranges, instead));
  // The former files may be the ones on the disk, so nothing is acknowledged before a sync.
  CHECK(std::filesystem::exists(in.runs + "r~3.jsonl"));
  fail_next(SYS_fsync);
  CHECK_ERRC(Errc::io, in.add(6));
  CHECK(in.sequences() == std::vector<Sequence>{1, 3, 4, 5});
  REQUIRE_OK(in.add(6));  // In a second file, which takes a former one's place.
  REQUIRE_OK(in.add(7, 3'000));
  REQUIRE_OK(in.add(8));
  CHECK(in.sequences() == std::vector<Sequence>{1, 3, 4, 5, 6, 7, 8});
  REQUIRE_OK(compacts.replace(in.lease, ranges, instead));
  CHECK(in.sequences() == std::vector<Sequence>{1, 3, 4, 5, 6, 7, 8});
  CHECK_FALSE(std::filesystem::exists(in.runs + "r~2.jsonl"));
  CHECK_FALSE(std::filesystem::exists(in.runs + "r~3.jsonl"));
}

TEST_CASE("what could not be synced is not there, and is written again", "[stores][json_file]") {
  const SyncedStore in;
  const auto size = std::filesystem::file_size(in.runs + "r.jsonl");
  fail_next(SYS_fdatasync);
  CHECK_ERRC(Errc::io, in.add(1));
  CHECK(std::filesystem::file_size(in.runs + "r.jsonl") == size);
  fail_next(SYS_fdatasync, EINTR);
  REQUIRE_OK(in.add(1));
  CHECK(failing_sync.load() == 0L);  // It was synced this time, too.
  CHECK(in.sequences() == std::vector<Sequence>{1});

  fail_next(SYS_fsync);
  CHECK_ERRC(Errc::io, in.store->start({.id = "other"}, {}));
  CHECK_FALSE(std::filesystem::exists(in.runs + "other.jsonl"));
  REQUIRE_OK(in.store->start({.id = "other"}, {}));

  fail_next(SYS_fsync);
  CHECK_ERRC(Errc::io, in.store->put_if("s", "k", 0, "one"));
  fail_next(SYS_fdatasync);
  CHECK_ERRC(Errc::io, in.store->put_if("s", "k", 0, "one"));
  REQUIRE_OK(in.store->put_if("s", "k", 0, "one"));
  CHECK(in.store->get("s", "k").value()->bytes == "one");
}

TEST_CASE("a process that is forked while records are written locks nothing",
          "[stores][json_file]") {
  const TempFolder folder;
  const auto store =
      JsonFileStore::open(folder.file("files"), {.durability = Durability::power,
                                                 .busy_timeout = std::chrono::milliseconds(20)})
          .value();
  const Lease lease = store->start({.id = "r"}, {}).value();
  int held[2];
  REQUIRE(::pipe(held) == 0);
  pid_t child = -1;
  at_sync = [&] {
    child = ::fork();
    if (child != 0) return;
    ::close(held[1]);
    char byte = 0;
    ::_exit(::read(held[0], &byte, 1) == 0 ? 0 : 1);
  };
  CHECK(store->append(lease, page_of(1, 1), RunStatus::running));
  CHECK(store->append(lease, page_of(2, 1), RunStatus::running));
  ::close(held[0]);
  ::close(held[1]);
  REQUIRE(child > 0);
  ::waitpid(child, nullptr, 0);
}
