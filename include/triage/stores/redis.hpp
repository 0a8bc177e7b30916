// SPDX-License-Identifier: MIT
#pragma once
// A store in a Redis (or Valkey) server: journals that several hosts share.

#include "triage/checkpoint_store.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace triage::inline v0_1 {

struct RedisOptions {
  // What is asked for at least. The server's configuration decides what there is: appendfsync
  // always gives power, everysec gives process, no append-only file gives none. Empty: whatever
  // there is.
  std::optional<Durability> durability{};
  std::string prefix = "triage:";  // Of every key; "?prefix=" of the URL wins.
  // How long one call waits for the server before it is Errc::busy or Errc::io. 10 ms to 10 min.
  std::chrono::milliseconds timeout{5'000};
  // How long a lease lives without an append where the owner cannot be checked (another host), by
  // the server's clock. 1 s to 1 day.
  std::chrono::milliseconds lease_timeout{30'000};
  // Runs go by themselves so long after they were last written. 0: never.
  std::chrono::milliseconds ttl{0};
  // For looking at a store: nothing is made or changed, and every write is Errc::unsupported. Needs
  // no right to run scripts.
  bool read_only = false;
};

// The journal of a run is a stream, whose ids are the sequences; appending compares (run, sequence,
// epoch) in a script on the server. Both keys of a run have one hash tag, so a cluster keeps them
// together; one connection, so this is for one server or the proxy of a cluster. A connection that
// is cut is made again, for as long as `timeout`, and what was asked for is asked again: every
// script notices what it has done already, so nothing is appended twice. Sequences up to 2^53.
class RedisStore : public CheckpointStore {
 public:
  // url: redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=TEXT], with %XX in USER, PASSWORD
  // and TEXT where need be. No error quotes the password.
  // Errors: Errc::invalid_argument (the URL, options out of range), Errc::unsupported (rediss:, no
  // right to run scripts, a maxmemory-policy that evicts journals, durability that the server does
  // not give, a newer format), Errc::not_found (read_only, and there is no store), Errc::io (no
  // server, a wrong password).
  // After fork(), every member is Errc::unsupported in the child.
  [[nodiscard]] static Result<std::shared_ptr<RedisStore>> open(const std::string& url,
                                                                const RedisOptions& options = {});
};

}  // namespace triage::inline v0_1
