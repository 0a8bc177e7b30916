// SPDX-License-Identifier: MIT
// Redis servers, connections and contents that are not as the store makes or expects them.
#include "stores/lost_answers.hpp"
#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/needs_server.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/stores/redis.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

// Descriptors that a program which is started now would inherit.
std::set<int> inherited() {
  std::set<int> files;
  for (int file = 0; file < 1'000; ++file) {
    const int flags = ::fcntl(file, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) files.insert(file);
  }
  return files;
}

std::string url_of(const FaultProxy& proxy) {
  return "redis://127.0.0.1:" + std::to_string(proxy.port());
}

bool asks(std::string_view question, std::string_view word) {
  return question.find("\r\n" + std::string(word) + "\r\n") != question.npos;
}

}  // namespace

TEST_CASE("a program's own connections to Redis can be used", "[stores][redis]") {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always", "--requirepass", "secret"});
  NEEDS_SERVER(server)
  int made = 0;
  const auto store = RedisStore::on(
      [&]() -> redisContext* {
        ++made;
        redisContext* const context = redisConnect("127.0.0.1", server.port());
        if (context->err == 0) freeReplyObject(redisCommand(context, "AUTH secret"));
        return context;
      },
      {.durability = Durability::power, .prefix = "own:"});
  REQUIRE_OK(store);
  CHECK(made == 1);
  const auto lease = store.value()->start({.id = "run-1"}, {});
  REQUIRE_OK(lease);
  server.kill();
  server.start();
  REQUIRE_OK(store.value()->append(lease.value(), std::vector<Record>{lost_answer_record(1)},
                                   RunStatus::running));
  CHECK(made > 1);
  CHECK(store.value()->read("run-1", {}).value().records.size() == 1);
  REQUIRE_OK(RedisStore::open("redis://:secret@" + server.url().substr(8) + "?prefix=own:",
                              {.read_only = true}));
}

TEST_CASE("connections to Redis that cannot be used are an error", "[stores][redis]") {
  CHECK_ERRC(Errc::invalid_argument, RedisStore::on(nullptr));
  CHECK_ERRC(Errc::io, RedisStore::on([]() -> redisContext* { return nullptr; }));
  CHECK_ERRC(Errc::io, RedisStore::on([]() -> redisContext* { throw std::runtime_error("no"); }));
  CHECK_ERRC(Errc::io, RedisStore::on([] { return redisConnect("127.0.0.1", 1); }));
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  CHECK_ERRC(Errc::io,
             RedisStore::on([&] { return redisConnectNonBlock("127.0.0.1", server.port()); }));
  CHECK_ERRC(Errc::invalid_argument,
             RedisStore::on([&] { return redisConnect("127.0.0.1", server.port()); },
                            {.lease_timeout = std::chrono::milliseconds(1)}));
}

TEST_CASE("programs that an agent starts inherit no connection to Redis", "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const std::set<int> before = inherited();
  const auto opened = RedisStore::open(server.url());
  REQUIRE_OK(opened);
  const auto own = RedisStore::on([&] { return redisConnect("127.0.0.1", server.port()); });
  REQUIRE_OK(own);
  CHECK(inherited() == before);
}

TEST_CASE("a server that does not know AUTH does not make the password show", "[stores][redis]") {
  const RedisServer server({"--rename-command", "AUTH", ""});
  NEEDS_SERVER(server)
  const auto refused = RedisStore::open("redis://:hunter2%0A@" + server.url().substr(8));
  CHECK_ERRC(Errc::io, refused);
  CHECK(refused.error().detail.find("AUTH") != std::string::npos);
  CHECK(refused.error().detail.find("hunter2") == std::string::npos);
}

TEST_CASE("the prefix in a Redis URL may have an @", "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  REQUIRE_OK(RedisStore::open(server.url() + "/0?prefix=me@home:"));
  REQUIRE_OK(RedisStore::open(server.url(), {.prefix = "me@home:", .read_only = true}));
}

TEST_CASE("a server that drops what has a time to live keeps no runs that have one",
          "[stores][redis]") {
  const RedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  NEEDS_SERVER(server)
  REQUIRE_OK(RedisStore::open(server.url()));
  const auto refused = RedisStore::open(server.url(), {.ttl = std::chrono::hours(1)});
  CHECK_ERRC(Errc::unsupported, refused);
  CHECK(refused.error().detail.find("volatile-lru") != std::string::npos);
}

TEST_CASE("a run in Redis whose facts are no numbers is damaged, and nobody's", "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url());
  REQUIRE_OK(store);
  const std::string bad = GENERATE("", "x", "1x", "99999999999999999999", "-");
  const std::string field = GENERATE("birth", "epoch", "last", "started", "updated");
  INFO(field << " = " << bad);
  const auto lease =
      store.value()->start({.id = "run-1"}, std::vector<Record>{lost_answer_record(1)});
  REQUIRE_OK(lease);
  REQUIRE_OK(store.value()->release(lease.value()));
  REQUIRE_OK(server.ask({"HSET", "triage:{run-1}", field, bad}));
  CHECK(store.value()->run("run-1").value().damaged);
  CHECK(store.value()->runs({}).value().size() == 1);
  const auto taken = store.value()->acquire("run-1");
  if (field == "birth" || field == "epoch") CHECK_ERRC(Errc::corrupt, taken);
  if (taken) {
    static_cast<void>(store.value()->append(
        taken.value(), std::vector<Record>{lost_answer_record(2)}, RunStatus::running));
  }
}

