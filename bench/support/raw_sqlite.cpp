// SPDX-License-Identifier: MIT
#include "support/raw_sqlite.hpp"

#include "support/turns.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <stdexcept>

namespace triage::bench {

void RawSqlite::Close::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
void RawSqlite::Close::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

RawSqlite::RawSqlite(const std::string& path, bool power) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(raw);
  if (code != SQLITE_OK) throw std::runtime_error("opening " + path);
  // Pages and log size as in the store: 2,048 pages are SqliteOptions::wal_checkpoint_bytes.
  sqlite3_exec(
      raw, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 2048",
      nullptr, nullptr, nullptr);
  sqlite3_exec(raw, power ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", nullptr,
               nullptr, nullptr);
  sqlite3_exec(raw, "CREATE TABLE rows(id INTEGER PRIMARY KEY, b BLOB)", nullptr, nullptr, nullptr);
  begin_ = prepare("BEGIN IMMEDIATE");
  insert_ = prepare("INSERT INTO rows(id, b) VALUES(?1, ?2)");
  commit_ = prepare("COMMIT");
}

RawSqlite::Statement RawSqlite::prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(database_.get()));
  }
  return Statement(raw);
}

void RawSqlite::step(const Statement& statement) {
  const int code = sqlite3_step(statement.get());
  sqlite3_reset(statement.get());
  if (code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database_.get()));
}

void RawSqlite::insert(std::span<const std::string> blobs) {
  step(begin_);
  for (const std::string& blob : blobs) {
    sqlite3_bind_int64(insert_.get(), 1, next_id_++);
    sqlite3_bind_blob(insert_.get(), 2, blob.data(), static_cast<int>(blob.size()), SQLITE_STATIC);
    step(insert_);
  }
  step(commit_);
}

void RawSqlite::fold() {
  sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

double raw_insert_seconds(const std::string& path, const std::vector<std::string>& blobs,
                          std::size_t group) {
  RawSqlite raw(path);
  const std::span all(blobs);
  const auto begin = Clock::now();
  for (std::size_t at = 0; at < all.size(); at += group) {
    raw.insert(all.subspan(at, std::min(group, all.size() - at)));
  }
  raw.fold();
  return seconds_since(begin);
}

}  // namespace triage::bench
