// SPDX-License-Identifier: MIT
// Imports that are cut off, and files that do not fit the store or themselves.
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "support/weighing_store.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/orphans.hpp"
#include "triage/stores/interchange.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/triage.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

const std::string_view signal_keys = detail::own_space(detail::OwnSpace::signals);
const std::string_view fork_keys = detail::own_space(detail::OwnSpace::forks);

using Payer = TriageAgent<std::function<Result<int>(const std::string&, Attempt&)>>;

// More records than one append of an import has, then two payments.
Payer payer(const std::shared_ptr<CheckpointStore>& store, int& paid) {
  return {[&paid](const std::string& task, Attempt& attempt) -> Result<int> {
            for (int i = 0; i < 520; ++i) attempt.record_step({.action = "look"});
            attempt.effect("pay:1", [&paid] { return ++paid; });
            attempt.effect("pay:2", [&paid] { return ++paid; });
            if (task == "wait") return attempt.fail({.text = "who knows"});
            return paid;
          },
          FailurePolicy().otherwise(suspend()),
          {.name = "payer", .store = store}};
}

std::string export_of(CheckpointStore& store, std::vector<RunId> runs = {}) {
  std::ostringstream out;
  REQUIRE_OK(export_runs(store, runs, out));
  return out.str();
}

Result<Interchanged> import_into(CheckpointStore& store, const std::string& file,
                                 bool leave_same = false) {
  std::istringstream in(file);
  return import_runs(store, in, {.leave_same = leave_same});
}

// With its last line as the changed lines before it demand.
std::string resealed(std::string file) {
  file.erase(file.rfind('\n', file.size() - 2) + 1);
  std::size_t runs = 0;
  std::size_t records = 0;
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    runs += line.find("\"started_ms\":") != line.npos ? 1U : 0U;
    records += line.find("\"seq\":") != line.npos ? 1U : 0U;
  }
  return file + "{\"runs\":" + std::to_string(runs) + ",\"records\":" + std::to_string(records) +
         ",\"crc32c\":" + std::to_string(detail::crc32c(file)) + "}\n";
}

// Dies after so many writes: from then on nothing of this process reaches the store.
class Dying final : public ForwardingStore {
 public:
  Dying(std::shared_ptr<CheckpointStore> inner, int writes)
      : ForwardingStore(std::move(inner)), left_(writes) {}

  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    if (is_dead()) return dead();
    return inner().start(run, records);
  }
  Result<Lease> acquire(const RunId& run) override {
    if (is_dead()) return dead();
    return inner().acquire(run);
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    if (is_dead()) return dead();
    return inner().append(lease, records, status);
  }
  Result<void> release(const Lease& lease) override {
    if (is_dead()) return dead();
    return inner().release(lease);
  }
  Result<void> erase(const RunId& run) override {
    if (is_dead()) return dead();
    return inner().erase(run);
  }
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    if (is_dead()) return dead();
    return inner().put_if(space, key, expected, bytes);
  }
  Result<void> erase_if(std::string_view space, std::string_view key,
                        std::uint64_t expected) override {
    if (is_dead()) return dead();
    return inner().erase_if(space, key, expected);
  }
  [[nodiscard]] bool has_died() const noexcept { return left_ < 0; }

 private:
  [[nodiscard]] bool is_dead() noexcept { return left_ < 0 || --left_ < 0; }
  [[nodiscard]] static Error dead() { return {Errc::io, "the process is dead"}; }

  int left_;
};

}  // namespace

