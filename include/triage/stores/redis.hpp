// SPDX-License-Identifier: MIT
#pragma once
// A store in a Redis (or Valkey) server: journals shared by several hosts.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

struct redisContext;

namespace triage::inline v0_1 {

struct RedisOptions {
  // The least durability to accept. The server's configuration determines the actual level:
  // appendfsync always gives power, everysec gives process, no append-only file gives none. Empty:
  // any.
  std::optional<Durability> durability{};
  std::string prefix = "triage:";  // Of every key; "?prefix=" in the URL overrides it.
  // How long one call waits for the server before Errc::busy or Errc::io. 10 ms to 10 min.
  std::chrono::milliseconds timeout{5'000};
  // How long a lease lasts, by the server's clock, without an append if its owner cannot be checked
  // (another host). 1 s to 1 day.
  std::chrono::milliseconds lease_timeout{30'000};
  // Runs are removed this long after their last write. 0: never.
  std::chrono::milliseconds ttl{0};
  // For inspecting a store: nothing is created or changed, writes are Errc::unsupported. Needs no
  // permission to run scripts.
  bool read_only = false;
  // For rediss: URLs, whose parameters of the same names override them; files in PEM, read for
  // every new connection. The certificates that are trusted, instead of the system's.
  std::string tls_ca{};
  std::string tls_certificate{};  // What this client shows, with its chain; needs tls_key.
  std::string tls_key{};          // Without a passphrase.
};

// The journal of a run is a stream whose ids are the sequences; a script on the server compares
// (run, sequence, epoch) before it appends. The two keys of a run share a hash tag, so a cluster
// keeps them together. Uses one connection: for one server, or the proxy of a cluster. After a
// broken connection it reconnects for as long as `timeout` and repeats the request; scripts detect
// what they have already done, so nothing is appended twice. Sequences up to 2^53.
class RedisStore : public CheckpointStore {
 public:
  // url: redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=TEXT], with %XX in USER, PASSWORD
  // and TEXT where need be. No error quotes the password. rediss: is the same over TLS; HOST must
  // be in the server's certificate. Errors: Errc::invalid_argument (the URL, options out of range),
  // Errc::unsupported (rediss: in a build without TLS, no permission to run scripts, a
  // maxmemory-policy that evicts journals, a durability that the server does not provide, a newer
  // format), Errc::not_found (read_only without a store), Errc::io (no server, a wrong password or
  // certificate). After fork(), every member is Errc::unsupported in the child.
  [[nodiscard]] static Result<std::shared_ptr<RedisStore>> open(const std::string& url,
                                                                const RedisOptions& options = {});

  // Opens a blocking hiredis connection (redisContext) for the store, with its user and database
  // chosen; the store sets its time limit, marks it close-on-exec and closes it with redisFree.
  // Null, an exception, or a connection with an error or that does not block is Errc::io. Called
  // again when the connection breaks, by one thread at a time.
  using Connect = std::function<redisContext*()>;
  [[nodiscard]] static Result<std::shared_ptr<RedisStore>> on(Connect connect,
                                                              const RedisOptions& options = {});
};

}  // namespace triage::inline v0_1
