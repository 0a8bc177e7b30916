// SPDX-License-Identifier: MIT
// The library's stores under the conformance kit.
#include "triage/testing/conformance.hpp"

#include "stores/conforming.hpp"
#include "stores/contract.hpp"
#include "stores/file_kits.hpp"
#include "support/catch.hpp"
#include "triage/stores/memory.hpp"

#include <set>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

TEST_CASE("the memory store does all that it claims", "[stores][conformance]") {
  expect_full(conformance(
      [](const auto&) -> Result<std::shared_ptr<CheckpointStore>> {
        return outcome::success(MemoryStore::create());
      },
      {.name = "memory"}));
}

TEST_CASE("the SQLite store does all that it claims", "[stores][conformance]") {
  const StoreKit kit = sqlite_kit();
  const ConformanceReport report = conformance(kit.open, kit.options);
  expect_full(report);
  CHECK(report.count(ClauseOutcome::not_required) == 0);
}

TEST_CASE("the JSON-file store does all that it claims", "[stores][conformance]") {
  const StoreKit kit = json_file_kit();
  const ConformanceReport report = conformance(kit.open, kit.options);
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
  const ConformanceReport report =
      conformance(sqlite_kit().open, {.name = "part", .only = "key_space/"});
  const Json json = report.json();
  CHECK(json.at("store") == "part");
  CHECK(json.at("level") == "FULL");
  CHECK(json.at("clauses").size() == report.clauses.size());
  CHECK(json.at("passed") == report.count(ClauseOutcome::passed));
  CHECK(json.at("clauses")[0].at("group") == "key_space");
}
