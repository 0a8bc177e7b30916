// SPDX-License-Identifier: MIT
// Runs from the SQLite file of triage-agent, the Python library, and back.
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/interchange_reference.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite_reference.hpp"
#include "triage/triage.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

constexpr const char* layout =
    "CREATE TABLE checkpoints (id TEXT PRIMARY KEY, timestamp REAL NOT NULL, state TEXT NOT NULL, "
    "trajectory TEXT NOT NULL, run_id TEXT)";

Json their_step(int index, const std::string& action, double time) {
  return {{"index", index},        {"action", action},          {"tool_called", nullptr},
          {"tool_input", nullptr}, {"tool_output", nullptr},    {"llm_output", nullptr},
          {"error", nullptr},      {"exception_type", nullptr}, {"timestamp", time},
          {"state_hash", nullptr}, {"metadata", Json::object()}};
}

// Two attempts of one run, and a checkpoint without a run, as left by that library on failure.
std::vector<ReferenceCheckpoint> their_checkpoints() {
  Json fetch = their_step(1, "fetch", 1795441523.3922141);
  fetch["error"] = "HTTP 503";
  fetch["exception_type"] = "ServerError";
  fetch["metadata"] = {{"http_status", 503}, {"note", "slow"}};
  const Json plan = their_step(0, "plan", 1795441523.3921902);
  const Json again = their_step(0, "plan", 1795441523.4223812);
  const std::string run = "aa37a93b-2260-4361-bea8-4caf4becee0c";
  return {{"c6a567a6", 1795441523.3922055, run, {{"page", 1}, {"list", {1, 2}}}, {plan}},
          {"abd74b11", 1795441523.3922246, run, {{"page", 11}}, {plan, fetch}},
          {"29c28e13", 1795441523.4224112, run, {{"page", 2}, {"list", {1, 2}}}, {again}},
          {"069aecb0", 1795441523.4224257, run, {{"page", 12}}, {again, fetch}},
          {"by hand", 1700000000.5, "", {{"x", 1}}, Json::array()}};
}

void make_their_file(const std::string& path, const std::vector<ReferenceCheckpoint>& all) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(layout);
  SQLite::Statement insert(database, "INSERT INTO checkpoints VALUES(?, ?, ?, ?, ?)");
  for (const ReferenceCheckpoint& one : all) {
    insert.reset();
    insert.clearBindings();
    insert.bind(1, one.id);
    insert.bind(2, one.timestamp);
    insert.bind(3, one.state.dump(1));  // Formatted differently from ours.
    insert.bind(4, one.trajectory.dump());
    if (!one.run.empty()) insert.bind(5, one.run);
    insert.exec();
  }
}

std::vector<ReferenceCheckpoint> checkpoints_in(const std::string& path) {
  const auto store = open_reference(path, false);
  REQUIRE_OK(store);
  std::vector<ReferenceCheckpoint> all;
  REQUIRE_OK(store.value()->visit([&](Result<ReferenceCheckpoint> one) -> Result<void> {
    if (!one) return one.error();
    all.push_back(std::move(one).value());
    return outcome::success();
  }));
  return all;
}

Result<Interchanged> import_file(CheckpointStore& store, const std::string& path,
                                 const ReferenceImportOptions& options = {}) {
  const auto from = open_reference(path, false);
  REQUIRE_OK(from);
  return import_reference(store, *from.value(), options);
}

Result<Interchanged> export_file(CheckpointStore& store, const std::string& path,
                                 const ReferenceExportOptions& options = {},
                                 std::vector<RunId> runs = {}) {
  const auto to = open_reference(path, true);
  REQUIRE_OK(to);
  return export_reference(store, runs, *to.value(), options);
}

constexpr const char* their_run = "aa37a93b-2260-4361-bea8-4caf4becee0c";

}  // namespace

