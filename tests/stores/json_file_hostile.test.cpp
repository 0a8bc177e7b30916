// SPDX-License-Identifier: MIT
// JSON-file stores whose files are not as the store left them.
#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/json_file.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

TEST_CASE("an owner whose file lost acknowledged records writes none behind the hole",
          "[stores][json_file]") {
  const TempFolder folder;
  const auto store = JsonFileStore::open(folder.file("store")).value();
  Journal told("run-1");
  const auto lease = store->start({.id = "run-1"}, std::vector<Record>{started(told)});
  REQUIRE_OK(lease);
  const std::string path = folder.file("store") + "/runs/run-1.jsonl";
  const auto size = std::filesystem::file_size(path);
  const std::vector<Record> second{step(told, "a")};
  const std::vector<Record> third{step(told, "b")};
  const std::vector<Record> fourth{step(told, "c")};
  REQUIRE_OK(store->append(lease.value(), second, RunStatus::running));
  REQUIRE_OK(store->append(lease.value(), third, RunStatus::running));
  std::filesystem::resize_file(path, size);
  const auto refused = store->append(lease.value(), fourth, RunStatus::running);
  CHECK_ERRC(Errc::corrupt, refused);
  CHECK(refused.error().detail.find("behind 1 up to 3") != std::string::npos);
  // The next owner continues from what remains.
  REQUIRE_OK(store->release(lease.value()));
  const auto next = store->acquire("run-1");
  REQUIRE_OK(next);
  REQUIRE_OK(store->append(next.value(), second, RunStatus::finished));
  CHECK(store->read("run-1", {}).value().records.size() == 2);
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
