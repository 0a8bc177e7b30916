// SPDX-License-Identifier: MIT
#include "triage/compaction.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/agent.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/journal.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/repair.hpp"
#include "triage/retention.hpp"
#include "triage/stores/compacting.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/redacting.hpp"
#include "triage/stores/sqlite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

const WallTime now{std::chrono::hours(1)};

// A run recorded as by its process, with its records in a store.
class Recording {
 public:
  explicit Recording(std::shared_ptr<CheckpointStore> store, RunId run = "r")
      : store_(std::move(store)), run_(std::move(run)) {
    note(journal_.add(RecordKind::run_started, now, Json{{"agent", "a"}, {"task", 1}}));
    note(journal_.add(RecordKind::attempt_started, now, Json{{"number", 1}}));
    journal_.begin_attempt(1);
  }

  Journal& journal() { return journal_; }
  void note(Record record) { records_.push_back(std::move(record)); }
  void set(const std::string& key, Json value) {
    note(journal_.change_state(Json{{key, std::move(value)}}, now));
  }
  void step(const std::string& action) { note(journal_.add_step({.action = action}, now)); }
  void label(const std::string& name) { note(journal_.label_checkpoint(name, now)); }
  // Rolls back to a position, like the run loop.
  void roll_back(std::size_t position) {
    const Sequence to = journal_.positions()[position].seq;
    note(journal_.add(RecordKind::rolled_back, now, Json{{"to", to}}));
    note(journal_.snapshot_state(journal_.state().json(), false, now));
  }

  void leave() {
    const auto lease = store_->start({.id = run_, .agent = "a", .started = now}, records_);
    REQUIRE_OK(lease);
    REQUIRE_OK(store_->append(lease.value(), {}, RunStatus::finished));
    REQUIRE_OK(store_->release(lease.value()));
  }
  [[nodiscard]] CheckpointStore& store() const { return *store_; }
  [[nodiscard]] Journal stored() const {
    return Journal::fold(store_->read(run_, {}).value()).value();
  }

 private:
  std::shared_ptr<CheckpointStore> store_;
  RunId run_;
  Journal journal_{"r"};
  std::vector<Record> records_{};
};

}  // namespace

