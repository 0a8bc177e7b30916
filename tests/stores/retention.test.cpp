// SPDX-License-Identifier: MIT
#include "triage/retention.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/json.hpp"
#include "triage/stores/memory.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

// A run without an owner, with one record of about `bytes`.
void leave(CheckpointStore& store, RunInfo info, std::size_t bytes = 0,
           RunStatus status = RunStatus::finished) {
  const std::vector<Record> records{
      {1, RecordKind::state_changed, info.started,
       std::make_shared<const Json>(Json{{"text", std::string(bytes, 'x')}})}};
  const auto lease = store.start(info, records);
  REQUIRE_OK(lease);
  REQUIRE_OK(store.append(lease.value(), {}, status));
  REQUIRE_OK(store.release(lease.value()));
}

WallTime at(int seconds) { return WallTime(std::chrono::seconds(seconds)); }

// Goes on with a run once all runs have been listed, and suspends it again.
class Resumed : public ForwardingStore {
 public:
  Resumed(std::shared_ptr<CheckpointStore> inner, RunId run)
      : ForwardingStore(std::move(inner)), run_(std::move(run)) {}

  Result<std::vector<RunInfo>> runs(const RunQuery& query) override {
    auto found = inner().runs(query);
    const std::vector<Record> more{{2, RecordKind::state_changed, WallTime(std::chrono::hours(1)),
                                    std::make_shared<const Json>(Json{{"page", 2}})}};
    const auto lease = inner().acquire(run_);
    CHECK(inner().append(lease.value(), more, RunStatus::suspended));
    CHECK(inner().release(lease.value()));
    return found;
  }

 private:
  const RunId run_;
};

std::string ids(const std::vector<RunInfo>& runs) {
  std::string all;
  for (const RunInfo& run : runs) all += (all.empty() ? "" : " ") + run.id;
  return all;
}

}  // namespace

TEST_CASE("the newest runs stay as long as they fit", "[retention]") {
  const auto store = MemoryStore::create();
  for (int i = 0; i < 4; ++i) {
    leave(*store, {.id = std::string(1, static_cast<char>('a' + i)), .started = at(i)}, 10'000);
  }
  CHECK(size_of(*store).value().bytes > 40'000);
  CHECK(size_of(*store).value().runs == 4);
  CHECK(size_of(*store).value().records == 4);
  CHECK(ids(prunable(*store, {.keep_bytes = 25'000}).value()) == "b a");
  CHECK(prune(*store, {.keep_bytes = 25'000}).value() == 2);
  CHECK(ids(store->runs({}).value()) == "d c");
  CHECK(ids(prunable(*store, {}).value()).empty());
  leave(*store, {.id = "e", .started = at(9)}, 30'000);
  CHECK(ids(prunable(*store, {.keep_bytes = 25'000}).value()) == "e");
}

TEST_CASE("each agent's newest runs stay, and what was updated lately", "[retention]") {
  const auto store = MemoryStore::create();
  leave(*store, {.id = "a", .agent = "busy", .started = at(1)});
  leave(*store, {.id = "b", .agent = "busy", .started = at(2)});
  leave(*store, {.id = "c", .agent = "rare", .started = at(3)});
  CHECK(ids(prunable(*store, {.keep_newest = 1}).value()) == "a");
  CHECK(ids(prunable(*store, {.keep_since = at(3)}).value()) == "b a");
}

TEST_CASE("what has a label, is under way, or is needed by what is under way stays",
          "[retention]") {
  const auto store = MemoryStore::create();
  leave(*store, {.id = "labelled", .label = "nightly", .started = at(1)});
  leave(*store, {.id = "waits", .started = at(2)}, 0, RunStatus::suspended);
  leave(*store, {.id = "child", .parent = "waits", .started = at(3)});
  leave(*store, {.id = "orphan", .parent = "gone", .started = at(4)});
  CHECK(ids(prunable(*store, {.keep_newest = 0}).value()) == "orphan");
  CHECK(ids(prunable(*store, {.keep_newest = 0, .keep_labelled = false}).value()) ==
        "orphan labelled");
  CHECK(ids(prunable(*store, {.keep_newest = 0, .only_ended = false}).value()) == "orphan waits");
  const auto owned = store->acquire("orphan");
  REQUIRE_OK(owned);
  CHECK(prunable(*store, {.keep_newest = 0}).value().empty());
}

TEST_CASE("a store of its own accord keeps what a run that goes on may ask for", "[retention]") {
  const auto store = MemoryStore::create();
  leave(*store, {.id = "waits", .started = at(2)}, 0, RunStatus::suspended);
  leave(*store, {.id = "child", .parent = "waits", .started = at(3)});
  leave(*store, {.id = "labelled", .label = "nightly", .started = at(4)});
  CHECK(store->prune({.keep_newest = 0}).value() == 1);
  CHECK(ids(store->runs({}).value()) == "child waits");
}

TEST_CASE("a run that went on since it was listed stays", "[retention]") {
  const auto inner = MemoryStore::create();
  leave(*inner, {.id = "a", .started = at(1)}, 0, RunStatus::suspended);
  leave(*inner, {.id = "b", .started = at(2)}, 0, RunStatus::suspended);
  Resumed store(inner, "a");
  SECTION("by rule") { CHECK(prune(store, {.keep_newest = 0, .only_ended = false}).value() == 1); }
  SECTION("by the store's own") {
    CHECK(store.CheckpointStore::prune({.keep_newest = 0, .only_ended = false}).value() == 1);
  }
  CHECK(ids(inner->runs({}).value()) == "a");
}
