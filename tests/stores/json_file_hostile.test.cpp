// SPDX-License-Identifier: MIT
// JSON-file stores whose files are not as the store left them.
#include "json_file/lines.hpp"
#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/repair.hpp"
#include "triage/stores/json_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

// How many descriptors of this process are of this file, or of one that was there before.
long open_files(const std::string& path) {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::count_if(begin(all), end(all), [&](const auto& one) {
    std::error_code gone;
    return std::filesystem::read_symlink(one.path(), gone).string().starts_with(path);
  });
}

// A store with one run.
struct WithRun {
  const TempFolder folder{};
  const std::string journal = folder.file("store") + "/runs/run-1.jsonl";
  const std::string keys = folder.file("store") + "/keys.jsonl";
  const std::shared_ptr<JsonFileStore> store = JsonFileStore::open(folder.file("store")).value();
  Journal told{"run-1"};
  const Lease lease = store->start({.id = "run-1"}, std::vector<Record>{started(told)}).value();
};

// No file grows beyond this size, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit tight{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signalled_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*signalled_)(int) = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

}  // namespace

TEST_CASE("an owner whose file lost acknowledged records writes none behind the hole",
          "[stores][json_file]") {
  WithRun with;
  JsonFileStore& store = *with.store;
  const auto size = std::filesystem::file_size(with.journal);
  const std::vector<Record> second{step(with.told, "a")};
  const std::vector<Record> third{step(with.told, "b")};
  const std::vector<Record> fourth{step(with.told, "c")};
  REQUIRE_OK(store.append(with.lease, second, RunStatus::running));
  REQUIRE_OK(store.append(with.lease, third, RunStatus::running));
  std::filesystem::resize_file(with.journal, size);
  const auto refused = store.append(with.lease, fourth, RunStatus::running);
  CHECK_ERRC(Errc::corrupt, refused);
  CHECK(refused.error().detail.find("behind 1 up to 3") != std::string::npos);
  // The next owner continues from what remains.
  REQUIRE_OK(store.release(with.lease));
  const auto next = store.acquire("run-1");
  REQUIRE_OK(next);
  REQUIRE_OK(store.append(next.value(), second, RunStatus::finished));
  CHECK(store.read("run-1", {}).value().records.size() == 2);
}

TEST_CASE("a pipe or a folder among the runs is no run, and nobody waits for it",
          "[stores][json_file]") {
  const TempFolder folder;
  const auto store = JsonFileStore::open(folder.file("store")).value();
  REQUIRE_OK(store->start({.id = "run-1"}, {}));
  const std::string runs = folder.file("store") + "/runs/";
  REQUIRE(::mkfifo((runs + "pipe.jsonl").c_str(), 0600) == 0);
  std::filesystem::create_directory(runs + "folder.jsonl");
  CHECK(store->runs({}).value().size() == 1);
  CHECK_ERRC(Errc::io, store->read("pipe", {}));
  CHECK_ERRC(Errc::io, store->read("folder", {}));
  CHECK_FALSE(store->acquire("pipe"));
  std::filesystem::create_directory(folder.file("odd"));
  REQUIRE(::mkfifo((folder.file("odd") + "/store.json").c_str(), 0600) == 0);
  CHECK_ERRC(Errc::io, JsonFileStore::open(folder.file("odd")));
}