TEST_CASE("checkpoints of triage-agent are positions of runs here", "[stores][reference]") {
  const TempFolder folder;
  make_their_file(folder.file("theirs.db"), their_checkpoints());
  const auto store = MemoryStore::create();
  const auto done = import_file(*store, folder.file("theirs.db"));
  REQUIRE_OK(done);
  REQUIRE(done.value().runs.size() == 2);
  CHECK(done.value().runs[0].starts_with("triage-agent-"));  // Of the checkpoint without a run.
  CHECK(done.value().runs[1] == their_run);
  const auto checkpoints = store->checkpoints(their_run).value();
  REQUIRE(checkpoints.size() == 4);
  CHECK(checkpoints[1].label == "triage-agent/abd74b11");
  CHECK(checkpoints[1].attempt == 1);
  CHECK(checkpoints[2].attempt == 2);
  const Checkpoint failed = store->load(checkpoints[1].id).value();
  CHECK(failed.state.json() == Json{{"page", 11}});  // That library replaces whole states.
  REQUIRE(failed.trajectory.size() == 2);
  CHECK(failed.trajectory[1].error == "HTTP 503");
  CHECK(failed.trajectory[1].http_status == 503);
  CHECK(failed.trajectory[1].exception_type == "ServerError");
  CHECK(failed.trajectory[1].metadata["note"] == "slow");
  CHECK(store->load(checkpoints[2].id).value().trajectory.size() == 1);
  CHECK(store->latest(their_run).value().state.json() == Json{{"page", 12}});
  CHECK(store->run(their_run).value().status == RunStatus::cancelled);
}

TEST_CASE("what came from triage-agent goes back to it unchanged", "[stores][reference]") {
  const TempFolder folder;
  make_their_file(folder.file("theirs.db"), their_checkpoints());
  const auto store = MemoryStore::create();
  REQUIRE_OK(import_file(*store, folder.file("theirs.db")));
  REQUIRE_OK(export_file(*store, folder.file("back.db")));
  const auto before = checkpoints_in(folder.file("theirs.db"));
  const auto after = checkpoints_in(folder.file("back.db"));
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    INFO(before[i].id);
    CHECK(after[i].id == before[i].id);
    CHECK(after[i].timestamp == before[i].timestamp);
    CHECK(after[i].run == before[i].run);
    CHECK(after[i].state == before[i].state);
    CHECK(after[i].trajectory == before[i].trajectory);
  }
  // Also into the original file, where all of them exist already.
  REQUIRE_OK(export_file(*store, folder.file("theirs.db")));
  CHECK(checkpoints_in(folder.file("theirs.db")).size() == before.size());
  const auto again = import_file(*store, folder.file("back.db"), {.leave_same = true});
  REQUIRE_OK(again);
  CHECK(again.value().left_out == 2);
}

TEST_CASE("an imported run can be resumed with its task, and branched from without",
          "[stores][reference]") {
  const TempFolder folder;
  make_their_file(folder.file("theirs.db"), their_checkpoints());
  const auto store = MemoryStore::create();
  const TriageAgent agent{[](const std::string& task, Attempt& attempt) -> Result<std::string> {
                            return task + " from page " + attempt.state().json()["page"].dump() +
                                   " after " + std::to_string(attempt.trajectory().size());
                          },
                          FailurePolicy().otherwise(escalate()),
                          {.name = "crawler", .store = store}};
  SECTION("resumed") {
    REQUIRE_OK(
        import_file(*store, folder.file("theirs.db"), {.agent = "crawler", .task = Json("crawl")}));
    const auto result = agent.resume_run(their_run, {.accept_changed = true});
    REQUIRE_OK(result);
    CHECK(result.value() == "crawl from page 12 after 2");
  }
  SECTION("resumed from one of its checkpoints") {
    REQUIRE_OK(import_file(*store, folder.file("theirs.db"), {.task = Json("crawl")}));
    const auto result =
        agent.resume_run(their_run, {.from = "triage-agent/c6a567a6", .accept_changed = true});
    REQUIRE_OK(result);
    CHECK(result.value() == "crawl from page 1 after 1");
  }
  SECTION("branched from") {
    REQUIRE_OK(import_file(*store, folder.file("theirs.db")));
    CHECK_ERRC(Errc::unsupported, agent.resume_run(their_run, {.accept_changed = true}));
    const CheckpointId at = store->checkpoints(their_run).value()[1].id;
    const auto result = agent.fork(to_string(at), {.accept_changed = true, .task = Json("branch")});
    REQUIRE_OK(result);
  }
}

