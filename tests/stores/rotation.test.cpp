// SPDX-License-Identifier: MIT
// Re-encrypting stored data with another key.
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/repair.hpp"
#include "triage/stores/compacting.hpp"
#include "triage/stores/encrypted.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/redacting.hpp"
#include "triage/stores/sqlite.hpp"

#include <algorithm>

using namespace triage;
using namespace triage::test;

namespace {

StoreKey key(const std::string& id) { return {.id = id, .secret = std::string(32, id.back())}; }

std::shared_ptr<EncryptedStore> with(const std::shared_ptr<CheckpointStore>& inner,
                                     const std::string& id, std::vector<StoreKey> older = {}) {
  return EncryptedStore::around(inner, {.key = key(id), .older = std::move(older)}).value();
}

void leave(CheckpointStore& store, const RunId& run, Sequence records, bool held = false) {
  std::vector<Record> all;
  for (Sequence seq = 1; seq <= records; ++seq) {
    all.emplace_back(seq, RecordKind::state_changed, WallTime{},
                     std::make_shared<const Json>(Json{{"page", seq}}));
  }
  const auto lease = store.start({.id = run}, all);
  REQUIRE_OK(lease);
  if (!held) REQUIRE_OK(store.release(lease.value()));
}

// Of a run that was started, and had its state changed from sequence 2 on.
std::vector<Record> started_and_changed(Sequence last) {
  std::vector<Record> all{
      {1, RecordKind::run_started, WallTime{}, std::make_shared<const Json>(Json{{"agent", "a"}})}};
  for (Sequence seq = 2; seq <= last; ++seq) {
    all.emplace_back(seq, RecordKind::state_changed, WallTime{},
                     std::make_shared<const Json>(Json{{"page", seq}}));
  }
  return all;
}

// Takes no replacement of run "refused", and weighs all others.
class Weigher final : public ForwardingStore, public CompactsRuns {
 public:
  using ForwardingStore::ForwardingStore;
  Result<void> replace(const Lease& lease, std::span<const SequenceRange> ranges,
                       std::span<const Record> instead) override {
    if (lease.run == "refused") return Error{Errc::invalid_argument, "too large"};
    std::string all;
    for (const Record& record : instead) record.encode_body(all);
    most = std::max(most, all.size());
    return dynamic_cast<CompactsRuns&>(inner()).replace(lease, ranges, instead);
  }
  std::size_t most = 0;
};

bool is_whole(CheckpointStore& store, const RunId& run, Sequence records) {
  const auto reading = store.read(run, {});
  if (!reading || !reading.value().damaged.empty()) return false;
  if (reading.value().records.size() != records) return false;
  return reading.value().records.back().body().value() == Json{{"page", records}};
}

}  // namespace

