// SPDX-License-Identifier: MIT
#pragma once
// The stores in files as the conformance kit is given them: how to open one in a folder, how to
// damage a record behind its back, and how to make it look newer.

#include "stores/store_kit.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace triage::test {

inline Result<void> edit_sqlite(const std::filesystem::path& folder, const std::string& sql) {
  SQLite::Database(folder / "store.db", SQLite::OPEN_READWRITE).exec(sql);
  return outcome::success();
}

inline StoreKit sqlite_kit(std::optional<Durability> durability = {}) {
  StoreKit kit{.options = {.name = "SQLite"}};
  kit.open = [durability](
                 const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
    auto store = SqliteStore::open((folder / "store.db").string(), {.durability = durability});
    if (!store) return store.error();
    return std::shared_ptr<CheckpointStore>(store.value());
  };
  kit.options.damage = [](const auto& folder, const RunId& run, Sequence seq) {
    return edit_sqlite(
        folder, "UPDATE records SET body = body || x'00' WHERE seq = " + std::to_string(seq) +
                    " AND run = (SELECT run FROM runs WHERE run_id = '" + run + "')");
  };
  kit.options.make_newer = [](const auto& folder) {
    return edit_sqlite(folder, "PRAGMA user_version = 99");
  };
  return kit;
}

// Flips one bit of the line that holds the record.
inline Result<void> flip_json_bit(const std::filesystem::path& folder, const RunId& run,
                                  Sequence seq) {
  const auto path = folder / "store" / "runs" / (run + ".jsonl");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t at = text.find("\"seq\":" + std::to_string(seq) + ",");
  const std::size_t body = at == text.npos ? at : text.find('{', at);
  if (body == text.npos) return Error{Errc::not_found, "no such record"};
  text[body + 2] = static_cast<char>(text[body + 2] ^ 1);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  return outcome::success();
}

inline StoreKit json_file_kit(const JsonFileOptions& options = {}) {
  StoreKit kit{.options = {.name = "JSON files", .damage = flip_json_bit}};
  kit.open =
      [options](const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
    auto store = JsonFileStore::open((folder / "store").string(), options);
    if (!store) return store.error();
    return std::shared_ptr<CheckpointStore>(store.value());
  };
  kit.options.make_newer = [](const std::filesystem::path& folder) -> Result<void> {
    std::ofstream(folder / "store" / "store.json", std::ios::binary | std::ios::trunc)
        << R"({"triage":"json_file","format":2})";
    return outcome::success();
  };
  return kit;
}

}  // namespace triage::test