TEST_CASE("answers of another shape are an error, whatever they are to", "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server) {
    const auto store = RedisStore::open(server.url());
    REQUIRE_OK(store);
    REQUIRE_OK(store.value()->start({.id = "run-1"}, {}));
  }
  std::string page = "*1000\r\n";
  for (int i = 0; i < 1'000; ++i) page += ":1\r\n";
  const std::vector<std::string> shapes{page,
                                        "*1\r\n*0\r\n",
                                        "*1\r\n*2\r\n:1\r\n:1\r\n",
                                        "*-1\r\n",
                                        "$3\r\nabc\r\n",
                                        ":7\r\n",
                                        "*2\r\n*-1\r\n$-1\r\n",
                                        "-ERR no\r\n"};
  const int shape = GENERATE(range(0, 8));
  const std::string& odd = shapes.at(static_cast<std::size_t>(shape));
  const std::string to = GENERATE("HGETALL", "XRANGE", "SMEMBERS", "TIME", "HGET", "HKEYS", "EVAL");
  INFO(to);
  FaultProxy proxy(server.port());
  bool opened = false;
  proxy.answer_with([&](std::string_view question) {
    return opened && asks(question, to) ? odd : std::string();
  });
  const auto store = RedisStore::open(url_of(proxy), {.timeout = std::chrono::seconds(2)});
  REQUIRE_OK(store);
  opened = true;
  // None of these crashes, hangs or throws; a journal that is not understood is not an empty one.
  const auto reading = store.value()->read("run-1", {});
  if (to == "XRANGE" && odd == page) CHECK_ERRC(Errc::io, reading);
  static_cast<void>(store.value()->runs({}));
  static_cast<void>(store.value()->get("s", "k"));
  static_cast<void>(store.value()->list("s", ""));
  static_cast<void>(store.value()->put_if("s", "k", 0, "v"));
  const auto lease = store.value()->acquire("run-1");
  static_cast<void>(store.value()->start({.id = "run-2"}, {}));
}

TEST_CASE("a run that is started while one of its name is erased stays in the list",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto starter = RedisStore::open(server.url());
  REQUIRE_OK(starter);
  REQUIRE_OK(starter.value()->release(starter.value()->start({.id = "run-1"}, {}).value()));
  FaultProxy proxy(server.port());
  int started = 0;
  proxy.answer_with([&](std::string_view question) {
    // The run is gone; its name is about to be taken off the list.
    const bool unlists = question.find("SREM") != question.npos;
    if (unlists) started += starter.value()->start({.id = "run-1"}, {}) ? 1 : 0;
    return std::string();
  });
  const auto eraser = RedisStore::open(url_of(proxy));
  REQUIRE_OK(eraser);
  REQUIRE_OK(eraser.value()->erase("run-1"));
  CHECK(started == 1);
  CHECK(starter.value()->runs({}).value().size() == 1);
}

TEST_CASE("a run in Redis whose keys cannot be removed stays, and is erased with them later",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url(), {.prefix = "e:"}).value();
  const auto signals = detail::own_space(detail::OwnSpace::signals);
  const auto lease = store->start({.id = "job"}, {});
  REQUIRE_OK(lease);
  REQUIRE_OK(store->release(lease.value()));
  REQUIRE_OK(store->put_if(signals, "job/approved", 0, "yes"));
  const std::string keys = "e:keys:" + std::string(signals);
  REQUIRE_OK(server.ask({"RENAME", keys, "aside"}));
  REQUIRE_OK(server.ask({"SET", keys, "another type"}));
  CHECK_FALSE(store->erase("job"));
  REQUIRE_OK(store->run("job"));
  CHECK_FALSE(store->run("job").value().owned);
  REQUIRE_OK(server.ask({"DEL", keys}));
  REQUIRE_OK(server.ask({"RENAME", "aside", keys}));
  REQUIRE_OK(store->erase("job"));
  CHECK(store->list(signals, "").value().empty());
  // What an erasure that was cut off left.
  REQUIRE_OK(store->put_if(signals, "job/approved", 0, "yes"));
  CHECK_ERRC(Errc::not_found, store->erase("job"));
  CHECK(store->list(signals, "").value().empty());
}

TEST_CASE("a lease that ends far in the future locks no run on Redis", "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto opened = [&](std::chrono::milliseconds lease) {
    return RedisStore::open(server.url(), {.prefix = "far:", .lease_timeout = lease}).value();
  };
  const auto ends_in = [&](const RunId& run, std::chrono::milliseconds left) {
    const auto until = std::chrono::system_clock::now().time_since_epoch() + left;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(until).count();
    REQUIRE_OK(server.ask({"HSET", "far:{" + run + "}", "owner", "another-boot/1 17 99 1234",
                           "until", std::to_string(ms)}));
  };
  const auto store = opened(std::chrono::seconds(30));
  REQUIRE_OK(store->start({.id = "run-1"}, std::vector<Record>{lost_answer_record(1)}));
  ends_in("run-1", std::chrono::seconds(55));
  CHECK(store->run("run-1").value().owned);
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  ends_in("run-1", std::chrono::hours(24));
  CHECK_FALSE(store->run("run-1").value().owned);
  REQUIRE_OK(store->acquire("run-1"));
  // A host with longer leases keeps its runs, whoever asks.
  const auto patient = opened(std::chrono::hours(1));
  REQUIRE_OK(patient->start({.id = "run-2"}, std::vector<Record>{lost_answer_record(1)}));
  ends_in("run-2", std::chrono::minutes(59));
  CHECK_ERRC(Errc::busy, store->acquire("run-2"));
  ends_in("run-2", std::chrono::hours(24));
  CHECK_FALSE(store->run("run-2").value().owned);
}
