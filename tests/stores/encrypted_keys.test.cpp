// SPDX-License-Identifier: MIT
// Keys that a program finds by a function, or does not have.
#include "stores/encrypted_kit.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/triage.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <stdexcept>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

// Throws instead of replacing records, and counts the leases that it gets back.
class ThrowingStore final : public ForwardingStore, public CompactsRuns {
 public:
  using ForwardingStore::ForwardingStore;
  Result<void> replace(const Lease&, std::span<const SequenceRange>,
                       std::span<const Record>) override {
    throw std::runtime_error("no replacement");
  }
  Result<void> release(const Lease& lease) override {
    ++released;
    return ForwardingStore::release(lease);
  }
  int released = 0;
};

// Dies when it has erased a run.
class DiesErasing final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<void> erase(const RunId& run) override {
    dead_ = true;
    return ForwardingStore::erase(run);
  }
  Result<std::optional<VersionedValue>> get(std::string_view space, std::string_view key) override {
    if (dead_) return Error{Errc::io, "dead"};
    return ForwardingStore::get(space, key);
  }

 private:
  bool dead_ = false;
};

}  // namespace

TEST_CASE("a function for keys that throws makes an error, and neither damage nor a held run",
          "[stores][encrypted]") {
  const auto runs = MemoryStore::create();
  const auto values = MemoryStore::create();
  const auto space = detail::own_space(detail::OwnSpace::signals);
  const std::vector<Record> records{change(1), change(2)};
  const auto made = encrypted(runs)->start({.id = "run-1"}, records);
  REQUIRE_OK(made);
  REQUIRE_OK(runs->release(made.value()));
  REQUIRE_OK(encrypted(values)->put_if(space, "run-1/k", 0, "a value"));
  bool throws = true;
  const auto asking = [&](const std::shared_ptr<CheckpointStore>& inner) {
    const auto find = [&](const std::string& id) -> Result<StoreKey> {
      if (throws) throw std::runtime_error("the vault timed out");
      return outcome::success(key_of(id, 'a'));
    };
    return EncryptedStore::around(inner, {.key = key_of("two", 'b'), .find = find}).value();
  };
  const auto check_told = [](const auto& result) {
    CHECK_ERRC(Errc::io, result);
    CHECK(result.error().detail.find("threw") != std::string::npos);
    CHECK(result.error().detail.find("the vault timed out") != std::string::npos);
  };
  const auto of_runs = asking(runs);
  const auto of_values = asking(values);
  check_told(of_runs->read("run-1", {}));
  check_told(of_runs->erase("run-1"));
  check_told(of_runs->rotate());
  check_told(of_values->get(space, "run-1/k"));
  check_told(of_values->rotate());
  const auto lease = runs->acquire("run-1");
  REQUIRE_OK(lease);
  REQUIRE_OK(runs->release(lease.value()));
  throws = false;
  CHECK(of_runs->read("run-1", {}).value().records.size() == 2);
  CHECK(of_runs->rotate().value().records == 2);
  CHECK(of_values->rotate().value().values == 1);
}

TEST_CASE("a store that throws while a run gets another key gets the lease back",
          "[stores][encrypted]") {
  const auto memory = MemoryStore::create();
  const auto made = encrypted(memory)->start({.id = "run-1"}, std::vector<Record>{change(1)});
  REQUIRE_OK(made);
  REQUIRE_OK(memory->release(made.value()));
  const auto inner = std::make_shared<ThrowingStore>(memory);
  const auto store =
      EncryptedStore::around(inner, {.key = key_of("two", 'b'), .older = {key_of("one", 'a')}})
          .value();
  CHECK_THROWS_AS(static_cast<void>(store->rotate()), std::runtime_error);
  CHECK(inner->released == 1);
}

TEST_CASE("records under an unknown key are damaged in order, and it is asked for once a reading",
          "[stores][encrypted]") {
  const TempFolder folder;
  const auto inner = SqliteStore::open(folder.file("runs.db")).value();
  const std::vector<Record> records{change(1), change(2), change(3), change(4), change(5)};
  REQUIRE_OK(encrypted(inner)->start({.id = "run-1"}, records));
  SQLite::Database(folder.file("runs.db"), SQLite::OPEN_READWRITE)
      .exec("UPDATE records SET body = body || x'00' WHERE seq IN (2, 4)");
  int asked = 0;
  const auto store = encrypted(
      inner, {.key = key_of("two", 'b'), .find = [&](const std::string&) -> Result<StoreKey> {
                ++asked;
                return Error{Errc::not_found, "no such key"};
              }});
  for (int times = 1; times <= 2; ++times) {
    const auto reading = store->read("run-1", {});
    REQUIRE_OK(reading);
    CHECK(reading.value().records.empty());
    std::vector<Sequence> damaged;
    for (const DamagedRecord& record : reading.value().damaged) damaged.push_back(record.seq);
    CHECK(damaged == std::vector<Sequence>{1, 2, 3, 4, 5});
    CHECK(asked == times);
  }
}

