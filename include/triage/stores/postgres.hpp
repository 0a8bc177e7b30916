// SPDX-License-Identifier: MIT
#pragma once
// A store in a PostgreSQL database: journals that several hosts share.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

struct pg_conn;

namespace triage::inline v0_1 {

struct PostgresOptions {
  // What is asked for at least. The server's settings decide what there is: power with fsync and
  // synchronous_commit (the defaults), else process. Empty: whatever there is.
  std::optional<Durability> durability{};
  // Of all tables: a lower-case letter or "_", then up to 40 of these and digits; "?schema=" of the
  // URL wins. It is made if it is missing.
  std::string schema = "triage";
  // How long one call waits for the server before it is Errc::busy or Errc::io. 10 ms to 10 min.
  std::chrono::milliseconds timeout{10'000};
  // How long a lease lives without an append where the owner cannot be checked (another host), by
  // the server's clock. 1 s to 1 day.
  std::chrono::milliseconds lease_timeout{30'000};
  // How many connections there are at most; each is made when all others are in use. 1 to 100.
  std::size_t connections = 4;
  // For looking at a store: nothing is made or changed, and every write is Errc::unsupported.
  bool read_only = false;
};

// Every write is one statement, and so one transaction and one round trip: a group commit of many
// runs, too. The statement compares the run, the sequence and the epoch; no state is kept in a
// session, so a pooler in transaction mode may stand in between. A connection that is cut is made
// again, and what was asked for is asked again: every statement notices what it has done already,
// so nothing is appended twice.
class PostgresStore : public CheckpointStore {
 public:
  // url: postgresql://[USER[:PASSWORD]@][HOST][:PORT][/DATABASE][?PARAMETER=VALUE…], as libpq reads
  // it. No error quotes the password.
  // Errors: Errc::invalid_argument (the URL, options out of range), Errc::unsupported (durability
  // that the server does not give, a newer format, no right to make the tables), Errc::not_found
  // (read_only, and there is no store), Errc::io (no server, a wrong password).
  // After fork(), every member is Errc::unsupported in the child.
  [[nodiscard]] static Result<std::shared_ptr<PostgresStore>> open(
      const std::string& url, const PostgresOptions& options = {});

  // Makes a connection of libpq (PGconn), blocking, and gives it to the store, which ends it with
  // PQfinish. Null, or one that is not CONNECTION_OK, is Errc::io. Called from several threads.
  using Connect = std::function<pg_conn*()>;
  [[nodiscard]] static Result<std::shared_ptr<PostgresStore>> on(
      Connect connect, const PostgresOptions& options = {});
};

}  // namespace triage::inline v0_1
