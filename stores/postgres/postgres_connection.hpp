// SPDX-License-Identifier: MIT
#pragma once
// Connections to a PostgreSQL server: queries, results, and a pool.

#include "triage/result.hpp"
#include "triage/stores/postgres.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;

namespace triage::inline v0_1::detail {

// The parameters of a statement in PostgreSQL's binary format. Their types are those the statement
// casts them to ($1::bigint).
class PgParameters {
 public:
  PgParameters& number(std::int64_t value);
  PgParameters& text(std::string value) { return bytes(std::move(value)); }  // text and bytea
  PgParameters& bytes(std::string value);
  PgParameters& null();
  PgParameters& numbers(const std::vector<std::int64_t>& values);      // bigint[]
  PgParameters& texts(const std::vector<std::string>& values);         // text[]
  PgParameters& byte_strings(const std::vector<std::string>& values);  // bytea[]

  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const noexcept {
    return values_;
  }

 private:
  std::vector<std::optional<std::string>> values_{};
};

// The result rows of a statement, in binary format.
class PgRows {
 public:
  explicit PgRows(pg_result* result);
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_null(int row, int column) const noexcept;
  // smallint, integer, bigint or boolean; 0 for null.
  [[nodiscard]] std::int64_t number(int row, int column) const noexcept;
  // text or bytea; empty for null. Lives as long as this object.
  [[nodiscard]] std::string_view text(int row, int column) const noexcept;
  // The connection of an earlier try was lost. The server may still be at work on that one, and
  // this answer does not tell what it has done.
  bool repeated = false;

 private:
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Clear> result_;
  int size_ = 0;
};

// Takes the rows of an answer one by one, so that a large one is read within one statement and not
// kept twice.
struct PgReader {
  std::function<void()> begin{};                  // Before the first row of each try.
  std::function<void(const PgRows& row)> take{};  // One row.
};

// A few connections shared by threads.
//
// Thread-safety: all members may be called from several threads at once.
class PgPool {
 public:
  PgPool(PostgresStore::Connect connect, std::chrono::milliseconds timeout, std::size_t most)
      : connect_(std::move(connect)), timeout_(timeout), most_(most) {}
  ~PgPool();
  PgPool(const PgPool&) = delete;
  PgPool& operator=(const PgPool&) = delete;

  // Executes a query, and retries over a new connection if the old one breaks: only for queries
  // that may be repeated. Waits for a server that was reachable before, since it may be restarting;
  // the total is bounded by twice the timeout. `state`, if not null, receives the server's code.
  [[nodiscard]] Result<PgRows> ask(const std::string& statement, const PgParameters& parameters,
                                   std::string* state = nullptr);
  // The same for an answer of any size; each row may take as long as the timeout.
  [[nodiscard]] Result<void> stream(const std::string& statement, const PgParameters& parameters,
                                    const PgReader& reader);
  // Several statements without parameters and rows, in one transaction.
  [[nodiscard]] Result<void> ask_script(const std::string& statements,
                                        std::string* state = nullptr);
  // For a child made by fork(), which must not close its parent's connection.
  void abandon() noexcept;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  using Connection = std::unique_ptr<pg_conn, Finish>;
  using Point = std::chrono::steady_clock::time_point;

  [[nodiscard]] Result<PgRows> ask(const std::string& statement, const PgParameters* parameters,
                                   const PgReader* reader, std::string* state);
  [[nodiscard]] Result<Connection> take(Point give_up);
  void give_back(Connection connection);

  const PostgresStore::Connect connect_;
  const std::chrono::milliseconds timeout_;
  const std::size_t most_;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable freed_;
  std::vector<Connection> idle_{};
  std::size_t in_use_ = 0;
  bool was_there_ = false;  // A connection has succeeded.
};

// Turns a URL into a connect function and the schema it names (empty: none). Errors:
// Errc::invalid_argument, which never quotes the URL.
struct PgAddress {
  PostgresStore::Connect connect{};
  std::string schema{};
};
[[nodiscard]] Result<PgAddress> parse_postgres_url(std::string url,
                                                   std::chrono::milliseconds timeout);

}  // namespace triage::inline v0_1::detail
