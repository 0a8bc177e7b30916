// SPDX-License-Identifier: MIT
#include "redis_connection.hpp"

#include "base/percent.hpp"
#include "redis_tls.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <thread>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::chrono::milliseconds first_pause{5};
constexpr std::chrono::milliseconds longest_pause{200};

std::optional<int> whole_number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > most) {
    return std::nullopt;
  }
  return value;
}

// Translates what the server refused, if we know its code.
Error refused(const redisReply& reply) {
  const std::string text = printable(text_of(&reply));
  if (text.starts_with("NOPERM")) return {Errc::unsupported, "the Redis server says: " + text};
  if (text.starts_with("BUSY") || text.starts_with("LOADING")) {
    return {Errc::busy, "the Redis server says: " + text};
  }
  return {Errc::io, "the Redis server says: " + text};
}

// hiredis writes without MSG_NOSIGNAL: a broken connection must not end the process.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigset_t waiting;
    sigpending(&waiting);
    was_waiting_ = sigismember(&waiting, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec at_once{};
    if (!was_waiting_) {
      while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {}
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_waiting_ = false;
};

constexpr std::string_view loading = "the Redis server says: LOADING";
bool is_starting(const Error& error) { return error.detail.starts_with(loading); }
bool refuses_us(const Error& error) {
  return error.detail.starts_with("the Redis server says: ") && !is_starting(error);
}

timeval as_timeval(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {static_cast<time_t>(seconds.count()),
          static_cast<suseconds_t>((time - seconds).count() * 1'000)};
}

// False: it is none of ours.
bool take_parameter(RedisAddress& address, std::string_view parameter) {
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string_view name = parameter.substr(0, equals);
  std::string* target = nullptr;
  if (name == "prefix") target = &address.prefix;
  if (name == "tls_ca") target = &address.tls_ca;
  if (name == "tls_certificate") target = &address.tls_certificate;
  if (name == "tls_key") target = &address.tls_key;
  if (target == nullptr || equals == parameter.size() || !target->empty()) return false;
  const auto value = percent_decoded(parameter.substr(equals + 1), Malformed::refuse);
  if (!value || value->empty()) return false;
  *target = *value;
  return true;
}

// Called in this order: each takes one part off what is left of a URL, or says what is wrong with
// it.
using Wrong = std::optional<std::string_view>;

Wrong take_user(RedisAddress& address, std::string_view& url) {
  // A prefix may have an "@", too.
  const std::size_t at = url.substr(0, url.find('?')).rfind('@');
  if (at == url.npos) return std::nullopt;
  const std::string_view user = url.substr(0, at);
  const std::size_t colon = user.find(':');
  if (colon == user.npos) return "has a user without a password";
  const auto name = percent_decoded(user.substr(0, colon), Malformed::refuse);
  const auto password = percent_decoded(user.substr(colon + 1), Malformed::refuse);
  if (!name || !password) return "has a % without two hexadecimal digits";
  address.user = *name;
  address.password = *password;
  url.remove_prefix(at + 1);
  return std::nullopt;
}

Wrong take_query(RedisAddress& address, std::string_view& url) {
  const std::size_t query = url.find('?');
  if (query == url.npos) return std::nullopt;
  std::string_view rest = url.substr(query);
  while (!rest.empty()) {
    rest.remove_prefix(1);  // "?" or "&".
    const std::string_view parameter = rest.substr(0, rest.find('&'));
    if (!take_parameter(address, parameter)) {
      return "has a parameter that is unknown, empty or there twice";
    }
    rest.remove_prefix(parameter.size());
  }
  url = url.substr(0, query);
  return std::nullopt;
}

Wrong take_database(RedisAddress& address, std::string_view& url) {
  const std::size_t slash = url.find('/');
  if (slash == url.npos) return std::nullopt;
  if (slash + 1 < url.size()) {
    const auto database = whole_number(url.substr(slash + 1), 1'000'000);
    if (!database) return "has a database that is not a number";
    address.database = *database;
  }
  url = url.substr(0, slash);
  return std::nullopt;
}

Wrong take_host_and_port(RedisAddress& address, std::string_view& url) {
  // An IPv6 address is in brackets, because it has colons of its own.
  const std::size_t bracket = url.starts_with('[') ? url.find(']') : 0;
  if (bracket == url.npos) return "has a [ without its ]";
  if (const std::size_t colon = url.rfind(':'); colon != url.npos && colon >= bracket) {
    const auto port = whole_number(url.substr(colon + 1), 65'535);
    if (!port || *port == 0) return "has a port that is not a number from 1 to 65535";
    address.port = *port;
    url = url.substr(0, colon);
  }
  if (bracket > 0) {
    if (url.size() > bracket + 1) return "has something other than a port behind its ]";
    url = url.substr(1, bracket - 1);
  }
  if (url.empty()) return "names no host";
  address.host = url;
  return std::nullopt;
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
                     "; expected redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=TEXT], "
                     "or rediss:, which also takes tls_ca, tls_certificate and tls_key"};
  };
  RedisAddress address;
  address.tls = url.starts_with("rediss:");
  if (address.tls && !redis_has_tls()) {
    return Error{Errc::unsupported, "rediss: needs a hiredis with TLS, which this build has not"};
  }
  const std::string_view scheme = address.tls ? "rediss://" : "redis://";
  if (!url.starts_with(scheme)) return refuse("has another scheme");
  url.remove_prefix(scheme.size());
  for (const auto take : {take_user, take_query, take_database, take_host_and_port}) {
    if (const Wrong why = take(address, url)) return refuse(*why);
  }
  TRIAGE_TRYV(check_tls_files(address));
  return outcome::success(std::move(address));
}

Result<void> check_tls_files(const RedisAddress& address) {
  const bool any = !address.tls_ca.empty() || !address.tls_certificate.empty();
  if ((any || !address.tls_key.empty()) && !address.tls) {
    return Error{Errc::invalid_argument,
                 "tls_ca, tls_certificate and tls_key are for rediss: URLs"};
  }
  if (address.tls_certificate.empty() == address.tls_key.empty()) return outcome::success();
  return Error{Errc::invalid_argument, "tls_certificate and tls_key need each other"};
}

Error RedisConnection::lost(std::string_view what) const {
  const bool numeric = address_.host.find(':') != address_.host.npos;  // An IPv6 address.
  const std::string host = numeric ? "[" + address_.host + "]" : address_.host;
  const std::string where =
      open_ ? "" : " at " + printable(host) + ":" + std::to_string(address_.port);
  return {Errc::io, "Redis" + where + ": " + printable(what)};
}

// Why the connection has just failed.
Error RedisConnection::broken() const {
  const int kind = context_->err;
  const bool cut = kind == REDIS_ERR_EOF || kind == REDIS_ERR_PROTOCOL ||
                   (kind == REDIS_ERR_IO && (errno == ECONNRESET || errno == EPIPE));
  const bool slow = kind == REDIS_ERR_IO && errno == EAGAIN;
  std::string what = context_->errstr;
  if (slow) {
    what = "the server gives no answer in time";
  } else if (address_.tls) {
    if (const std::string complaint = take_tls_complaint(); !complaint.empty()) {
      what = complaint;
    } else if (cut && !was_there_ && address_.tls_certificate.empty()) {
      what += "; the server may demand a certificate (tls_certificate)";
    }
  } else if (cut && !open_ && !was_there_) {
    what += "; a server that expects TLS needs rediss://";
  }
  return lost(what);
}

// Null: there is none.
redisContext* RedisConnection::opened() const {
  if (!open_) {
    return redisConnectWithTimeout(address_.host.c_str(), address_.port, as_timeval(timeout_));
  }
  try {
    return open_();
  } catch (...) {
    return nullptr;
  }
}

Result<void> RedisConnection::connect() {
  const auto give_up = std::chrono::steady_clock::now() + timeout_;
  context_.reset(opened());
  if (!context_) return lost("there is no connection");
  const bool blocks = (context_->flags & REDIS_BLOCK) != 0;
  if (context_->err != 0 || !blocks) {
    const Error error = lost(context_->err != 0 ? std::string_view(context_->errstr)
                                                : "the connection is not a blocking one");
    context_.reset();
    return error;
  }
  // hiredis leaves it open to the programs that this one starts.
  ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  redisSetTimeout(context_.get(), as_timeval(timeout_));
  if (address_.tls) {
    const NoBrokenPipe here;
    if (const std::string why = start_redis_tls(*context_, address_, give_up); !why.empty()) {
      context_.reset();
      return lost(why);
    }
  }
  const Result<void> greeted = open_ ? Result<void>(outcome::success()) : greet();
  if (!greeted) context_.reset();
  return greeted;
}

// Says who we are, and chooses the database.
Result<void> RedisConnection::greet() {
  const auto say = [&](const RedisWords& words) -> Result<void> {
    TRIAGE_TRY(replies, ask_once({&words, 1}));
    if (replies.front()) return outcome::success();
    Error error = replies.front().error();
    // A server that does not know the command quotes its words, in a form of its own.
    const std::size_t words_begin = error.detail.find(", with args");
    if (words_begin != std::string::npos) error.detail.resize(words_begin);
    return error;
  };
  if (!address_.password.empty()) {
    RedisWords words{"AUTH"};
    if (!address_.user.empty()) words.push_back(address_.user);
    words.push_back(address_.password);
    TRIAGE_TRYV(say(words));
  }
  if (address_.database != 0) {
    TRIAGE_TRYV(say({"SELECT", std::to_string(address_.database)}));
  }
  return outcome::success();
}

Result<RedisConnection::Replies> RedisConnection::ask_once(std::span<const RedisWords> questions) {
  const NoBrokenPipe here;
  if (address_.tls) static_cast<void>(take_tls_complaint());  // It may be another connection's.
  for (const RedisWords& words : questions) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    texts.reserve(words.size());
    sizes.reserve(words.size());
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(),
                               sizes.data()) != REDIS_OK) {
      return lost(std::string_view(context_->errstr));
    }
  }
  Replies replies;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    void* answer = nullptr;
    if (redisGetReply(context_.get(), &answer) != REDIS_OK) return broken();
    RedisReply reply(static_cast<redisReply*>(answer));
    if (!reply) return lost("there is no answer");
    if (reply->type == REDIS_REPLY_ERROR) {
      replies.emplace_back(refused(*reply));
    } else {
      replies.emplace_back(outcome::success(std::move(reply)));
    }
  }
  return outcome::success(std::move(replies));
}

