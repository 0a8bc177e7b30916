// SPDX-License-Identifier: MIT
#include "redis_connection.hpp"

#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <hiredis/hiredis.h>

#include <charconv>
#include <optional>

namespace triage::inline v0_1::detail {
namespace {

constexpr int most_tries = 3;

std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > most) {
    return std::nullopt;
  }
  return value;
}

// What a server refused, in our words where they are known.
Error refused(const redisReply& reply) {
  const std::string text = printable(text_of(&reply));
  if (text.starts_with("NOPERM")) return {Errc::unsupported, "the Redis server says: " + text};
  if (text.starts_with("BUSY") || text.starts_with("LOADING")) {
    return {Errc::busy, "the Redis server says: " + text};
  }
  return {Errc::io, "the Redis server says: " + text};
}

}  // namespace

void FreeReply::operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
void RedisConnection::Close::operator()(redisContext* context) const noexcept {
  redisFree(context);
}
RedisConnection::~RedisConnection() = default;

std::string text_of(const redisReply* reply) {
  if (reply == nullptr || reply->str == nullptr) return {};
  return {reply->str, reply->len};
}

Result<RedisAddress> parse_redis_url(std::string_view url) {
  const auto refuse = [](std::string_view why) {
    return Error{Errc::invalid_argument,
                 "the Redis URL " + std::string(why) +
                     "; expected redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]"};
  };
  if (url.starts_with("rediss:")) {
    return Error{Errc::unsupported, "rediss: needs a hiredis with TLS, which this build has not"};
  }
  constexpr std::string_view scheme = "redis://";
  if (!url.starts_with(scheme)) return refuse("has another scheme");
  url.remove_prefix(scheme.size());
  RedisAddress address;
  if (const std::size_t at = url.rfind('@'); at != url.npos) {
    const std::string_view user = url.substr(0, at);
    const std::size_t colon = user.find(':');
    if (colon == user.npos) return refuse("has a user without a password");
    address.user = user.substr(0, colon);
    address.password = user.substr(colon + 1);
    url.remove_prefix(at + 1);
  }
  if (const std::size_t slash = url.find('/'); slash != url.npos) {
    if (slash + 1 < url.size()) {
      const auto database = number(url.substr(slash + 1), 1'000'000);
      if (!database) return refuse("has a database that is no number");
      address.database = *database;
    }
    url = url.substr(0, slash);
  }
  if (const std::size_t colon = url.rfind(':'); colon != url.npos) {
    const auto port = number(url.substr(colon + 1), 65'535);
    if (!port || *port == 0) return refuse("has a port that is no number from 1 to 65535");
    address.port = *port;
    url = url.substr(0, colon);
  }
  if (url.empty()) return refuse("names no host");
  address.host = url;
  return outcome::success(std::move(address));
}

Error RedisConnection::lost(std::string_view what) const {
  return {Errc::io, "Redis at " + printable(address_.host) + ":" + std::to_string(address_.port) +
                        ": " + printable(what)};
}

Result<void> RedisConnection::connect() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout_);
  const timeval limit{static_cast<time_t>(seconds.count()),
                      static_cast<suseconds_t>((timeout_ - seconds).count() * 1'000)};
  context_.reset(redisConnectWithTimeout(address_.host.c_str(), address_.port, limit));
  if (!context_) return lost("no memory for a connection");
  if (context_->err != 0) {
    const Error error = lost(std::string_view(context_->errstr));
    context_.reset();
    return error;
  }
  redisSetTimeout(context_.get(), limit);
  const auto greet = [&](const RedisWords& words) -> Result<void> {
    auto reply = ask_once(words);
    if (!reply) {
      context_.reset();
      return reply.error();
    }
    return outcome::success();
  };
  if (!address_.password.empty()) {
    RedisWords words{"AUTH"};
    if (!address_.user.empty()) words.push_back(address_.user);
    words.push_back(address_.password);
    TRIAGE_TRYV(greet(words));
  }
  if (address_.database != 0) {
    TRIAGE_TRYV(greet({"SELECT", std::to_string(address_.database)}));
  }
  return outcome::success();
}

Result<RedisReply> RedisConnection::ask_once(const RedisWords& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  RedisReply reply(static_cast<redisReply*>(redisCommandArgv(
      context_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data())));
  if (!reply) return lost(std::string_view(context_->errstr));
  if (reply->type == REDIS_REPLY_ERROR) return refused(*reply);
  return outcome::success(std::move(reply));
}

Result<RedisReply> RedisConnection::ask(const RedisWords& words) {
  std::optional<Error> last;
  for (int i = 0; i < most_tries; ++i) {
    if (!context_) {
      const Result<void> connected = connect();
      if (!connected) {
        last = connected.error();
        continue;
      }
    }
    auto reply = ask_once(words);
    if (reply || context_->err == 0) return reply;  // An answer, though perhaps an error.
    last = reply.error();
    context_.reset();
  }
  return *std::move(last);
}

}  // namespace triage::inline v0_1::detail