TEST_CASE("our runs become checkpoints of triage-agent, the newest position last",
          "[stores][reference]") {
  const TempFolder folder;
  const auto store = MemoryStore::create();
  const TriageAgent agent{
      [](const std::string& task, Attempt& attempt) -> Result<std::string> {
        attempt.record_step({.action = "plan \xFF", .agent_id = "planner", .idempotent = true});
        attempt.update_state({{"page", attempt.number()}});
        attempt.record_step({.action = "fetch", .error = "HTTP 503", .http_status = 503});
        if (attempt.number() == 1) return attempt.fail({.text = "HTTP 503", .http_status = 503});
        return task;
      },
      FailurePolicy().otherwise(rollback()),
      {.name = "crawler", .store = store}};
  REQUIRE_OK(agent.run("x", {.run_id = "mine"}));
  const auto done = export_file(*store, folder.file("theirs.db"));
  REQUIRE_OK(done);
  const auto all = checkpoints_in(folder.file("theirs.db"));
  CHECK(done.value().records == all.size());
  const Checkpoint latest = store->latest("mine").value();
  REQUIRE(all.size() == store->checkpoints("mine").value().size());
  CHECK(all.back().id == to_string(latest.info.id));
  CHECK(all.back().state == latest.state.json());
  CHECK(all.back().trajectory.size() == latest.trajectory.size());
  CHECK(all.back().trajectory.back()["metadata"]["http_status"] == 503);
  CHECK(all.back().trajectory[0]["metadata"]["triage"]["agent_id"] == "planner");
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].timestamp < all[i].timestamp);

  SECTION("as few of them as one likes") {
    REQUIRE_OK(export_file(*store, folder.file("few.db"), {.newest = 1}));
    const auto few = checkpoints_in(folder.file("few.db"));
    REQUIRE(few.size() == 1);
    CHECK(few[0].id == all.back().id);
  }
  SECTION("and come back with what that library has no place for in a step") {
    const auto other = MemoryStore::create();
    REQUIRE_OK(import_file(*other, folder.file("theirs.db")));
    const Step step = other->latest("mine").value().trajectory[0];
    CHECK(step.agent_id == "planner");
    CHECK(step.idempotent);
  }
}

TEST_CASE("a checkpoint of triage-agent that cannot be read is named, or left out on request",
          "[stores][reference]") {
  const TempFolder folder;
  const std::string path = folder.file("theirs.db");
  make_their_file(path, their_checkpoints());
  const std::string bad =
      GENERATE("{\"page\": NaN}", "{\"page\": 1", "[1]", "{\"half\": \"\\ud83d\"}");
  INFO(bad);
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    SQLite::Statement change(database, "UPDATE checkpoints SET state = ? WHERE id = 'abd74b11'");
    change.bind(1, bad);
    change.exec();
  }
  const auto store = MemoryStore::create();
  const auto refused = import_file(*store, path);
  CHECK_ERRC(Errc::corrupt, refused);
  CHECK_THAT(refused.error().detail, Catch::Matchers::ContainsSubstring("abd74b11"));
  CHECK(store->runs({}).value().empty());
  const auto done = import_file(*store, path, {.leave_out_damaged = true});
  REQUIRE_OK(done);
  CHECK(done.value().left_out == 1);
  CHECK(store->checkpoints(their_run).value().size() == 3);
}

TEST_CASE("files that are not triage-agent's are left as they are", "[stores][reference]") {
  const TempFolder folder;
  const std::string path = folder.file("other.db");
  const auto tables = [&] {
    SQLite::Database database(path);
    return database.execAndGet("SELECT group_concat(sql) FROM sqlite_master").getString();
  };
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(GENERATE("CREATE TABLE invoices(id INTEGER)", "CREATE TABLE checkpoints(x)"));
  }
  const std::string before = tables();
  CHECK_ERRC(Errc::corrupt, open_reference(path, false));
  CHECK_ERRC(Errc::corrupt, open_reference(path, true));
  CHECK(tables() == before);
  CHECK_ERRC(Errc::not_found, open_reference(folder.file("nothing.db"), false));
  // A failed export leaves no file behind.
  const auto store = MemoryStore::create();
  CHECK_ERRC(Errc::not_found, export_file(*store, folder.file("new.db"), {}, {"nobody"}));
  CHECK_FALSE(std::filesystem::exists(folder.file("new.db")));
}