TEST_CASE("a run is erased with its keys, also those that cannot be decrypted",
          "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const auto store = encrypted(inner);
  const std::vector<Record> records{
      {1, RecordKind::suspended, WallTime(), std::make_shared<const Json>(Json{{"ticket", "t"}})}};
  const auto lease = store->start({.id = "run-1", .agent = "a", .label = "best"}, records);
  REQUIRE_OK(lease);
  REQUIRE_OK(store->release(lease.value()));
  const auto suspensions = detail::own_space(detail::OwnSpace::suspensions);
  const auto forks = detail::own_space(detail::OwnSpace::forks);
  REQUIRE_OK(inner->put_if(suspensions, "t", 0, "not encrypted"));
  REQUIRE_OK(store->put_if(forks, "a/best", 0, "run-1"));
  REQUIRE_OK(store->erase("run-1"));
  CHECK(inner->list(suspensions, "").value().empty());
  CHECK(inner->list(forks, "").value().empty());
  CHECK_ERRC(Errc::not_found, store->erase("run-1"));
}

TEST_CASE("a death while an encrypted run is erased leaves none of its keys without it",
          "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const auto suspensions = detail::own_space(detail::OwnSpace::suspensions);
  const auto store = encrypted(std::make_shared<DiesErasing>(inner));
  const std::vector<Record> records{
      {1, RecordKind::suspended, WallTime(), std::make_shared<const Json>(Json{{"ticket", "t"}})}};
  const auto lease = store->start({.id = "run-1", .agent = "a"}, records);
  REQUIRE_OK(lease);
  REQUIRE_OK(store->put_if(suspensions, "t", 0, "waits"));
  CHECK_ERRC(Errc::busy, store->erase("run-1"));
  CHECK(inner->list(suspensions, "").value().size() == 1);
  REQUIRE_OK(store->release(lease.value()));
  static_cast<void>(store->erase("run-1"));
  CHECK_ERRC(Errc::not_found, inner->run("run-1"));
  CHECK(inner->list(suspensions, "").value().empty());
}

TEST_CASE("a key that is not that of the store is told from its own", "[stores][encrypted]") {
  const auto inner = MemoryStore::create();
  const auto check = [&](EncryptionOptions options) {
    return EncryptedStore::around(inner, std::move(options)).value()->check_key();
  };
  const EncryptionOptions one{.key = key_of("one", 'a')};
  const EncryptionOptions two{.key = key_of("two", 'b')};
  REQUIRE_OK(check(one));  // Nothing is stored.

  REQUIRE_OK(inner->start({.id = "clear", .started = WallTime(std::chrono::seconds(1))},
                          std::vector<Record>{change(1)}));
  const auto clear = check(one);
  CHECK_ERRC(Errc::invalid_argument, clear);
  CHECK(clear.error().detail.find("checkpoint export") != std::string::npos);

  REQUIRE_OK(encrypted(inner)->start({.id = "one", .started = WallTime(std::chrono::seconds(2))},
                                     std::vector<Record>{change(1)}));
  REQUIRE_OK(check(one));
  const auto other = check(two);
  CHECK_ERRC(Errc::invalid_argument, other);
  CHECK(other.error().detail.find("the key \"one\"") != std::string::npos);
  CHECK_ERRC(Errc::invalid_argument, check({.key = key_of("one", 'b')}));  // Of the same name.
  REQUIRE_OK(check({.key = two.key, .older = {one.key}}));

  // Newer runs under other people's keys are no obstacle.
  REQUIRE_OK(encrypted(inner, two)
                 ->start({.id = "two", .started = WallTime(std::chrono::seconds(3))},
                         std::vector<Record>{change(1)}));
  REQUIRE_OK(check(two));
  REQUIRE_OK(check(one));
}
