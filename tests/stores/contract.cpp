// SPDX-License-Identifier: MIT
#include "stores/contract.hpp"

#include "triage/stores/memory.hpp"
#include "triage/stores/simple.hpp"
#include "triage/stores/sqlite.hpp"

#include <map>

namespace triage::test {
namespace {

class MapStore final : public SimpleStore {
 public:
  Result<void> save(const SavedCheckpoint& checkpoint) override {
    saved_[checkpoint.id] = checkpoint;
    newest_[checkpoint.run] = checkpoint.id;
    return outcome::success();
  }
  Result<SavedCheckpoint> load(const std::string& id) override {
    const auto found = saved_.find(id);
    if (found == saved_.end()) return Error{Errc::not_found, "no checkpoint " + id};
    return outcome::success(found->second);
  }
  Result<std::optional<SavedCheckpoint>> latest(const RunId& run) override {
    const auto found = newest_.find(run);
    if (found == newest_.end()) return outcome::success(std::optional<SavedCheckpoint>());
    return outcome::success(std::optional<SavedCheckpoint>(saved_[found->second]));
  }

 private:
  std::map<std::string, SavedCheckpoint> saved_;
  std::map<RunId, std::string> newest_;
};

}  // namespace

std::vector<StoreKind> store_kinds() {
  return {{.name = "memory", .make = [](const TempFolder&) { return MemoryStore::create(); }},
          {.name = "SQLite file",
           .make = [](const TempFolder& folder) -> std::shared_ptr<CheckpointStore> {
             return SqliteStore::open(folder.file("store.db")).value();
           }},
          {.name = "SQLite in memory",
           .make = [](const TempFolder&) -> std::shared_ptr<CheckpointStore> {
             return SqliteStore::open(":memory:").value();
           }},
          {.name = "simple",
           .make = [](const TempFolder&) { return make_store(std::make_shared<MapStore>()); },
           .erases = false}};
}

RunInfo run_info(const RunId& id, std::int64_t started_ms) {
  return {.id = id,
          .agent = "crawler",
          .label = "nightly",
          .parent = "parent-1",
          .started = at_ms(started_ms),
          .updated = at_ms(started_ms)};
}

Record started(Journal& journal, std::int64_t time_ms) {
  return journal.add(RecordKind::run_started, at_ms(time_ms),
                     Json{{"task", "fetch"}, {"agent", "crawler"}, {"auto_checkpoint", true}});
}

Record step(Journal& journal, const std::string& action, std::int64_t time_ms) {
  return journal.add_step(Step{.action = action, .tool_called = "http_get"}, at_ms(time_ms));
}

bool same(const Record& a, const Record& b) {
  std::string left;
  std::string right;
  a.encode_body(left);
  b.encode_body(right);
  return a.seq() == b.seq() && a.kind() == b.kind() && a.time() == b.time() && left == right;
}

std::vector<Record> random_run(Journal& journal, std::uint64_t seed, std::size_t operations) {
  const auto random = seeded_random(seed);
  const auto below = [&](std::uint64_t bound) { return random->next() % bound; };
  std::vector<Record> records;
  std::int64_t time = 1'000;
  const auto add = [&](RecordKind kind, Json body) {
    records.push_back(journal.add(kind, at_ms(++time), std::move(body)));
  };
  const auto new_attempt = [&] {
    add(RecordKind::attempt_started, Json{{"number", journal.attempts() + 1}});
  };
  const auto fail = [&](const char* action) {
    add(RecordKind::failure_classified, Json{{"type", "timeout"}, {"reason", "slow"}});
    add(RecordKind::action_taken,
        Json{{"action", action}, {"type", "timeout"}, {"reason", "slow"}});
  };
  records.push_back(started(journal));
  new_attempt();
  for (std::size_t i = 0; i < operations; ++i) {
    const std::string key = "key" + std::to_string(below(6));
    switch (below(16)) {
      case 0: records.push_back(journal.remove_state(key, at_ms(++time))); break;
      case 1: records.push_back(journal.label_checkpoint("label " + key, at_ms(++time))); break;
      case 2: records.push_back(journal.snapshot_state(Json{{key, i}}, true, at_ms(++time))); break;
      case 3: add(RecordKind::usage, Json{{"input_tokens", 5}, {"calls", 1}}); break;
      case 4:
        add(RecordKind::effect_intended, Json{{"key", key}, {"generation", i}});
        add(RecordKind::effect_completed, Json{{"key", key}, {"generation", i}, {"result", i}});
        break;
      case 5:
        if (below(3) == 0) {
          fail("retry");
          new_attempt();
        }
        break;
      case 6:
        if (!journal.branch().empty()) {
          fail("rollback");
          const auto target = journal.branch()[below(journal.branch().size())];
          add(RecordKind::rolled_back,
              Json{{"to", journal.positions()[target].seq}, {"default", false}});
          records.push_back(journal.snapshot_state(journal.state().json(), false, at_ms(++time)));
          new_attempt();
        }
        break;
      case 7:
      case 8:
      case 9:
      case 10:
        records.push_back(journal.change_state(
            Json{{key, Json{{"i", i}, {"text", std::string(below(40), 'x')}}}}, at_ms(++time)));
        break;
      default: records.push_back(step(journal, "step " + std::to_string(i), ++time)); break;
    }
    if (journal.wants_snapshot()) {
      records.push_back(journal.snapshot_state(journal.state().json(), false, at_ms(++time)));
    }
  }
  return records;
}

}  // namespace triage::test