TEST_CASE("an export does not write over another checkpoint of the same id",
          "[stores][reference]") {
  const TempFolder folder;
  auto theirs = their_checkpoints();
  make_their_file(folder.file("theirs.db"), theirs);
  const auto store = MemoryStore::create();
  REQUIRE_OK(import_file(*store, folder.file("theirs.db")));
  theirs[3].state = {{"page", 99}};
  theirs.erase(theirs.begin());
  make_their_file(folder.file("changed.db"), theirs);
  CHECK_ERRC(Errc::conflict, export_file(*store, folder.file("changed.db")));
  CHECK(checkpoints_in(folder.file("changed.db")).size() == 4);  // Nothing was added.
}

TEST_CASE("files of versions before runs had ids are read, each checkpoint for itself",
          "[stores][reference]") {
  const TempFolder folder;
  const std::string path = folder.file("old.db");
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(
        "CREATE TABLE checkpoints(id TEXT PRIMARY KEY, timestamp REAL NOT NULL, state TEXT NOT "
        "NULL, trajectory TEXT NOT NULL);"
        "INSERT INTO checkpoints VALUES('one', 1.5, '{}', '[]'), ('two', 2.5, '{\"a\": 1}', '[]')");
  }
  const auto store = MemoryStore::create();
  const auto done = import_file(*store, path);
  REQUIRE_OK(done);
  CHECK(done.value().runs == std::vector<RunId>{"triage-agent-one", "triage-agent-two"});
  CHECK(store->latest("triage-agent-two").value().state.json() == Json{{"a", 1}});
  REQUIRE_OK(export_file(*store, path));  // Adds the column, like that library itself.
  CHECK(checkpoints_in(path).size() == 2);
}

TEST_CASE("the package triage-agent and this library read what the other has written",
          "[stores][reference]") {
  const char* const named = std::getenv("TRIAGE_REFERENCE_PYTHON");
  const std::string python = named == nullptr ? "/usr/bin/python3" : named;
  const std::string script = TRIAGE_SOURCE_DIR "/tests/stores/reference_package.py";
  const TempFolder folder;
  const std::string path = folder.file("theirs.db");
  const Printed written = run_program({python, script, "write", path});
  if (written.status == 77) {
    WARN(
        "the Python package triage-agent[sqlite] is not installed (TRIAGE_REFERENCE_PYTHON names "
        "an interpreter that has it): nothing is tested");
    return;
  }
  INFO(written.error);
  REQUIRE(written.status == 0);
  const Json theirs = Json::parse(written.out);
  REQUIRE(theirs.size() == 4);
  const auto store = MemoryStore::create();
  REQUIRE_OK(import_file(*store, path));
  const std::string run = theirs[0]["run"];
  const auto checkpoints = store->checkpoints(run).value();
  REQUIRE(checkpoints.size() == theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Checkpoint ours = store->load(checkpoints[i].id).value();
    CHECK(ours.state.json() == theirs[i]["state"]);
    CHECK(ours.trajectory.size() == theirs[i]["steps"].size());
    CHECK(Json(ours.trajectory.back().action) == theirs[i]["steps"].back()["action"]);
  }
  REQUIRE_OK(export_file(*store, folder.file("back.db")));
  const Printed read = run_program({python, script, "read", folder.file("back.db"), run});
  INFO(read.error);
  REQUIRE(read.status == 0);
  CHECK(Json::parse(read.out) == theirs.back());
}

TEST_CASE("exports into one new file at once all stay", "[reference]") {
  const TempFolder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder.file("out" + std::to_string(round) + ".db");
    constexpr int exports = 4;
    std::atomic<int> ready{0};
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < exports; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < exports) std::this_thread::yield();
        auto store = open_sqlite_reference(path, true);
        if (!store) return;
        const bool added = store.value()
                               ->add({std::to_string(i), 1.0, "", Json::object(), Json::array()})
                               .has_value();
        if (added && store.value()->finish()) ++done;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(done == exports);
    CHECK(SQLite::Database(path).execAndGet("SELECT count(*) FROM checkpoints").getInt() ==
          exports);
  }
}
