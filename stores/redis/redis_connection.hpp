// SPDX-License-Identifier: MIT
#pragma once
// One connection to a Redis server, made again when it is cut.

#include "triage/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
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
  std::string prefix{};  // "?prefix=", empty: not given.
};
// User, password and prefix may hold %XX. Errors: Errc::invalid_argument, Errc::unsupported
// (rediss:). Never quotes the password.
[[nodiscard]] Result<RedisAddress> parse_redis_url(std::string_view url);

struct FreeReply {
  void operator()(redisReply* reply) const noexcept;
};
using RedisReply = std::unique_ptr<redisReply, FreeReply>;
using RedisWords = std::vector<std::string>;

// Thread-safety: none; the store locks.
class RedisConnection {
 public:
  RedisConnection(RedisAddress address, std::chrono::milliseconds timeout)
      : address_(std::move(address)), timeout_(timeout) {}
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Asks, and asks again over a new connection if the old one is cut: only for what may be asked
  // twice. A server that was there before is waited for, since it may be about to restart; the
  // timeout bounds all of it. A server's error is Errc::io, or what its first word says.
  [[nodiscard]] Result<RedisReply> ask(const RedisWords& words);
  // The same for many questions in one go; a reply each, in their order. Errors of the server to a
  // single question are its own.
  using Replies = std::vector<Result<RedisReply>>;
  [[nodiscard]] Result<Replies> ask_all(const std::vector<RedisWords>& questions);
  // A child made by fork() must not say goodbye to its parent's server.
  void abandon() noexcept { context_.release(); }

 private:
  struct Close {
    void operator()(redisContext* context) const noexcept;
  };
  [[nodiscard]] Result<void> connect();
  [[nodiscard]] Result<Replies> ask_once(const std::vector<RedisWords>& questions);
  [[nodiscard]] Error lost(std::string_view what) const;

  const RedisAddress address_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<redisContext, Close> context_{};
  bool was_there_ = false;  // A connection has worked.
};

[[nodiscard]] std::string text_of(const redisReply* reply);

}  // namespace triage::inline v0_1::detail
