// SPDX-License-Identifier: MIT
// One rule for depth and size: what is accepted can be read back, everything else is refused.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/sqlite.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// `levels` nested objects and arrays around a number.
Json deep(int levels) {
  Json value = 7;
  for (int i = 0; i < levels; ++i) {
    if (i % 2 == 0) {
      value = Json{{"k", std::move(value)}};
    } else {
      Json outer = Json::array();
      outer.push_back(std::move(value));
      value = std::move(outer);
    }
  }
  return value;
}

void check_intact(CheckpointStore& store, const RunId& run) {
  const JournalReading reading = store.read(run, {}).value();
  CHECK(reading.damaged.empty());
  const auto journal = Journal::fold(reading);
  REQUIRE_OK(journal);
  CHECK_FALSE(journal.value().broken_at().has_value());
  CHECK(journal.value().lost_intent() == 0);
}

}  // namespace

TEST_CASE("state, steps, effects, tasks and results as deep as allowed survive store and resume",
          "[bounds][depth]") {
  const Json deepest = deep(max_json_depth);
  const Json patch = Json{{"state", deep(max_json_depth - 1)}};
  const TempFolder folder;
  AgentOptions options;
  options.store = SqliteStore::open(folder.file("a.db")).value();
  options.write_mode = WriteMode::immediate;
  int charged = 0;
  bool finishes = false;
  const TriageAgent agent{
      [&](const Json& task, Attempt& attempt) {
        CHECK(task == deepest);
        const auto receipt = attempt.effect("charge", [&] {
          ++charged;
          return deepest;
        });
        CHECK(receipt == deepest);
        if (finishes) {
          CHECK(attempt.state().json() == patch);
          REQUIRE(attempt.trajectory().size() == 1);
          CHECK(attempt.trajectory()[0].tool_input == deepest);
          CHECK(attempt.trajectory()[0].metadata == deepest);
          return deepest;
        }
        attempt.record_step({.action = "look", .tool_input = deepest, .metadata = deepest});
        attempt.update_state(patch);
        throw std::runtime_error("stop here");
      },
      answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run(deepest, {.run_id = "r"}));
  check_intact(*options.store, "r");
  CHECK(options.store->latest("r").value().state.json() == patch);
  finishes = true;
  const auto result = agent.resume_run("r");
  REQUIRE_OK(result);
  CHECK(result.value() == deepest);
  CHECK(charged == 1);
  check_intact(*options.store, "r");
  const auto recorded = agent.run(deepest, {.run_id = "r"});
  REQUIRE_OK(recorded);
  CHECK(recorded.value() == deepest);
}

TEST_CASE("a branch whose edits and inherited steps are as deep as allowed can be read back",
          "[bounds][depth]") {
  const Json deepest = deep(max_json_depth);
  const Json edits = Json{{"edited", deep(max_json_depth - 1)}};
  const TempFolder folder;
  AgentOptions options;
  options.store = SqliteStore::open(folder.file("a.db")).value();
  const TriageAgent agent{[&](const Json&, Attempt& attempt) -> Json {
                            attempt.record_step({.action = "look", .tool_output = deepest});
                            throw std::runtime_error("stop here");
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run(deepest, {.run_id = "r"}));
  const std::string from = to_string(options.store->latest("r").value().info.id);
  CHECK_ERRC(Errc::escalated, agent.fork(from, {.state = edits, .run = {.run_id = "branch"}}));
  check_intact(*options.store, "branch");
  const Checkpoint latest = options.store->latest("branch").value();
  CHECK(latest.state.json() == edits);
  REQUIRE(latest.trajectory.size() == 2);
  CHECK(latest.trajectory[0].tool_output == deepest);
}

TEST_CASE("a signal and a decision with a value as deep as allowed arrive", "[bounds][depth]") {
  const Json deepest = deep(max_json_depth);
  const TempFolder folder;
  AgentOptions options;
  options.store = SqliteStore::open(folder.file("a.db")).value();
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Json {
                            return attempt.wait("go", WallTime::max()).value_or(Json());
                          },
                          answers({RecoveryAction::escalate()}), options};
  REQUIRE_OK(agent.signal("r", "go", deepest));
  const auto result = agent.run("x", {.run_id = "r"});
  REQUIRE_OK(result);
  CHECK(result.value() == deepest);
  check_intact(*options.store, "r");
}

TEST_CASE("a body with more values than memory should hold is refused before it is stored",
          "[bounds][depth]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("a.db")).value();
  Journal journal("r");
  const Record first = journal.add(RecordKind::run_started, {}, Json{{"task", "t"}});
  const Lease lease = store->start({.id = "r"}, {&first, 1}).value();
  // An array of empty maps: one byte each, but nearly a hundred in memory.
  constexpr std::size_t maps = 12'000'000;
  std::string body = "\xa1\x61k\x9a";
  for (const int shift : {24, 16, 8, 0}) body += static_cast<char>(maps >> shift);
  body.append(maps, '\xa0');
  const auto bytes = std::make_shared<const std::string>(std::move(body));
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor(*bytes));
  const Record large(2, RecordKind::state_changed, {}, Record::Bytes(bytes));
  CHECK_ERRC(Errc::invalid_argument, store->append(lease, {&large, 1}, RunStatus::running));
}

TEST_CASE("a length that a damaged body only claims is not allocated", "[bounds][depth]") {
  // Each array claims as many elements as there are bytes: 16 bytes each, at every level.
  std::string body(100'000, '\0');
  std::string heads;
  for (int i = 0; i < max_json_depth; ++i) heads += std::string("\x9a\x00\x01\x80\x00", 5);
  body.replace(0, heads.size(), heads);
  CHECK_ERRC(Errc::corrupt, detail::decode_cbor(body));
}
