// SPDX-License-Identifier: MIT
#pragma once
// A store in a PostgreSQL database: journals shared by several hosts.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

struct pg_conn;

namespace triage::inline v0_1 {

struct PostgresOptions {
  // The least durability to accept. The server's settings determine the actual level: power with
  // fsync and synchronous_commit (the defaults), else process. Empty: any.
  std::optional<Durability> durability{};
  // Contains all tables: a lower-case letter or "_", then up to 40 of these and digits; "?schema="
  // in the URL overrides it. Created if missing.
  std::string schema = "triage";
  // How long one call waits for the server before Errc::busy or Errc::io. 10 ms to 10 min.
  std::chrono::milliseconds timeout{10'000};
  // How long a lease lasts, by the server's clock, without an append if its owner cannot be checked
  // (another host). 1 s to 1 day.
  std::chrono::milliseconds lease_timeout{30'000};
  // Maximum number of connections, opened when all others are in use. 1 to 100.
  std::size_t connections = 4;
  // For inspecting a store: nothing is created or changed, and writes are Errc::unsupported.
  bool read_only = false;
};

// Every write, even a group commit of many runs, is one statement: one transaction and one round
// trip. The statement compares run, sequence and epoch. Sessions hold no state, so a pooler in
// transaction mode may be used. Reconnects after a broken connection and repeats the request;
// statements detect what they have already done, so nothing is appended twice.
class PostgresStore : public CheckpointStore {
 public:
  // url: postgresql://[USER[:PASSWORD]@][HOST][:PORT][/DATABASE][?PARAMETER=VALUE…], as in libpq.
  // No error quotes the password.
  // Errors: Errc::invalid_argument (the URL, options out of range), Errc::unsupported (a durability
  // that the server does not provide, a newer format, no permission to create the tables),
  // Errc::not_found (read_only without a store), Errc::io (no server, a wrong password). After
  // fork(), every member is Errc::unsupported in the child.
  [[nodiscard]] static Result<std::shared_ptr<PostgresStore>> open(
      const std::string& url, const PostgresOptions& options = {});

  // Opens a blocking libpq connection (PGconn) for the store, which closes it with PQfinish. Null,
  // an exception, or not CONNECTION_OK is Errc::io. Called from several threads.
  using Connect = std::function<pg_conn*()>;
  [[nodiscard]] static Result<std::shared_ptr<PostgresStore>> on(
      Connect connect, const PostgresOptions& options = {});
};

}  // namespace triage::inline v0_1
