// SPDX-License-Identifier: MIT
// The stores of the library under the conformance kit.
#include "triage/testing/conformance.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <set>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

Result<std::shared_ptr<CheckpointStore>> open_sqlite(const std::filesystem::path& folder) {
  auto store = SqliteStore::open((folder / "store.db").string());
  if (!store) return store.error();
  return std::shared_ptr<CheckpointStore>(store.value());
}

Result<void> edit(const std::filesystem::path& folder, const std::string& sql) {
  SQLite::Database(folder / "store.db", SQLite::OPEN_READWRITE).exec(sql);
  return outcome::success();
}

Result<void> damage(const std::filesystem::path& folder, const RunId& run, Sequence seq) {
  return edit(folder, "UPDATE records SET body = body || x'00' WHERE seq = " + std::to_string(seq) +
                          " AND run = (SELECT run FROM runs WHERE run_id = '" + run + "')");
}

ConformanceOptions sqlite_options() {
  return {.name = "SQLite", .damage = damage, .make_newer = [](const auto& folder) {
            return edit(folder, "PRAGMA user_version = 99");
          }};
}

void expect_full(const ConformanceReport& report) {
  INFO(report.text());
  CHECK(report.level() == ConformanceLevel::full);
}

}  // namespace

TEST_CASE("the memory store does all that it claims", "[stores][conformance]") {
  expect_full(conformance(
      [](const auto&) -> Result<std::shared_ptr<CheckpointStore>> {
        return outcome::success(MemoryStore::create());
      },
      {.name = "memory"}));
}

TEST_CASE("the SQLite store does all that it claims", "[stores][conformance]") {
  const ConformanceReport report = conformance(open_sqlite, sqlite_options());
  expect_full(report);
  CHECK(report.count(ClauseOutcome::not_required) == 0);
}

TEST_CASE("the adapter over three functions does all that it claims", "[stores][conformance]") {
  expect_full(conformance(
      [](const std::filesystem::path&) -> Result<std::shared_ptr<CheckpointStore>> {
        return outcome::success(store_kinds().back().make(TempFolder()));
      },
      {.name = "simple", .erases = false, .keeps_every_record = false}));
}

TEST_CASE("every clause has a name of its own and a sentence", "[testing][conformance]") {
  const ConformanceReport report = conformance(
      [](const auto&) -> Result<std::shared_ptr<CheckpointStore>> {
        return Error{Errc::io, "no server"};
      },
      {.name = "unreachable"});
  std::set<std::string> names;
  for (const ClauseResult& clause : report.clauses) {
    CHECK(names.insert(clause.name).second);
    CHECK(clause.sentence.ends_with("."));
    CHECK(clause.outcome == ClauseOutcome::failed);
  }
  CHECK(names.size() >= 150);
  CHECK(report.level() == ConformanceLevel::none);
  CHECK(report.text().find("no server") != std::string::npos);
}

TEST_CASE("a report is one JSON object that says what was promised and seen",
          "[testing][conformance]") {
  const ConformanceReport report = conformance(open_sqlite, {.name = "part", .only = "key_space/"});
  const Json json = report.json();
  CHECK(json.at("store") == "part");
  CHECK(json.at("level") == "FULL");
  CHECK(json.at("clauses").size() == report.clauses.size());
  CHECK(json.at("passed") == report.count(ClauseOutcome::passed));
  CHECK(json.at("clauses")[0].at("group") == "key_space");
}