TEST_CASE("records and keys that do not fit on the disk are refused, and nothing of them stays",
          "[stores][json_file]") {
  WithRun with;
  JsonFileStore& store = *with.store;
  REQUIRE_OK(store.put_if("s", "k", 0, "small"));
  const auto size = std::filesystem::file_size(with.journal);
  const auto keys_size = std::filesystem::file_size(with.keys);
  const std::vector<Record> large{step(with.told, std::string(1'000, 'a')),
                                  step(with.told, std::string(1'000, 'b'))};
  {
    const FullDisk full(std::max(size, keys_size) + 200);  // Room for a part of it.
    CHECK_ERRC(Errc::io, store.append(with.lease, large, RunStatus::running));
    CHECK_ERRC(Errc::io, store.put_if("s", "k", 1, std::string(1'000, 'c')));
  }
  CHECK(std::filesystem::file_size(with.journal) == size);
  CHECK(std::filesystem::file_size(with.keys) == keys_size);
  CHECK(store.get("s", "k").value()->bytes == "small");
  REQUIRE_OK(store.append(with.lease, large, RunStatus::running));
  CHECK(store.read("run-1", {}).value().records.size() == 3);
}

TEST_CASE("a damaged line among the keys hides no run, and a repair sets it aside",
          "[stores][json_file]") {
  WithRun with;
  JsonFileStore& store = *with.store;
  REQUIRE_OK(store.put_if("s", "early", 0, "value"));
  const auto begin = std::filesystem::file_size(with.keys);
  REQUIRE_OK(store.put_if("s", "lost", 0, "damaged"));
  REQUIRE_OK(store.put_if("s", "late", 0, "value"));
  {
    std::fstream file(with.keys, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(begin) + 20);
    file.put('#');
  }
  for (const bool read_only : {false, true}) {
    const auto seen =
        JsonFileStore::open(with.folder.file("store"), {.read_only = read_only}).value();
    CHECK(seen->read("run-1", {}).value().records.size() == 1);
    CHECK(seen->get("s", "late").value()->bytes == "value");
    // The damaged line may have been about any other.
    CHECK_ERRC(Errc::corrupt, seen->get("s", "lost"));
    const auto early = seen->get("s", "early");
    CHECK_ERRC(Errc::corrupt, early);
    CHECK(early.error().detail.find("verify --repair") != std::string::npos);
    CHECK_ERRC(Errc::corrupt, seen->list("s", ""));
    CHECK(seen->check().value().size() == 1);
  }
  const auto again = JsonFileStore::open(with.folder.file("store")).value();
  REQUIRE_OK(again->put_if("s", "late", 1, "newer"));
  CHECK_ERRC(Errc::corrupt, again->put_if("s", "early", 1, "newer"));
  const auto repaired = repair_store(*again);
  REQUIRE_OK(repaired);
  CHECK(repaired.value().size() == 1);
  CHECK(store.list("s", "").value() == std::vector<std::string>{"early", "late"});
  CHECK(store.get("s", "late").value()->version == 2);
  CHECK_FALSE(store.get("s", "lost").value());
  CHECK(store.check().value().empty());
  std::ifstream aside(with.folder.file("store") + "/keys.damaged");
  const std::string kept{std::istreambuf_iterator<char>(aside), {}};
  CHECK(kept.find("damaged") != std::string::npos);
  CHECK(repair_store(store).value().empty());
}

TEST_CASE("the keys' file stays open, so that no file that takes its place has its number",
          "[stores][json_file]") {
  const TempFolder folder;
  const auto store = JsonFileStore::open(folder.file("store")).value();
  const std::string keys = folder.file("store") + "/keys.jsonl";
  REQUIRE_OK(store->put_if("s", "k", 0, "old"));
  CHECK(open_files(keys) == 1);
  // Another process rewrites the file: another value, of the same size, under the same version.
  const auto other = JsonFileStore::open(folder.file("other")).value();
  REQUIRE_OK(other->put_if("s", "k", 0, "new"));
  std::filesystem::remove(keys);
  CHECK(open_files(keys) == 1);
  std::filesystem::copy_file(folder.file("other") + "/keys.jsonl", keys);
  CHECK(store->get("s", "k").value()->bytes == "new");
  CHECK(open_files(keys) == 1);
}

TEST_CASE("a run whose keys cannot be removed stays, and its next namesake finds none of them",
          "[stores][json_file]") {
  const TempFolder folder;
  const std::string place = folder.file("store");
  const auto store =
      JsonFileStore::open(place, {.busy_timeout = std::chrono::milliseconds(20)}).value();
  const auto signals = detail::own_space(detail::OwnSpace::signals);
  const auto lease = store->start({.id = "job"}, {});
  REQUIRE_OK(lease);
  REQUIRE_OK(store->release(lease.value()));
  REQUIRE_OK(store->put_if(signals, "job/approved", 0, "yes"));
  const int keys = ::open((place + "/locks/keys").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(keys, LOCK_EX) == 0);
  CHECK_ERRC(Errc::busy, store->erase("job"));
  CHECK(store->run("job").has_value());
  ::close(keys);
  REQUIRE_OK(store->erase("job"));
  CHECK(store->list(signals, "").value().empty());
}

TEST_CASE("erasing a run once more removes what a cut off erasure has left of it",
          "[stores][json_file]") {
  const TempFolder folder;
  const std::string place = folder.file("store");
  const auto store = JsonFileStore::open(place).value();
  const auto signals = detail::own_space(detail::OwnSpace::signals);
  REQUIRE_OK(store->put_if(signals, "job/approved", 0, "yes"));
  REQUIRE_OK(store->put_if(signals, "job2/approved", 0, "yes"));
  std::ofstream(place + "/runs/job~2.jsonl") << "left";
  const auto wrong = store->check();
  REQUIRE_OK(wrong);
  REQUIRE(wrong.value().size() == 1);
  CHECK(wrong.value().front().find("job~2.jsonl") != std::string::npos);
  CHECK_ERRC(Errc::not_found, store->erase("job"));
  CHECK(store->list(signals, "").value() == std::vector<std::string>{"job2/approved"});
  CHECK(std::filesystem::is_empty(place + "/runs"));
  CHECK(store->check().value().empty());
}

TEST_CASE("the next run of a name finds no file of one whose erasure was cut off",
          "[stores][json_file]") {
  const TempFolder folder;
  const std::string runs = folder.file("store") + "/runs/";
  const auto store = JsonFileStore::open(folder.file("store"), {.segment_bytes = 4'096}).value();
  const auto page = [](Sequence seq, const char* text) {
    return std::vector<Record>{{seq, RecordKind::state_changed, WallTime{},
                                std::make_shared<const Json>(
                                    Json{{"page", seq}, {"text", text + std::string(500, 'x')}})}};
  };
  const auto run = [&](Sequence last, const char* text) {
    const auto lease = store->start({.id = "job"}, page(1, text));
    REQUIRE_OK(lease);
    for (Sequence seq = 2; seq <= last; ++seq) {
      REQUIRE_OK(store->append(lease.value(), page(seq, text), RunStatus::running));
    }
    REQUIRE_OK(store->release(lease.value()));
  };
  run(40, "erased");
  REQUIRE(std::filesystem::exists(runs + "job~4.jsonl"));
  std::filesystem::remove(runs + "job.jsonl");
  std::filesystem::remove(runs + "job~2.jsonl");
  SECTION("the erasure is not repeated") {}
  SECTION("the erasure is repeated") {
    CHECK_ERRC(Errc::not_found, store->erase("job"));
    CHECK(std::filesystem::is_empty(runs));
  }
  run(12, "kept");  // In two files.
  REQUIRE(std::filesystem::exists(runs + "job~2.jsonl"));
  CHECK(store->run("job").value().last == 12);
  CHECK(store->read("job", {}).value().records.size() == 12);
  const auto lease = store->acquire("job");
  REQUIRE_OK(lease);
  for (Sequence seq = 13; seq <= 40; ++seq) {
    REQUIRE_OK(store->append(lease.value(), page(seq, "kept"), RunStatus::running));
  }
  CHECK(store->read("job", {}).value().records.size() == 40);
}

TEST_CASE("what a crash left unfinished is named, and removed once nobody can be writing it",
          "[stores][json_file]") {
  const TempFolder folder;
  const std::string place = folder.file("store");
  REQUIRE_OK(JsonFileStore::open(place));
  const std::string old = place + "/tmp/new-1";
  const std::string young = place + "/tmp/new-2";
  std::ofstream(old) << "the content of a run";
  std::ofstream(young) << "another process writes it";
  namespace fs = std::filesystem;
  fs::last_write_time(old, fs::last_write_time(old) - std::chrono::minutes(61));
  const auto looked = JsonFileStore::open(place, {.read_only = true}).value();
  CHECK(fs::exists(old));
  REQUIRE(looked->check().value().size() == 1);
  CHECK(looked->check().value().front().find("tmp/new-1") != std::string::npos);
  REQUIRE_OK(JsonFileStore::open(place));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young));
}

TEST_CASE("the keys of a store that is only looked at are read without a lock",
          "[stores][json_file]") {
  const WithRun in;
  REQUIRE_OK(in.store->put_if("s", "k", 0, "x"));
  const std::string locks = in.folder.file("store") + "/locks";
  std::filesystem::remove_all(locks);
  const auto looked = JsonFileStore::open(in.folder.file("store"), {.read_only = true}).value();
  const auto found = looked->get("s", "k");
  REQUIRE_OK(found);
  CHECK(found.value()->bytes == "x");
  CHECK(looked->list("s", "").value().size() == 1);
  // As a writer leaves it in the middle of a line, and after it.
  std::ofstream(in.keys, std::ios::app) << "{\"space\":";
  CHECK(looked->list("s", "").value().size() == 1);
  CHECK_FALSE(std::filesystem::exists(locks));
}

TEST_CASE("a store stays where it was opened when the program goes to another folder",
          "[stores][json_file]") {
  const TempFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto store = JsonFileStore::open("file:store");
  REQUIRE_OK(store);
  const auto lease = store.value()->start({.id = "run-1"}, {});
  std::filesystem::current_path(before);
  REQUIRE_OK(lease);
  CHECK(store.value()->runs({}).value().size() == 1);
  CHECK(store.value()->release(lease.value()));
}

TEST_CASE("a run that a newer version has written hides no others", "[stores][json_file]") {
  const WithRun in;
  std::ofstream(in.folder.file("store") + "/runs/newer.jsonl")
      << detail::seal_line("newer", R"("triage":"run","format":2)");
  const auto runs = in.store->runs({});
  REQUIRE_OK(runs);
  REQUIRE(runs.value().size() == 2);
  for (const RunInfo& run : runs.value()) CHECK(run.damaged == (run.id == "newer"));
  CHECK_ERRC(Errc::unsupported, in.store->read("newer", {}));
}