TEST_CASE("an import that is killed anywhere leaves no run to go on with, and can be made again",
          "[stores][interchange][crash]") {
  const auto source = MemoryStore::create();
  int paid = 0;
  REQUIRE_OK(payer(source, paid).run("pay", {.run_id = "paid"}));
  CHECK_ERRC(Errc::suspended, payer(source, paid).run("wait", {.run_id = "waits"}));
  const std::string file = export_of(*source, {"paid", "waits"});
  const std::string kind = GENERATE("memory:", "sqlite:", "file:");
  bool died = true;
  int parts = 0;
  for (int writes = 0; died; ++writes) {
    INFO(kind << " after " << writes << " writes");
    REQUIRE(writes < 100);
    const TempFolder folder;
    const auto store = open_store(kind == "memory:" ? kind : kind + folder.file("s")).value();
    const auto dying = std::make_shared<Dying>(store, writes);
    const auto done = import_into(*dying, file);
    died = dying->has_died();
    REQUIRE(done.has_value() == !died);
    paid = 0;
    const Payer agent = payer(store, paid);
    const std::vector<RunInfo> left = store->runs({}).value();
    bool whole = left.size() == 2;
    for (const RunInfo& run : left) {
      if (run.status == source->run(run.id).value().status) continue;
      whole = false;
      ++parts;
      CHECK_ERRC(Errc::conflict, agent.resume_run(run.id, {.revive = true}));
      CHECK_ERRC(Errc::conflict, agent.run_or_resume(run.id, "pay"));
      CHECK_FALSE(agent.run("pay", {.run_id = run.id}));
      CHECK_FALSE(agent.fork(run.id + "@3", {.accept_changed = true}));
      std::ostringstream out;
      const RunId one[] = {run.id};
      CHECK_ERRC(Errc::conflict, export_runs(*store, one, out));
    }
    CHECK(claim_orphans(*store, "payer", 10).value().empty());
    CHECK(paid == 0);
    const auto again = import_into(*store, file);
    if (whole) {
      CHECK_ERRC(Errc::conflict, again);
    } else {
      REQUIRE_OK(again);
    }
    CHECK(export_of(*store, {"paid", "waits"}) == file);
    CHECK(store->runs({}).value().size() == 2);
    CHECK(agent.run_or_resume("paid", "pay").has_value());
    CHECK(paid == 0);
  }
  CHECK(parts > 10);
}

TEST_CASE("a mark that an import left says nothing about a later run of that name",
          "[stores][interchange]") {
  const auto source = MemoryStore::create();
  int paid = 0;
  REQUIRE_OK(payer(source, paid).run("pay", {.run_id = "r"}));
  const auto store = MemoryStore::create();
  // It dies between the mark and the run.
  CHECK_ERRC(Errc::io, import_into(*std::make_shared<Dying>(store, 1), export_of(*source)));
  REQUIRE(store->list(signal_keys, "r/").value().size() == 1);
  CHECK(store->runs({}).value().empty());
  const auto lease =
      store->start({.id = "r", .agent = "payer"},
                   std::vector<Record>{
                       {1, RecordKind::run_started, WallTime{},
                        std::make_shared<const Json>(Json{{"agent", "payer"}, {"task", "pay"}})}});
  REQUIRE_OK(lease);
  REQUIRE_OK(store->append(lease.value(), {}, RunStatus::poisoned));
  REQUIRE_OK(store->release(lease.value()));
  CHECK(payer(store, paid).resume_run("r", {.accept_changed = true, .revive = true}).has_value());
}

TEST_CASE("a branch keeps its label where another one is imported", "[stores][interchange]") {
  const auto make = [](const RunId& id) {
    const auto store = MemoryStore::create();
    REQUIRE_OK(store->start({.id = id, .agent = "a", .label = "best"}, {}));
    REQUIRE_OK(store->put_if(fork_keys, "a/best", 0, id));
    return store;
  };
  const auto target = make("one");
  const auto source = make("other");
  CHECK_ERRC(Errc::conflict, import_into(*target, export_of(*source)));
  CHECK(target->runs({}).value().size() == 1);
  CHECK(target->get(fork_keys, "a/best").value()->bytes == "one");
  // A label whose branch is gone is free.
  const auto left = MemoryStore::create();
  REQUIRE_OK(left->put_if(fork_keys, "a/best", 0, "gone"));
  REQUIRE_OK(import_into(*left, export_of(*source)));
  CHECK(left->get(fork_keys, "a/best").value()->bytes == "other");
}

