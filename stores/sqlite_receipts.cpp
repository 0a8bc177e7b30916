// SPDX-License-Identifier: MIT
#include "triage/stores/sqlite_receipts.hpp"

#include "triage/record.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <exception>
#include <string>

namespace triage::inline v0_1 {
namespace {

bool in_transaction(SQLite::Database& database) {
  return sqlite3_get_autocommit(database.getHandle()) == 0;
}

// Rolls back what is not committed when the scope ends.
class OpenTransaction {
 public:
  explicit OpenTransaction(SQLite::Database& database) : database_(database) {
    database_.exec("BEGIN IMMEDIATE");
  }
  ~OpenTransaction() { static_cast<void>(roll_back()); }
  OpenTransaction(const OpenTransaction&) = delete;
  OpenTransaction& operator=(const OpenTransaction&) = delete;

  // False if nothing was open any more.
  bool roll_back() noexcept {
    return in_transaction(database_) && database_.tryExec("ROLLBACK") == SQLITE_OK;
  }

 private:
  SQLite::Database& database_;
};

}  // namespace

Result<std::shared_ptr<SqliteReceipts>> SqliteReceipts::open(SQLite::Database& database) {
  try {
    database.exec(
        "CREATE TABLE IF NOT EXISTS triage_receipts(idempotency_key TEXT PRIMARY KEY, effect BLOB, "
        "result BLOB)");
  } catch (const SQLite::Exception& e) {
    return Error{Errc::io, std::string("the table triage_receipts cannot be made: ") + e.what()};
  }
  return outcome::success(std::make_shared<SqliteReceipts>(database));
}

std::optional<Json> SqliteReceipts::find(const EffectCall& call) {
  SQLite::Statement look(database_, "SELECT result FROM triage_receipts WHERE idempotency_key = ?");
  look.bind(1, call.idempotency_key);
  if (!look.executeStep()) return std::nullopt;
  const auto column = look.getColumn(0);
  return detail::decode_cbor({static_cast<const char*>(column.getBlob()),
                              static_cast<std::size_t>(column.getBytes())})
      .value();
}

Json SqliteReceipts::run(const EffectCall& call, const std::function<Json()>& work) {
  const auto not_done = [](const std::exception& e) {
    std::throw_with_nested(EffectNotDone(std::string("rolled back: ") + e.what()));
  };
  std::optional<OpenTransaction> transaction;
  try {
    transaction.emplace(database_);
    if (auto known = find(call)) return *std::move(known);  // A twin was faster.
    Json result = work();
    if (!in_transaction(database_)) {
      throw std::logic_error("the effect's function ended the transaction that it runs in");
    }
    // Before the commit: a receipt that cannot be read back would never let the run go on.
    if (const auto storable = check_json(result, "the effect's result"); !storable) {
      throw std::invalid_argument(storable.error().detail);
    }
    std::string encoded;
    detail::encode_cbor(result, encoded);
    SQLite::Statement keep(database_, "INSERT INTO triage_receipts VALUES(?, ?, ?)");
    keep.bind(1, call.idempotency_key);
    keep.bind(2, call.key.data(), static_cast<int>(call.key.size()));
    keep.bind(3, encoded.data(), static_cast<int>(encoded.size()));
    keep.exec();
    database_.exec("COMMIT");
    return result;
  } catch (const EffectNotDone&) {
    throw;
  } catch (const std::exception& e) {
    // Without an open transaction nobody knows: it may have been the commit that failed.
    if (!transaction || transaction->roll_back()) not_done(e);
    throw;
  }
}

Reconcile SqliteReceipts::reconcile() {
  return [self = shared_from_this()](const EffectCall& call) {
    auto found = self->find(call);
    return found ? Reconciled::done(*std::move(found)) : Reconciled::not_done();
  };
}

}  // namespace triage::inline v0_1
