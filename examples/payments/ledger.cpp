// SPDX-License-Identifier: MIT
#include "ledger.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

namespace payments {
namespace {

SQLite::Database& prepared(SQLite::Database& file) {
  file.setBusyTimeout(5'000);
  file.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
      "CREATE TABLE IF NOT EXISTS charges(receipt INTEGER PRIMARY KEY, reference TEXT, "
      "cents INTEGER);"
      "CREATE INDEX IF NOT EXISTS by_reference ON charges(reference);"
      "CREATE TABLE IF NOT EXISTS refunds(reference TEXT);"
      "CREATE TABLE IF NOT EXISTS fences(reference TEXT PRIMARY KEY, fence INTEGER);"
      "CREATE TABLE IF NOT EXISTS requests(number INTEGER);"
      "INSERT INTO requests SELECT 0 WHERE NOT EXISTS (SELECT * FROM requests)");
  return file;
}

}  // namespace

struct Ledger::Database {
  explicit Database(const std::string& path)
      : file(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {}

  SQLite::Database file;
  SQLite::Database& ready = prepared(file);
};

Ledger::Ledger(const std::string& path) : database_(std::make_unique<Database>(path)) {}
Ledger::~Ledger() = default;

std::uint64_t Ledger::next_request() {
  SQLite::Statement count(database_->ready,
                          "UPDATE requests SET number = number + 1 RETURNING number");
  count.executeStep();
  const auto number = static_cast<std::uint64_t>(count.getColumn(0).getInt64());
  count.executeStep();
  return number;
}

bool Ledger::raise_fence(const std::string& reference, std::int64_t fence) {
  SQLite::Statement raise(database_->ready,
                          "INSERT INTO fences VALUES(?1, ?2) ON CONFLICT(reference) DO UPDATE SET "
                          "fence = ?2 WHERE fence <= ?2");
  raise.bind(1, reference);
  raise.bind(2, fence);
  return raise.exec() == 1;
}

std::optional<std::int64_t> Ledger::charge(const std::string& reference, std::int64_t cents,
                                           std::int64_t fence,
                                           const std::function<void()>& before_commit) {
  SQLite::Transaction transaction(database_->ready, SQLite::TransactionBehavior::IMMEDIATE);
  if (!raise_fence(reference, fence)) return std::nullopt;
  SQLite::Statement insert(database_->ready,
                           "INSERT INTO charges(reference, cents) VALUES(?1, ?2)");
  insert.bind(1, reference);
  insert.bind(2, cents);
  insert.exec();
  const std::int64_t receipt = database_->ready.getLastInsertRowid();
  before_commit();
  transaction.commit();
  return receipt;
}

std::optional<std::int64_t> Ledger::find(const std::string& reference, std::int64_t fence) {
  SQLite::Transaction transaction(database_->ready, SQLite::TransactionBehavior::IMMEDIATE);
  raise_fence(reference, fence);
  SQLite::Statement look(database_->ready, "SELECT min(receipt) FROM charges WHERE reference = ?1");
  look.bind(1, reference);
  look.executeStep();
  const auto column = look.getColumn(0);
  const std::optional<std::int64_t> receipt =
      column.isNull() ? std::nullopt : std::optional(column.getInt64());
  transaction.commit();
  return receipt;
}

bool Ledger::refund(const std::string& reference, std::int64_t fence,
                    const std::function<void()>& before_commit) {
  SQLite::Transaction transaction(database_->ready, SQLite::TransactionBehavior::IMMEDIATE);
  if (!raise_fence("refund " + reference, fence)) return false;
  SQLite::Statement insert(database_->ready, "INSERT INTO refunds VALUES(?1)");
  insert.bind(1, reference);
  insert.exec();
  before_commit();
  transaction.commit();
  return true;
}

bool Ledger::find_refund(const std::string& reference, std::int64_t fence) {
  SQLite::Transaction transaction(database_->ready, SQLite::TransactionBehavior::IMMEDIATE);
  raise_fence("refund " + reference, fence);
  SQLite::Statement look(database_->ready, "SELECT count(*) FROM refunds WHERE reference = ?1");
  look.bind(1, reference);
  look.executeStep();
  const bool found = look.getColumn(0).getInt() > 0;
  transaction.commit();
  return found;
}

std::map<std::string, Charged> Ledger::charges() {
  std::map<std::string, Charged> found;
  SQLite::Statement all(database_->ready,
                        "SELECT reference, count(*), sum(cents), min(receipt) FROM charges "
                        "GROUP BY reference");
  while (all.executeStep()) {
    found[all.getColumn(0).getString()] = {.times = all.getColumn(1).getInt(),
                                           .cents = all.getColumn(2).getInt64(),
                                           .receipt = all.getColumn(3).getInt64()};
  }
  SQLite::Statement back(database_->ready,
                         "SELECT reference, count(*) FROM refunds GROUP BY reference");
  while (back.executeStep()) {
    found[back.getColumn(0).getString()].refunds = back.getColumn(1).getInt();
  }
  return found;
}

}  // namespace payments