TEST_CASE("a key of an export that is not the run's before it is refused",
          "[stores][interchange]") {
  const auto source = MemoryStore::create();
  REQUIRE_OK(source->start({.id = "r", .agent = "a", .label = "best"}, {}));
  REQUIRE_OK(source->put_if(signal_keys, "r/approved", 0, "yes"));
  const std::string file = export_of(*source);
  const auto with = [&](const std::string& space, const std::string& key,
                        const std::string& value) {
    std::string changed = file;
    const std::string line =
        "{\"key\":\"" + key + "\",\"space\":\"" + space + "\",\"value\":\"" + value + "\"}\n";
    changed.insert(changed.rfind('\n', changed.size() - 2) + 1, line);
    return resealed(changed);
  };
  for (const auto& [space, key, value] :
       std::vector<std::array<std::string, 3>>{{"signals", "other/approved", "yes"},
                                               {"signals", "r/", "a mark"},
                                               {"suspensions", "0123", "no ticket of its records"},
                                               {"forks", "a/best", "other"},
                                               {"forks", "b/best", "r"}}) {
    INFO(space << " " << key);
    const auto target = MemoryStore::create();
    CHECK_ERRC(Errc::corrupt, import_into(*target, with(space, key, value)));
    CHECK(target->runs({}).value().empty());
  }
  REQUIRE_OK(import_into(*MemoryStore::create(), with("forks", "a/best", "r")));
}

TEST_CASE("a run that is there gets the end and the keys that it lacks, or is another one",
          "[stores][interchange]") {
  const auto source = MemoryStore::create();
  int paid = 0;
  CHECK_ERRC(Errc::suspended, payer(source, paid).run("wait", {.run_id = "r"}));
  REQUIRE_OK(source->put_if(signal_keys, "r/approved", 0, "yes"));
  const std::string file = export_of(*source);
  const JournalReading reading = source->read("r", {}).value();
  const auto there = [&](RunInfo info) {
    const auto store = MemoryStore::create();
    const auto lease = store->start(info, reading.records);
    REQUIRE_OK(lease);
    REQUIRE_OK(store->release(lease.value()));
    return store;
  };
  RunInfo info = reading.info;
  info.status = RunStatus::running;  // As an import left it that was killed before its end.
  const auto store = there(info);
  CHECK_ERRC(Errc::conflict, import_into(*store, file));
  const auto done = import_into(*store, file, true);
  REQUIRE_OK(done);
  CHECK(done.value().left_out == 1);
  CHECK(export_of(*store) == file);
  // It keeps what it has: a signal that was answered otherwise.
  const auto before = store->get(signal_keys, "r/approved").value();
  REQUIRE_OK(store->put_if(signal_keys, "r/approved", before->version, "no"));
  REQUIRE_OK(import_into(*store, file, true));
  CHECK(store->get(signal_keys, "r/approved").value()->bytes == "no");
  info.status = RunStatus::cancelled;
  CHECK_ERRC(Errc::conflict, import_into(*there(info), file, true));
  info = reading.info;
  info.label = "another";
  CHECK_ERRC(Errc::conflict, import_into(*there(info), file, true));
}

TEST_CASE("an import appends few large records at a time", "[stores][interchange]") {
  const auto source = MemoryStore::create();
  std::vector<Record> records;
  for (Sequence seq = 1; seq <= 8; ++seq) {
    records.emplace_back(
        seq, RecordKind::state_changed, WallTime{},
        std::make_shared<const Json>(Json{{"page", std::string(std::size_t{5} << 20U, 'x')}}));
  }
  REQUIRE_OK(source->start({.id = "r"}, records));
  const auto target = std::make_shared<WeighingStore>(MemoryStore::create());
  REQUIRE_OK(import_into(*target, export_of(*source)));
  CHECK(target->most_at_once() < (std::size_t{22} << 20U));
  CHECK(target->read("r", {}).value().records.size() == 8);
}
