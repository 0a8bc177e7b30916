// SPDX-License-Identifier: MIT
#pragma once
// Effects inside your own SQLite database: business rows and the effect's receipt commit together,
// so a doubt can always be settled.

#include "triage/effect.hpp"
#include "triage/result.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace SQLite {
class Database;
}

namespace triage::inline v0_1 {

// Receipts in the table triage_receipts of a user's database; runs may be stored elsewhere.
//
//   auto receipts = triage::SqliteReceipts::open(database).value();
//   receipts->effect(attempt, "book:42", {{"order", 42}}, [&] {
//     … your rows, without BEGIN and COMMIT: the transaction is ours …
//     return 42;
//   });
//
// Thread-safety: that of the connection: one thread at a time.
class SqliteReceipts : public std::enable_shared_from_this<SqliteReceipts> {
 public:
  // Creates the table if needed. The connection must outlive this object and the runs that use it.
  // Errors: Errc::io.
  [[nodiscard]] static Result<std::shared_ptr<SqliteReceipts>> open(SQLite::Database& database);
  explicit SqliteReceipts(SQLite::Database& database) noexcept : database_(database) {}

  // attempt.effect(key, arguments, …) with fn in a transaction. An exception from fn rolls back and
  // frees the key; EffectNotDone is thrown with that exception nested. `attempt` is an Attempt.
  template <class A, EffectFunction Fn>
  auto effect(A& attempt, std::string_view key, const Json& arguments, Fn fn) {
    return attempt.effect(key, arguments, transaction(std::move(fn)), {.reconcile = reconcile()});
  }

  // Its two parts, for other options. fn in a transaction, for Attempt::effect.
  template <EffectFunction Fn>
  [[nodiscard]] auto transaction(Fn fn) {
    using T = detail::effect_result_t<Fn>;
    return [self = shared_from_this(), fn = std::move(fn)](const EffectCall& call) mutable -> T {
      if constexpr (std::is_void_v<T>) {
        static_cast<void>(self->run(call, [&]() -> Json {
          detail::call_effect(fn, call);
          return nullptr;
        }));
      } else {
        return self->run(call, [&] { return Json(detail::call_effect(fn, call)); })
            .template get<T>();
      }
    };
  }
  // Looks for the receipt. If it is missing, the effect cannot happen any more: a late transaction
  // with the same receipt fails. A receipt without a result, left by a function that ended the
  // transaction itself, means unknown.
  [[nodiscard]] Reconcile reconcile();

 private:
  [[nodiscard]] Json run(const EffectCall& call, const std::function<Json()>& work);
  struct Receipt {
    std::optional<Json> result{};  // Empty: the function ended the transaction itself.
  };
  [[nodiscard]] std::optional<Receipt> find(const EffectCall& call);
  [[nodiscard]] bool is_undone(bool rolled_back, bool at_work, const EffectCall& call);
  void keep(const EffectCall& call, const std::string* encoded);  // Null: no result yet.

  SQLite::Database& database_;
};

}  // namespace triage::inline v0_1
