// SPDX-License-Identifier: MIT
#include "triage/stores/sqlite_receipts.hpp"

#include "triage/record.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace triage::inline v0_1 {
namespace {

bool in_transaction(SQLite::Database& database) {
  return sqlite3_get_autocommit(database.getHandle()) == 0;
}

constexpr const char* ended_early =
    "the effect's function ended the transaction that it runs in, so its rows may be there without "
    "a result; look for them, then delete the row of triage_receipts or give it a result";

// Rolls back uncommitted work at the end of the scope.
class OpenTransaction {
 public:
  explicit OpenTransaction(SQLite::Database& database) : database_(database) {
    database_.exec("BEGIN IMMEDIATE");
  }
  ~OpenTransaction() { static_cast<void>(roll_back()); }
  OpenTransaction(const OpenTransaction&) = delete;
  OpenTransaction& operator=(const OpenTransaction&) = delete;

  // False if the transaction had already ended.
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

std::optional<SqliteReceipts::Receipt> SqliteReceipts::find(const EffectCall& call) {
  SQLite::Statement look(database_, "SELECT result FROM triage_receipts WHERE idempotency_key = ?");
  look.bind(1, call.idempotency_key);
  if (!look.executeStep()) return std::nullopt;
  const auto column = look.getColumn(0);
  if (column.isNull()) return Receipt{};
  return Receipt{detail::decode_cbor({static_cast<const char*>(column.getBlob()),
                                      static_cast<std::size_t>(column.getBytes())})
                     .value()};
}

void SqliteReceipts::keep(const EffectCall& call, const std::string* encoded) {
  SQLite::Statement keep(database_,
                         "INSERT INTO triage_receipts VALUES(?1, ?2, ?3) "
                         "ON CONFLICT(idempotency_key) DO UPDATE SET result = ?3");
  keep.bind(1, call.idempotency_key);
  keep.bind(2, call.key.data(), static_cast<int>(call.key.size()));
  if (encoded != nullptr) keep.bind(3, encoded->data(), static_cast<int>(encoded->size()));
  keep.exec();
}

// True if certainly nothing was written: what was open was rolled back, and no receipt committed. A
// function that was running when its transaction ended may have written something.
bool SqliteReceipts::is_undone(bool rolled_back, bool at_work, const EffectCall& call) {
  if (!rolled_back && at_work) keep(call, nullptr);
  return rolled_back && !find(call);
}

// The receipt is inserted before the function's rows, without a result. If the function commits by
// itself, it commits the receipt too, so its rows never count as not done.
Json SqliteReceipts::run(const EffectCall& call, const std::function<Json()>& work) {
  std::optional<OpenTransaction> transaction;
  bool at_work = false;
  try {
    transaction.emplace(database_);
    if (auto known = find(call)) {
      if (known->result) return *std::move(known->result);  // A concurrent call was faster.
      throw std::logic_error(ended_early);
    }
    keep(call, nullptr);
    at_work = true;
    Json result = work();
    if (!in_transaction(database_)) throw std::logic_error(ended_early);
    at_work = false;
    // Before the commit: with an unreadable receipt the run could never continue.
    if (const auto storable = check_json(result, "the effect's result"); !storable) {
      throw std::invalid_argument(storable.error().detail);
    }
    std::string encoded;
    detail::encode_cbor(result, encoded);
    keep(call, &encoded);
    database_.exec("COMMIT");
    return result;
  } catch (const EffectNotDone&) {
    if (transaction && !is_undone(transaction->roll_back(), at_work, call))
      throw std::logic_error(ended_early);
    throw;
  } catch (const std::exception& e) {
    // Without an open transaction the outcome is unknown: the commit itself may have failed.
    if (transaction && !is_undone(transaction->roll_back(), at_work, call)) throw;
    std::throw_with_nested(EffectNotDone(std::string("rolled back: ") + e.what()));
  }
}

Reconcile SqliteReceipts::reconcile() {
  return [self = shared_from_this()](const EffectCall& call) {
    auto found = self->find(call);
    if (!found) return Reconciled::not_done();
    return found->result ? Reconciled::done(*std::move(found->result))
                         : Reconciled::unknown(ended_early);
  };
}

}  // namespace triage::inline v0_1