Result<RedisConnection::Replies> RedisConnection::ask_all(std::span<const RedisWords> questions) {
  using std::chrono::steady_clock;
  const auto give_up = steady_clock::now() + timeout_;
  std::chrono::milliseconds pause = first_pause;
  while (true) {
    std::optional<Error> error;
    if (!context_) {
      const Result<void> connected = connect();
      if (!connected) error = connected.error();
    }
    if (context_) {
      auto replies = ask_once(questions);
      if (replies) {
        was_there_ = true;
        const bool starting =
            std::any_of(replies.value().begin(), replies.value().end(),
                        [](const auto& reply) { return !reply && is_starting(reply.error()); });
        if (!starting || steady_clock::now() + pause >= give_up) return replies;
      } else {
        error = replies.error();
        // Later input would be mistaken for the answer to another query.
        context_.reset();
      }
    }
    // A server that was never reachable, or that refuses us, is not waited for.
    if (error && (!was_there_ || refuses_us(*error))) return *std::move(error);
    if (error && steady_clock::now() + pause >= give_up) return *std::move(error);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
}

Result<RedisReply> RedisConnection::ask(const RedisWords& words) {
  TRIAGE_TRY(replies, ask_all({&words, 1}));
  return std::move(replies.front());
}

}  // namespace triage::inline v0_1::detail
