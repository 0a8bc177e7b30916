// SPDX-License-Identifier: MIT
// Business rows and receipts in one transaction, also when the process is killed in the middle.
#include "triage/stores/sqlite_receipts.hpp"

#include "crash/killing_store.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace triage;
using namespace triage::test;

namespace {

// Where the process is killed.
enum class Kill { nowhere, in_function, in_commit, before_result, after_result };

struct Shop {
  TempFolder folder{};
  std::string orders = folder.file("orders.db");
  std::string runs = folder.file("runs.db");
  int failures = 0;  // The function throws that many times, after its row.

  Result<int> run(Kill kill = Kill::nowhere) {
    SQLite::Database database(orders, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("CREATE TABLE IF NOT EXISTS orders(number INTEGER)");
    const auto receipts = SqliteReceipts::open(database).value();
    std::shared_ptr<CheckpointStore> store = SqliteStore::open(runs).value();
    if (kill == Kill::before_result || kill == Kill::after_result) {
      store = std::make_shared<KillingStore>(
          store, [](const Record& record) { return record.kind() == RecordKind::effect_completed; },
          kill == Kill::after_result);
    }
    FailurePolicy policy;
    policy.otherwise(
        Strategy("retry", [](const FailureContext&) { return RecoveryAction::retry(); }));
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                              return receipts->effect(attempt, "order", {{"number", 42}}, [&] {
                                database.exec("INSERT INTO orders VALUES(42)");
                                if (kill == Kill::in_function) std::raise(SIGKILL);
                                if (failures-- > 0) throw std::runtime_error("out of stock");
                                if (kill == Kill::in_commit) {
                                  const auto die = [](void*) { return std::raise(SIGKILL); };
                                  sqlite3_commit_hook(database.getHandle(), die, nullptr);
                                }
                                return 7;
                              });
                            },
                            policy,
                            {.store = store}};
    return agent.run_or_resume("r", std::string("x"));
  }
  [[nodiscard]] int count(const std::string& table) const {
    SQLite::Database database(orders);
    return database.execAndGet("SELECT count(*) FROM " + table).getInt();
  }
};

}  // namespace

TEST_CASE("a business row and its receipt commit together, once", "[stores][sqlite][receipts]") {
  Shop shop;
  CHECK(shop.run().value() == 7);
  CHECK(shop.run().value() == 7);
  CHECK(shop.count("orders") == 1);
  CHECK(shop.count("triage_receipts") == 1);
}

TEST_CASE("an exception rolls both back and frees the key", "[stores][sqlite][receipts]") {
  Shop shop;
  shop.failures = 2;
  CHECK(shop.run().value() == 7);
  CHECK(shop.count("orders") == 1);
  CHECK(shop.count("triage_receipts") == 1);
}

TEST_CASE("a twin that was faster gives its result, and no second row",
          "[stores][sqlite][receipts]") {
  Shop shop;
  SQLite::Database database(shop.orders, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("CREATE TABLE orders(number INTEGER)");
  const auto receipts = SqliteReceipts::open(database).value();
  const EffectCall call{.key = "order", .idempotency_key = "k"};
  auto order = [&] {
    return receipts->transaction([&] {
      database.exec("INSERT INTO orders VALUES(1)");
      return shop.count("orders") + 1;
    })(call);
  };
  CHECK(order() == 1);
  CHECK(order() == 1);
  CHECK(shop.count("orders") == 1);
}

TEST_CASE("a function that ends the transaction itself is in doubt, and told why",
          "[stores][sqlite][receipts]") {
  Shop shop;
  SQLite::Database database(shop.orders, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const auto receipts = SqliteReceipts::open(database).value();
  auto order = receipts->transaction([&] { database.exec("COMMIT"); });
  CHECK_THROWS_AS(order(EffectCall{.idempotency_key = "k"}), std::logic_error);
}

TEST_CASE("rows of a function that commits by itself are never taken for not done",
          "[stores][sqlite][receipts]") {
  Shop shop;
  SQLite::Database database(shop.orders, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("CREATE TABLE orders(number INTEGER)");
  const auto receipts = SqliteReceipts::open(database).value();
  const EffectCall call{.key = "order", .idempotency_key = "k"};
  // What the function does after its row; whether that throws by itself.
  const std::string does = GENERATE("COMMIT", "COMMIT; BEGIN", "ROLLBACK");
  const bool throws = GENERATE(true, false);
  INFO(does << (throws ? ", then throws" : ""));
  auto order = receipts->transaction([&] {
    if (does == "ROLLBACK") database.exec(does);
    database.exec("INSERT INTO orders VALUES(42)");
    if (does != "ROLLBACK") database.exec(does);
    if (throws) throw std::runtime_error("out of stock");
    return 7;
  });
  bool told = false;  // Whether it was reported that nothing happened.
  try {
    static_cast<void>(order(call));
  } catch (const EffectNotDone&) {
    told = true;
  } catch (const std::exception&) {}
  CHECK(shop.count("orders") == 1);
  CHECK_FALSE(told);
  const Reconciled found = receipts->reconcile().function()(call);
  CHECK(found.answer != Reconciled::Answer::not_done);
  CHECK((found.answer == Reconciled::Answer::done) == (does == "COMMIT; BEGIN" && !throws));
  try {
    static_cast<void>(order(call));  // A second try adds no second row.
  } catch (const std::exception&) {}
  CHECK(shop.count("orders") == 1);
}

TEST_CASE("an agent whose effect commits by itself ends in doubt, with one row",
          "[stores][sqlite][receipts]") {
  Shop shop;
  SQLite::Database database(shop.orders, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("CREATE TABLE orders(number INTEGER)");
  const auto receipts = SqliteReceipts::open(database).value();
  FailurePolicy policy;
  policy.otherwise(
      Strategy("retry", [](const FailureContext&) { return RecoveryAction::retry(); }));
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            receipts->effect(attempt, "order", {{"number", 42}}, [&] {
                              database.exec("INSERT INTO orders VALUES(42); COMMIT");
                            });
                          },
                          policy,
                          {.store = SqliteStore::open(shop.runs).value()}};
  const auto result = agent.run("x");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::in_doubt);
  CHECK(shop.count("orders") == 1);
}

TEST_CASE("a database that cannot be written frees the key", "[stores][sqlite][receipts]") {
  Shop shop;
  SQLite::Database database(shop.orders, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const auto receipts = SqliteReceipts::open(database).value();
  SQLite::Database other(shop.orders, SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  auto order = receipts->transaction([] { return 1; });
  CHECK_THROWS_AS(order(EffectCall{.idempotency_key = "k"}), EffectNotDone);
}

TEST_CASE("kill -9 anywhere around the transaction: one row, one receipt, nothing in doubt",
          "[stores][sqlite][receipts]") {
  const Kill kill =
      GENERATE(Kill::in_function, Kill::in_commit, Kill::before_result, Kill::after_result);
  Shop shop;
  const pid_t pid = ::fork();
  if (pid == 0) {
    static_cast<void>(shop.run(kill));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
  const bool committed = kill == Kill::before_result || kill == Kill::after_result;
  CHECK(shop.count("orders") == (committed ? 1 : 0));
  CHECK(shop.count("triage_receipts") == shop.count("orders"));
  CHECK(shop.run().value() == 7);
  CHECK(shop.count("orders") == 1);
  CHECK(shop.count("triage_receipts") == 1);
}
