// SPDX-License-Identifier: MIT
// Runs the conformance kit over the stores with each of their settings, and prints what its reports
// say as the table of docs/stores.md. Usage: store_guarantees [--write FILE | --check FILE]
// --check: fails if the table in FILE differs. Needs the servers of `scripts/setup --test`.
#include "stores/contract.hpp"
#include "stores/file_kits.hpp"
#include "stores/postgres_kit.hpp"
#include "stores/redis_kit.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {
namespace {

using testing::ClauseGroup;
using testing::ClauseOutcome;
using testing::ConformanceOptions;
using testing::ConformanceReport;

constexpr const char* begin_mark = "<!-- guarantees: begin -->\n";
constexpr const char* end_mark = "<!-- guarantees: end -->";

// What a group of clauses says: all of them hold; none is required; or how many hold.
std::string said(const ConformanceReport& report, std::initializer_list<ClauseGroup> groups) {
  std::size_t all = 0;
  std::size_t held = 0;
  std::size_t required = 0;
  for (const testing::ClauseResult& clause : report.clauses) {
    if (std::find(groups.begin(), groups.end(), clause.group) == groups.end()) continue;
    ++all;
    if (clause.outcome != ClauseOutcome::not_required) ++required;
    if (clause.outcome == ClauseOutcome::passed) ++held;
  }
  if (required == 0) return "–";
  if (held == all) return "yes";
  return std::to_string(held) + " of " + std::to_string(all);
}

std::string row(const std::string& store, const std::string& setting,
                const ConformanceReport& report) {
  std::fprintf(stderr, "%s, %s\n%s", store.c_str(), setting.c_str(), report.text().c_str());
  const std::size_t passed = report.count(ClauseOutcome::passed);
  const std::size_t failed = report.count(ClauseOutcome::failed);
  return "| " + store + " | " + setting + " | " +
         std::string(to_string(report.capabilities.durability)) + " | " +
         (report.capabilities.shared_by_processes ? "yes" : "–") + " | " +
         said(report, {ClauseGroup::crash}) + " | " + said(report, {ClauseGroup::ownership}) +
         " | " + said(report, {ClauseGroup::corruption}) + " | " +
         said(report, {ClauseGroup::retention}) + " | " + said(report, {ClauseGroup::key_space}) +
         " | " + std::string(to_string(report.level())) + ": " + std::to_string(passed) + " of " +
         std::to_string(passed + failed) + " |\n";
}

template <class AnyKit>
std::string row_of(const std::string& store, const std::string& setting, const AnyKit& kit) {
  return row(store, setting, conformance(kit.open, kit.options));
}

std::string table() {
  std::string text =
      "| store | setting | durability | several processes | after kill -9 | one owner | damage is "
      "found | removing | keys | clauses that hold |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  const StoreKit memory{.open = [](const auto&) -> Result<std::shared_ptr<CheckpointStore>> {
    return outcome::success(MemoryStore::create());
  }};
  text += row_of("memory", "", memory);
  text += row_of("SQLite", "`Durability::process` (default)", sqlite_kit(Durability::process));
  text += row_of("SQLite", "`Durability::power`", sqlite_kit(Durability::power));
  text += row_of("JSON files", "`Durability::process` (default)",
                 json_file_kit({.durability = Durability::process}));
  text +=
      row_of("JSON files", "`Durability::power`", json_file_kit({.durability = Durability::power}));
  const std::vector<std::pair<std::string, std::vector<std::string>>> redis{
      {"`appendonly no`", {"--appendonly", "no"}},
      {"`appendonly yes`, `appendfsync no`", {"--appendonly", "yes", "--appendfsync", "no"}},
      {"… `appendfsync everysec`", {"--appendonly", "yes", "--appendfsync", "everysec"}},
      {"… `appendfsync always`", {"--appendonly", "yes", "--appendfsync", "always"}}};
  for (const auto& [setting, words] : redis) {
    const RedisServer server(words);
    if (server.ready()) text += row_of("Redis", setting, redis_kit(server));
  }
  const std::vector<std::pair<std::string, std::vector<std::string>>> postgres{
      {"`fsync` off", {"fsync=off"}},
      {"`synchronous_commit` off", {"synchronous_commit=off"}},
      {"both on (default)", {}}};
  for (const auto& [setting, words] : postgres) {
    const PostgresServer server(words);
    if (server.ready()) text += row_of("PostgreSQL", setting, postgres_kit(server));
  }
  const StoreKit simple{
      .open = [](const auto&) -> Result<std::shared_ptr<CheckpointStore>> {
        return outcome::success(store_kinds().back().make(TempFolder()));
      },
      .options = {.name = "simple", .erases = false, .keeps_every_record = false}};
  text += row_of("three functions", "a map in memory", simple);
  return text;
}

int main_of(const std::vector<std::string>& words) {
  const std::string now = table();
  if (words.size() < 2) {
    std::printf("%s", now.c_str());
    return 0;
  }
  std::ifstream in(words[1]);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find(begin_mark);
  const std::size_t end = text.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos) return 2;
  const std::size_t from = begin + std::string(begin_mark).size();
  if (words[0] == "--check") {
    if (text.substr(from, end - from) == now) return 0;
    std::fprintf(stderr, "%s has another table; `store_guarantees --write` makes it anew:\n%s",
                 words[1].c_str(), now.c_str());
    return 1;
  }
  text.replace(from, end - from, now);
  std::ofstream(words[1]) << text;
  return 0;
}

}  // namespace
}  // namespace triage::test

int main(int count, char** arguments) {
  return triage::test::main_of({arguments + 1, arguments + count});
}
