// SPDX-License-Identifier: MIT
#pragma once
// A connection to a Redis server, reopened when it breaks.

#include "triage/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace triage::inline v0_1::detail {

struct RedisAddress {
  std::string host{};
  int port = 6379;
  std::string user{};
  std::string password{};
  int database = 0;
  std::string prefix{};  // "?prefix=", empty: none.
  bool tls = false;      // "rediss:".
  // Names of files. Empty: the system's trusted certificates, no certificate of our own.
  std::string tls_ca{};
  std::string tls_certificate{};
  std::string tls_key{};
};
// User, password and parameters may hold %XX. Errors: Errc::invalid_argument, Errc::unsupported
// (rediss: in a build without TLS). Never quotes the password.
[[nodiscard]] Result<RedisAddress> parse_redis_url(std::string_view url);
// Errc::invalid_argument: files without TLS, or a certificate without its key.
[[nodiscard]] Result<void> check_tls_files(const RedisAddress& address);

struct FreeReply {
  void operator()(redisReply* reply) const noexcept;
};
using RedisReply = std::unique_ptr<redisReply, FreeReply>;
using RedisWords = std::vector<std::string>;

// Thread-safety: none; the store locks.
class RedisConnection {
 public:
  using Open = std::function<redisContext*()>;
  // Null `open`: connects to the address, which is not used otherwise.
  RedisConnection(RedisAddress address, Open open, std::chrono::milliseconds timeout)
      : address_(std::move(address)), open_(std::move(open)), timeout_(timeout) {}
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Executes a query, and retries over a new connection if the old one breaks: only for queries
  // that may be repeated. Waits for a server that was reachable before, since it may be restarting;
  // the timeout bounds it all. A server's error is Errc::io, or as its first word implies.
  [[nodiscard]] Result<RedisReply> ask(const RedisWords& words);
  // The same for several queries at once; one reply each, in order. A server's error for a single
  // query only affects its reply.
  using Replies = std::vector<Result<RedisReply>>;
  [[nodiscard]] Result<Replies> ask_all(std::span<const RedisWords> questions);
  // For a child made by fork(), which must not close its parent's connection.
  void abandon() noexcept { context_.release(); }

 private:
  struct Close {
    void operator()(redisContext* context) const noexcept;
  };
  [[nodiscard]] redisContext* opened() const;
  [[nodiscard]] Result<void> connect();
  [[nodiscard]] Result<void> greet();
  [[nodiscard]] Result<Replies> ask_once(std::span<const RedisWords> questions);
  [[nodiscard]] Error lost(std::string_view what) const;
  [[nodiscard]] Error broken() const;

  const RedisAddress address_;
  const Open open_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<redisContext, Close> context_{};
  bool was_there_ = false;  // A connection has succeeded.
};

[[nodiscard]] std::string text_of(const redisReply* reply);

}  // namespace triage::inline v0_1::detail
