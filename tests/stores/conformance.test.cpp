// SPDX-License-Identifier: MIT
// The library's stores under the conformance kit.
#include "triage/testing/conformance.hpp"

#include "stores/conforming.hpp"
#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
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

Result<std::shared_ptr<CheckpointStore>> open_json(const std::filesystem::path& folder) {
  auto store = JsonFileStore::open((folder / "store").string());
  if (!store) return store.error();
  return std::shared_ptr<CheckpointStore>(store.value());
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// Flips one bit of the line that holds the record.
Result<void> flip_bit(const std::filesystem::path& folder, const RunId& run, Sequence seq) {
  const auto path = folder / "store" / "runs" / (run + ".jsonl");
  std::string text = text_of(path);
  const std::size_t at = text.find("\"seq\":" + std::to_string(seq) + ",");
  const std::size_t body = at == text.npos ? at : text.find('{', at);
  if (body == text.npos) return Error{Errc::not_found, "no such record"};
  text[body + 2] = static_cast<char>(text[body + 2] ^ 1);
  write_text(path, text);
  return outcome::success();
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

TEST_CASE("the JSON-file store does all that it claims", "[stores][conformance]") {
  const ConformanceReport report = conformance(
      open_json, {.name = "JSON files", .damage = flip_bit, .make_newer = [](const auto& folder) {
                    write_text(folder / "store" / "store.json",
                               R"({"triage":"json_file","format":2})");
                    return Result<void>(outcome::success());
                  }});
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