TEST_CASE("after a rotation everything is under the new key alone", "[rotation]") {
  const TempFolder folder;
  const int kind = GENERATE(0, 1, 2);
  const std::shared_ptr<CheckpointStore> inner =
      kind == 0   ? std::shared_ptr<CheckpointStore>(MemoryStore::create())
      : kind == 1 ? std::shared_ptr<CheckpointStore>(SqliteStore::open(folder.file("r.db")).value())
                  : JsonFileStore::open(folder.file("files")).value();
  const auto space = detail::own_space(detail::OwnSpace::signals);
  {
    const auto old = with(inner, "k1");
    leave(*old, "long", 2'500);
    leave(*old, "short", 3);
    REQUIRE_OK(old->put_if(space, "short/approved", 0, "yes"));
  }
  const auto both = with(inner, "k2", {key("k1")});
  leave(*both, "new", 2);
  const auto done = both->rotate();
  REQUIRE_OK(done);
  CHECK(done.value().runs == 2);
  CHECK(done.value().records == 2'503);
  CHECK(done.value().values == 1);
  CHECK(done.value().left.empty());
  const auto alone = with(inner, "k2");
  CHECK(is_whole(*alone, "long", 2'500));
  CHECK(is_whole(*alone, "short", 3));
  CHECK(is_whole(*alone, "new", 2));
  CHECK(alone->get(space, "short/approved").value()->bytes == "yes");
  CHECK(both->rotate().value().records == 0);
  // With the old key alone, every record is reported as damaged.
  CHECK(with(inner, "k1")->read("short", {}).value().damaged.size() == 3);
}

TEST_CASE("a run that somebody holds is left for the next rotation", "[rotation]") {
  const auto inner = MemoryStore::create();
  const auto old = with(inner, "k1");
  leave(*old, "free", 2);
  const auto lease = old->start(
      {.id = "held"}, std::vector<Record>{{1, RecordKind::state_changed, WallTime{},
                                           std::make_shared<const Json>(Json{{"page", 1}})}});
  REQUIRE_OK(lease);
  const auto both = with(inner, "k2", {key("k1")});
  const auto done = both->rotate();
  REQUIRE_OK(done);
  CHECK(done.value().left == std::vector<RunId>{"held"});
  CHECK(done.value().records == 2);
  REQUIRE_OK(old->release(lease.value()));
  CHECK(both->rotate().value().left.empty());
  CHECK(is_whole(*with(inner, "k2"), "held", 1));
}

TEST_CASE("a rotation that is stopped says what is left, and damage stays damage", "[rotation]") {
  const auto inner = MemoryStore::create();
  leave(*with(inner, "k1"), "a", 2);
  leave(*with(inner, "k9"), "lost", 2);  // Its key is lost.
  const auto both = with(inner, "k2", {key("k1")});
  std::stop_source stop;
  stop.request_stop();
  CHECK(both->rotate(stop.get_token()).value().left.size() == 2);
  const auto done = both->rotate();
  REQUIRE_OK(done);
  CHECK(done.value().left == std::vector<RunId>{"lost"});
  CHECK(both->read("lost", {}).value().damaged.size() == 2);
  CHECK(is_whole(*with(inner, "k2"), "a", 2));
}

TEST_CASE("only a store that can replace records can have another key", "[rotation]") {
  const auto redacting = RedactingStore::around(MemoryStore::create(), common_secrets()).value();
  CHECK(with(redacting, "k1")->rotate().error().code == Errc::unsupported);
}

TEST_CASE("an encrypted run is compacted without its key getting lost", "[rotation]") {
  const auto inner = MemoryStore::create();
  const auto store = with(inner, "k1");
  const auto lease = store->start({.id = "r", .agent = "a"}, started_and_changed(500));
  REQUIRE_OK(lease);
  REQUIRE_OK(compact_held_run(*store, lease.value(), {.max_checkpoints = 1}));
  CHECK(inner->read("r", {}).value().records.size() < 10);
  CHECK(store->latest("r").value().state.json() == Json{{"page", 500}});
}

TEST_CASE("without its key an encrypted run is neither compacted nor repaired", "[rotation]") {
  const auto inner = MemoryStore::create();
  const auto store = with(inner, "k1");
  const auto lease = store->start({.id = "r", .agent = "a"}, started_and_changed(50));
  REQUIRE_OK(lease);
  const std::vector<Record> behind_a_hole{
      {53, RecordKind::state_changed, WallTime{}, std::make_shared<const Json>(Json{{"key", 1}})}};
  REQUIRE_OK(store->append(lease.value(), behind_a_hole, RunStatus::failed));
  REQUIRE_OK(store->release(lease.value()));
  const auto repaired = repair_run(*inner, "r");
  CHECK_ERRC(Errc::unsupported, repaired);
  CHECK(repaired.error().detail.find("--key-file") != std::string::npos);
  CHECK_ERRC(Errc::unsupported, compact_run(*inner, "r", {.max_checkpoints = 1}));
  CHECK(inner->read("r", {}).value().records.size() == 51);
  REQUIRE_OK(repair_run(*store, "r"));
  CHECK(store->read("r", {}).value().damaged.empty());
  // Two members of these names may also be a state's.
  const auto plain = inner->start({.id = "plain", .agent = "a"}, started_and_changed(50));
  REQUIRE_OK(plain);
  const std::vector<Record> named{{51, RecordKind::state_changed, WallTime{},
                                   std::make_shared<const Json>(Json{{"key", 1}, {"sealed", 2}})}};
  REQUIRE_OK(inner->append(plain.value(), named, RunStatus::running));
  CHECK(compact_held_run(*inner, plain.value(), {.max_checkpoints = 1}).has_value());
}

TEST_CASE("what compacts goes around the encryption, not beneath it", "[rotation]") {
  const std::shared_ptr<CheckpointStore> compacting =
      CompactingStore::around(MemoryStore::create()).value();
  const auto refused = [](std::shared_ptr<CheckpointStore> inner) {
    const auto made = EncryptedStore::around(std::move(inner), {.key = key("k1")});
    return !made && made.error().code == Errc::invalid_argument;
  };
  CHECK(refused(compacting));
  CHECK(refused(std::make_shared<ForwardingStore>(compacting)));
  CHECK(CompactingStore::around(with(MemoryStore::create(), "k1")).has_value());
}

TEST_CASE("large records are re-encrypted few at a time, and a run that is refused keeps no other",
          "[rotation]") {
  const auto inner = MemoryStore::create();
  leave(*with(inner, "k1"), "before", 3);
  leave(*with(inner, "k1"), "refused", 3);
  std::vector<Record> large;
  constexpr Sequence small = 300;
  for (Sequence seq = 1; seq <= small + 40; ++seq) {
    const std::size_t size = seq <= small ? 1 : std::size_t{2} << 20U;
    large.emplace_back(seq, RecordKind::state_changed, WallTime{},
                       std::make_shared<const Json>(Json{{"page", std::string(size, 'x')}}));
  }
  {
    const auto old = with(inner, "k1");
    const auto lease = old->start({.id = "large"}, large);
    REQUIRE_OK(lease);
    REQUIRE_OK(old->release(lease.value()));
  }
  const auto weigher = std::make_shared<Weigher>(inner);
  const auto done = with(weigher, "k2", {key("k1")})->rotate();
  REQUIRE_OK(done);
  CHECK(done.value().left == std::vector<RunId>{"refused"});
  CHECK(done.value().records == small + 43);
  CHECK(weigher->most < (std::size_t{20} << 20U));
  CHECK(with(inner, "k2")->read("large", {}).value().damaged.empty());
  CHECK(is_whole(*with(inner, "k2"), "before", 3));
}