TEST_CASE("many changes of one key shrink to one", "[compaction]") {
  Recording run(MemoryStore::create());
  for (int i = 0; i < 20'000; ++i) run.set("page", i);
  run.leave();
  const auto done = compact_run(run.store(), "r", {.max_checkpoints = 1});
  REQUIRE_OK(done);
  CHECK(done.value().records_before == 20'002);
  CHECK(done.value().records <= 5);
  CHECK(done.value().bytes < 300);
  CHECK(run.stored().state().json() == Json{{"page", 19'999}});
  CHECK(run.store().latest("r").value().info.id.sequence == 20'002);
  CHECK(size_of(run.store()).value().records == done.value().records);
  const auto again = compact_run(run.store(), "r", {.max_checkpoints = 1});
  REQUIRE_OK(again);
  CHECK(again.value().records == done.value().records);
}

TEST_CASE("the newest checkpoints of each branch stay, and those with labels", "[compaction]") {
  Recording run(MemoryStore::create());
  for (int i = 0; i < 100; ++i) {
    run.step("step " + std::to_string(i));
    run.set("page", i);
    if (i == 20) run.label("half");
    if (i == 21) run.label("triage/acknowledged");
  }
  run.journal().end_checkpoint();
  run.roll_back(49);
  for (int i = 100; i < 120; ++i) {
    run.step("step " + std::to_string(i));
    run.set("page", i);
  }
  run.leave();
  const std::size_t all = run.stored().positions().size();
  const auto done = compact_run(run.store(), "r", {.max_checkpoints = 5});
  REQUIRE_OK(done);
  CHECK(done.value().checkpoints_before == all);
  // Five of each branch, the labelled one, and the target of the rollback.
  CHECK(done.value().checkpoints == 12);
  const Journal journal = run.stored();
  const auto half = journal.find_label("half");
  REQUIRE(half);
  CHECK(journal.restore(*half).state.json() == Json{{"page", 20}});
  CHECK(journal.restore(*half).trajectory.size() == 21);
  CHECK(journal.trajectory().size() == 70);
  CHECK(missing_records(run.store().read("r", {}).value()).empty());
}

TEST_CASE("so many checkpoints stay as fit into the bytes, and one at least", "[compaction]") {
  const auto make = [] {
    Recording run(MemoryStore::create());
    for (int i = 0; i < 200; ++i) {
      run.step("s");
      run.set("text", std::string(1'000, static_cast<char>('a' + i % 26)));
    }
    run.leave();
    return run;
  };
  const Recording loose = make();
  const auto all = compact_run(loose.store(), "r", {.max_bytes = 10'000'000}).value();
  CHECK(all.checkpoints >= 100);
  const Recording tight = make();
  const auto some = compact_run(tight.store(), "r", {.max_bytes = 40'000}).value();
  CHECK(some.bytes <= 40'000);
  CHECK(some.checkpoints > 10);
  const Recording tiny = make();
  const auto one = compact_run(tiny.store(), "r", {.max_bytes = 1}).value();
  CHECK(one.checkpoints >= 1);
  CHECK(one.checkpoints <= 2);
  CHECK(tiny.stored().trajectory().size() == 200);
  CHECK(tiny.stored().state() == loose.stored().state());
}

TEST_CASE("a checkpoint that went is not found, and never restored with another state",
          "[compaction]") {
  const TempFolder folder;
  Recording run(SqliteStore::open(folder.file("c.db")).value());
  std::vector<CheckpointId> ids;
  for (int i = 0; i < 30; ++i) {
    run.step("s");
    run.set("page", i);
  }
  run.leave();
  const auto before = run.store().checkpoints("r").value();
  REQUIRE_OK(compact_run(run.store(), "r", {.max_checkpoints = 3}));
  std::size_t found = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto state = run.store().load_state(before[i].id);
    const auto checkpoint = run.store().load(before[i].id);
    CHECK(state.has_value() == checkpoint.has_value());
    if (!state) {
      CHECK(state.error().code == Errc::not_found);
      continue;
    }
    ++found;
    CHECK(state.value().json() == Json{{"page", i}});
    CHECK(checkpoint.value().trajectory.size() == i + 1);
  }
  CHECK(found == run.store().checkpoints("r").value().size());
  CHECK(found <= 4);
  CHECK(run.store().check().value().empty());
}

TEST_CASE("a run that would get larger is left as it is where that is asked for", "[compaction]") {
  Recording run(MemoryStore::create());
  for (int i = 0; i < 30; ++i) {
    run.step("s");
    run.set("page", i);
  }
  run.leave();
  const auto checkpoints = run.store().checkpoints("r").value().size();
  const auto done = compact_run(run.store(), "r", {.max_checkpoints = 1, .only_smaller = true});
  REQUIRE_OK(done);
  CHECK(done.value().bytes == done.value().bytes_before);
  CHECK(run.store().checkpoints("r").value().size() == checkpoints);
}

TEST_CASE("whatever was recorded, what stays is as it was", "[compaction]") {
  const auto seed = GENERATE(range(1U, 150U));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<std::size_t>(random() % n); };
  const TempFolder folder;
  const std::shared_ptr<CheckpointStore> stores[] = {
      seed % 10 == 0 ? SqliteStore::open(folder.file("c.db")).value() : nullptr,
      seed % 10 == 5 ? JsonFileStore::open(folder.file("files"), {.segment_bytes = 4'096}).value()
                     : nullptr,
      MemoryStore::create()};
  Recording run(*std::find_if(std::begin(stores), std::end(stores),
                              [](const auto& store) { return store != nullptr; }));
  for (int i = 0; i < 120; ++i) {
    const std::string key(1, static_cast<char>('a' + below(4)));
    switch (below(12)) {
      case 0:
      case 1:
      case 2: run.step("s" + std::to_string(i)); break;
      case 3:
      case 4:
      case 5:
      case 6: run.set(key, i); break;
      case 7: run.note(run.journal().remove_state(key, now)); break;
      case 8:
        run.note(run.journal().snapshot_state(
            below(2) == 0 ? Json{{key, i}} : run.journal().state().json(), below(2) == 0, now));
        break;
      case 9:
        if (below(4) == 0) run.label("l" + std::to_string(i));
        break;
      case 10:
        run.journal().end_checkpoint();
        if (!run.journal().positions().empty() && below(3) == 0) {
          run.roll_back(below(static_cast<unsigned>(run.journal().positions().size())));
        }
        break;
      default:
        run.note(run.journal().add(RecordKind::effect_intended, now,
                                   Json{{"key", "e" + std::to_string(i)}}));
        break;
    }
  }
  run.leave();
  const Journal before = run.stored();
  const std::size_t most = 1 + below(6);
  const auto done = compact_run(run.store(), "r", {.max_checkpoints = most});
  REQUIRE_OK(done);
  const Journal after = run.stored();
  CHECK(after.state() == before.state());
  CHECK(after.effects().size() == before.effects().size());
  CHECK(after.trajectory().size() == before.trajectory().size());
  CHECK(after.gaps() == before.gaps());
  CHECK(done.value().bytes <= done.value().bytes_before + 64 * done.value().records);
  for (std::size_t i = 0; i < after.positions().size(); ++i) {
    const auto same = before.find(after.positions()[i].seq);
    REQUIRE(same);
    CHECK(after.restore(i).state == before.restore(*same).state);
    CHECK(run.store().load_state(after.info(i).id).value() == before.restore(*same).state);
  }
  for (std::size_t i = 0; i < before.positions().size(); ++i) {
    const auto& position = before.positions()[i];
    const std::string label = before.info(i).label;
    if (!label.empty()) CHECK(after.find_label(label) == after.find(position.seq));
  }
  const auto again = compact_run(run.store(), "r", {.max_checkpoints = most});
  REQUIRE_OK(again);
  CHECK(run.stored().state() == before.state());
}

TEST_CASE("an owner that has lost the run compacts nothing", "[compaction]") {
  const TempFolder folder;
  const int kind = GENERATE(0, 1, 2);
  const std::shared_ptr<CheckpointStore> store =
      kind == 0   ? std::shared_ptr<CheckpointStore>(MemoryStore::create())
      : kind == 1 ? std::shared_ptr<CheckpointStore>(SqliteStore::open(folder.file("c.db")).value())
                  : JsonFileStore::open(folder.file("files")).value();
  Recording run(store);
  for (int i = 0; i < 50; ++i) run.set("page", i);
  run.leave();
  const auto stale = store->acquire("r");
  REQUIRE_OK(stale);
  REQUIRE_OK(store->release(stale.value()));
  const auto holder = store->acquire("r");
  REQUIRE_OK(holder);
  CHECK(compact_held_run(*store, stale.value(), {}).error().code == Errc::fenced);
  CHECK(compact_run(*store, "r", {}).error().code == Errc::busy);
  CHECK(store->read("r", {}).value().records.size() == 52);
  CHECK((compact_held_run(*store, holder.value(), {})).has_value());
  CHECK(store->read("r", {}).value().records.size() < 10);
}

TEST_CASE("a run that writes is kept short, and goes on from where it stood", "[compaction]") {
  const TempFolder folder;
  const auto inner = SqliteStore::open(folder.file("c.db")).value();
  const auto store =
      CompactingStore::around(inner, {.rule = {.max_checkpoints = 3}, .every = 100}).value();
  std::size_t most = 0;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            for (int i = attempt.state().value("page", 0); i < 2'000; ++i) {
                              attempt.update_state({{"page", i}});
                              if (i % 50 != 0) continue;
                              REQUIRE_OK(detail::own_checkpoint(attempt, "triage/test"));
                              most = std::max(most, inner->read("r", {}).value().records.size());
                              if (i == 1'000 && attempt.number() == 1) {
                                throw std::runtime_error("HTTP 503 Service Unavailable");
                              }
                            }
                            return 1;
                          },
                          FailurePolicy().otherwise(rollback()),
                          {.store = store, .write_mode = WriteMode::immediate}};
  const auto result = agent.run(1, {.run_id = "r"});
  REQUIRE_OK(result);
  CHECK(most < 600);
  CHECK(store->take_warning().empty());
  const auto stored = Journal::fold(inner->read("r", {}).value()).value();
  CHECK(stored.state().json() == Json{{"page", 1'999}});
  CHECK(stored.positions().size() < 20);
}

TEST_CASE("only a store that can compact is taken", "[compaction]") {
  CHECK(CompactingStore::around(nullptr).error().code == Errc::invalid_argument);
  CHECK(CompactingStore::around(MemoryStore::create(), {.every = 1}).error().code ==
        Errc::invalid_argument);
  const auto secrets = RedactingStore::around(MemoryStore::create(), common_secrets()).value();
  CHECK(CompactingStore::around(secrets).error().code == Errc::unsupported);
  CHECK(CompactingStore::around(MemoryStore::create()).has_value());
}

TEST_CASE("a run of several files becomes one, which people can read, and goes on in others",
          "[compaction][json_file]") {
  const TempFolder folder;
  const JsonFileOptions small{.segment_bytes = 4'096};
  const auto store = JsonFileStore::open(folder.file("files"), small).value();
  const auto file = [&](const std::string& name) { return folder.file("files/runs/" + name); };
  Recording run(store);
  for (int i = 0; i < 100; ++i) run.set("page", i);
  run.leave();
  auto lease = store->acquire("r");
  REQUIRE_OK(lease);
  const auto append = [&](Sequence from, Sequence to) {
    for (Sequence seq = from; seq <= to; ++seq) {
      const std::vector<Record> one{
          {seq, RecordKind::state_changed, now, std::make_shared<const Json>(Json{{"page", seq}})}};
      REQUIRE_OK(store->append(lease.value(), one, RunStatus::running));
    }
  };
  append(103, 200);
  REQUIRE(std::filesystem::exists(file("r~3.jsonl")));
  std::filesystem::copy(file("r~2.jsonl"), folder.file("old-2"));
  std::filesystem::copy(file("r~3.jsonl"), folder.file("old-3"));
  REQUIRE_OK(compact_held_run(*store, lease.value(), {.max_checkpoints = 1}));
  CHECK_FALSE(std::filesystem::exists(file("r~2.jsonl")));
  CHECK(store->latest("r").value().state.json() == Json{{"page", 200}});
  std::ifstream lines(file("r.jsonl"));
  for (std::string line; std::getline(lines, line);) CHECK(Json::parse(line).is_object());

  // The state after a kill before the other files were removed.
  std::filesystem::copy(folder.file("old-2"), file("r~2.jsonl"));
  std::filesystem::copy(folder.file("old-3"), file("r~3.jsonl"));
  const auto looked = JsonFileStore::open(folder.file("files"), {.read_only = true}).value();
  CHECK(looked->read("r", {}).value().records.size() < 10);
  CHECK(looked->run("r").value().last == 200);
  append(201, 300);
  CHECK(looked->run("r").value().last == 300);
  CHECK(std::filesystem::exists(file("r~2.jsonl")));  // One of its own again.
  const auto reading = looked->read("r", {}).value();
  CHECK(reading.damaged.empty());
  CHECK(missing_records(reading).empty());
  CHECK(looked->latest("r").value().state.json() == Json{{"page", 300}});
  CHECK(store->check().value().empty());
  REQUIRE_OK(store->release(lease.value()));
  REQUIRE_OK(store->erase("r"));
  CHECK(std::filesystem::is_empty(folder.file("files/runs")));
}
