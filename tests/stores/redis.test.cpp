// SPDX-License-Identifier: MIT
// The Redis store under the conformance kit, with a real server on a free loopback port.
#include "triage/stores/redis.hpp"

#include "stores/conforming.hpp"
#include "stores/lost_answers.hpp"
#include "stores/redis_kit.hpp"
#include "stores/shrinking.hpp"
#include "support/catch.hpp"
#include "support/needs_server.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/testing/conformance.hpp"

#include <atomic>
#include <string>
#include <thread>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

Record step(Sequence seq) {
  return {seq, RecordKind::state_changed, WallTime(std::chrono::milliseconds(1'000 + seq)),
          std::make_shared<const Json>(Json{{"page", seq}})};
}

}  // namespace

TEST_CASE("the Redis store does all that it claims", "[stores][redis][conformance]") {
  const RedisServer server({"--appendonly", "yes", "--appendfsync", "everysec"});
  NEEDS_SERVER(server)
  const StoreKit kit = redis_kit(server);
  const ConformanceReport report = conformance(kit.open, kit.options);
  CHECK(report.count(ClauseOutcome::not_required) == 0);
  CHECK(report.capabilities.durability == Durability::process);
  expect_full(report);
}

TEST_CASE("a Redis server is taken for what its configuration gives", "[stores][redis]") {
  SECTION("nothing, without an append-only file") {
    const RedisServer server({"--appendonly", "no"});
    NEEDS_SERVER(server)
    CHECK(RedisStore::open(server.url()).value()->capabilities().durability == Durability::none);
    CHECK_ERRC(Errc::unsupported,
               RedisStore::open(server.url(), {.durability = Durability::process}));
  }
  SECTION("power cuts, if every write is synced") {
    const RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
    NEEDS_SERVER(server)
    const auto store = RedisStore::open(server.url(), {.durability = Durability::power});
    REQUIRE_OK(store);
    CHECK(store.value()->capabilities().durability == Durability::power);
  }
  SECTION("no store, if it drops keys when it is full") {
    const RedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
    NEEDS_SERVER(server)
    const auto store = RedisStore::open(server.url());
    CHECK_ERRC(Errc::unsupported, store);
    CHECK(store.error().detail.find("allkeys-lru") != std::string::npos);
  }
}

TEST_CASE("a password is used and never shown", "[stores][redis]") {
  const RedisServer server({"--requirepass", "hunter2"});
  NEEDS_SERVER(server)
  const std::string rest = server.url().substr(8);
  REQUIRE_OK(RedisStore::open("redis://:hunter2@" + rest));
  for (const std::string& wrong : {"redis://:wrong-one@" + rest, "redis://" + rest}) {
    const auto refused = RedisStore::open(wrong);
    CHECK_ERRC(Errc::io, refused);
    CHECK(refused.error().detail.find("wrong-one") == std::string::npos);
  }
}

TEST_CASE("a Redis URL that cannot be used is refused", "[stores][redis]") {
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://host:none"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://host/x"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://me@host"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://[::1"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://[::1]x"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://[]:1"));
  CHECK_ERRC(Errc::io, RedisStore::open("redis://127.0.0.1:1"));
}

TEST_CASE("a URL opens the Redis store, to write and to look only", "[stores][redis][open_store]") {
  const RedisServer server({"--appendonly", "yes"});
  NEEDS_SERVER(server)
  const std::string url = server.url() + "/1?prefix=mine:";
  CHECK_ERRC(Errc::not_found, open_store(url, {.read_only = true}));
  {
    const auto store = open_store(url);
    REQUIRE_OK(store);
    CHECK(store.value()->capabilities().durability == Durability::process);
    REQUIRE_OK(store.value()->start({.id = "run-1", .agent = "crawler"}, {}));
  }
  CHECK_ERRC(Errc::unsupported, open_store(url, {.durability = Durability::power}));
  const auto looked = open_store(url, {.read_only = true});
  REQUIRE_OK(looked);
  CHECK(looked.value()->run("run-1").value().agent == "crawler");
  CHECK_ERRC(Errc::unsupported, looked.value()->put_if("s", "k", 0, "x"));
  CHECK_ERRC(Errc::unsupported, looked.value()->start({.id = "run-2"}, {}));
  CHECK(looked.value()->runs({}).value().size() == 1);
  CHECK_ERRC(Errc::not_found, RedisStore::open(server.url(), {.read_only = true}));
}

TEST_CASE("a user without the right to run scripts is told so, and may still look",
          "[stores][redis]") {
  const RedisServer server({"--user", "clerk", "on", ">p@ss?", "~*", "+@all", "-eval", "-evalsha"});
  NEEDS_SERVER(server)
  REQUIRE_OK(RedisStore::open(server.url()));
  const std::string url = "redis://clerk:p%40ss%3F@" + server.url().substr(8);
  const auto refused = RedisStore::open(url);
  CHECK_ERRC(Errc::unsupported, refused);
  CHECK(refused.error().detail.find("right to run scripts") != std::string::npos);
  CHECK(refused.error().detail.find("p@ss") == std::string::npos);
  REQUIRE_OK(RedisStore::open(url, {.read_only = true}));
}

TEST_CASE("a Redis server that is killed and started again costs nothing and doubles nothing",
          "[stores][redis][faults]") {
  // Under everysec, acknowledged writes may stay in memory while the disk is slow.
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  NEEDS_SERVER(server)
  const auto opened = RedisStore::open(server.url(), {.timeout = std::chrono::seconds(20)});
  REQUIRE_OK(opened);
  CheckpointStore& store = *opened.value();
  const std::vector<Record> first{step(1)};
  const auto lease = store.start({.id = "run-1"}, first);
  REQUIRE_OK(lease);
  std::atomic<Sequence> stored{1};
  std::atomic<bool> stop{false};
  std::string problem;
  std::thread writer([&] {
    for (Sequence seq = 2; !stop; ++seq) {
      const std::vector<Record> records{step(seq)};
      const auto appended = store.append(lease.value(), records, RunStatus::running);
      if (!appended) {
        problem = appended.error().detail;
        return;
      }
      stored = seq;
    }
  });
  for (int restart = 0; restart < 5; ++restart) {
    const Sequence before = stored;
    while (stored < before + 50 && problem.empty()) std::this_thread::yield();
    server.kill();
    server.start();
    REQUIRE(server.ready());
  }
  const Sequence before = stored;
  while (stored < before + 50 && problem.empty()) std::this_thread::yield();
  stop = true;
  writer.join();
  CHECK(problem.empty());
  const auto reading = store.read("run-1", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().damaged.empty());
  REQUIRE(reading.value().records.size() == stored);
  for (std::size_t i = 0; i < reading.value().records.size(); ++i) {
    CHECK(reading.value().records[i].seq() == i + 1);
  }
}

TEST_CASE("a Redis server that came back without acknowledged records takes none behind the hole",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto opened = RedisStore::open(server.url());
  REQUIRE_OK(opened);
  CheckpointStore& store = *opened.value();
  const std::vector<Record> first{step(1), step(2), step(3)};
  const auto lease = store.start({.id = "run-1"}, first);
  REQUIRE_OK(lease);
  const std::vector<Record> more{step(4), step(5)};
  REQUIRE_OK(store.append(lease.value(), more, RunStatus::running));
  // A possible state after a restart under everysec.
  const std::string forget = R"(
local kept = redis.call('XRANGE', KEYS[1], '-', '3-0')
redis.call('DEL', KEYS[1])
for _, entry in ipairs(kept) do redis.call('XADD', KEYS[1], entry[1], unpack(entry[2])) end)";
  REQUIRE_OK(server.ask({"EVAL", forget, "1", "triage:{run-1}:log"}));
  REQUIRE_OK(server.ask({"HSET", "triage:{run-1}", "last", "3"}));
  const std::vector<Record> next{step(6)};
  const auto refused = store.append(lease.value(), next, RunStatus::running);
  CHECK_ERRC(Errc::corrupt, refused);
  CHECK(refused.error().detail.find("behind 3 up to 5") != std::string::npos);
  CHECK(store.read("run-1", {}).value().records.size() == 3);
  // The next owner continues from what remains.
  REQUIRE_OK(store.release(lease.value()));
  const auto again = store.acquire("run-1");
  REQUIRE_OK(again);
  const std::vector<Record> other{step(4)};
  REQUIRE_OK(store.append(again.value(), other, RunStatus::finished));
  CHECK(store.read("run-1", {}).value().records.size() == 4);
}

TEST_CASE("a Redis server that is gone or hangs is waited for no longer than the timeout",
          "[stores][redis]") {
  RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto opened = RedisStore::open(server.url(), {.timeout = std::chrono::milliseconds(200)});
  REQUIRE_OK(opened);
  const auto begin = std::chrono::steady_clock::now();
  server.pause();
  CHECK_ERRC(Errc::io, opened.value()->run("run-1"));
  server.go_on();
  CHECK_ERRC(Errc::not_found, opened.value()->run("run-1"));
  server.kill();
  CHECK_ERRC(Errc::io, opened.value()->run("run-1"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("a journal of several pages is read whole, and in part", "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url());
  REQUIRE_OK(store);
  std::vector<Record> records;
  for (Sequence seq = 1; seq <= 3'000; ++seq) records.push_back(step(seq));
  REQUIRE_OK(store.value()->start({.id = "run-1"}, records));
  CHECK(store.value()->read("run-1", {}).value().records.size() == 3'000);
  const auto part = store.value()->read("run-1", {.first = 500, .last = 1'999});
  REQUIRE_OK(part);
  REQUIRE(part.value().records.size() == 1'500);
  CHECK(part.value().records.back().seq() == 1'999);
}

TEST_CASE("whatever question or answer gets lost on the way to Redis, nothing is lost or doubled",
          "[stores][redis][faults]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  FaultProxy proxy(server.port());
  const auto store = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  REQUIRE_OK(store);
  lose_every_one(proxy, *store.value());
}

TEST_CASE("runs in Redis are compacted, and put under another key, whatever gets lost on the way",
          "[stores][redis][compaction]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  FaultProxy proxy(server.port());
  const auto store = RedisStore::open("redis://127.0.0.1:" + std::to_string(proxy.port()));
  REQUIRE_OK(store);
  shrink_and_check(store.value());
  lose_every_one_while_shrinking(proxy, *store.value());
}

TEST_CASE("a compacted run lives as long as the time to live says", "[stores][redis][compaction]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto has_ttl = [&](const std::string& prefix) {
    const std::string key = prefix + "{long}:log";
    const auto check = server.ask(
        {"EVAL", "return redis.call('PTTL', KEYS[1]) > 0 and 1 or redis.error_reply('none')", "1",
         key});
    return check.has_value();
  };
  const auto kept = RedisStore::open(server.url(), {.prefix = "kept:"}).value();
  shrink_and_check(kept);
  CHECK_FALSE(has_ttl("kept:"));
  const auto passing =
      RedisStore::open(server.url(), {.prefix = "p:", .ttl = std::chrono::hours(1)}).value();
  shrink_and_check(passing);
  CHECK(has_ttl("p:"));
}

TEST_CASE("runs that have expired are listed no more, and their names are forgotten",
          "[stores][redis]") {
  const RedisServer server({"--appendonly", "no"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url(), {.ttl = std::chrono::hours(1)}).value();
  for (const char* run : {"run-1", "run-2", "run-3"}) REQUIRE_OK(store->start({.id = run}, {}));
  // What their time to live does.
  REQUIRE_OK(server.ask({"DEL", "triage:{run-1}", "triage:{run-1}:log"}));
  REQUIRE_OK(server.ask({"DEL", "triage:{run-3}", "triage:{run-3}:log"}));
  for (const char* run : {"run-1", "run-2", "run-3"}) {
    REQUIRE_OK(server.ask({"DEL", std::string("triage:{triage:runs}:starting:") + run}));
  }
  CHECK(store->runs({}).value().size() == 1);
  REQUIRE_OK(server.ask({"EVAL", "assert(redis.call('SCARD', KEYS[1]) == 1)", "1", "triage:runs"}));
  REQUIRE_OK(store->start({.id = "run-1"}, {}));
  CHECK(store->runs({}).value().size() == 2);
}

TEST_CASE("a Redis server whose memory is full refuses an append, and loses nothing",
          "[stores][redis]") {
  const RedisServer server(
      {"--appendonly", "no", "--maxmemory", "8mb", "--maxmemory-policy", "noeviction"});
  NEEDS_SERVER(server)
  const auto store = RedisStore::open(server.url()).value();
  const auto lease = store->start({.id = "run-1"}, std::vector<Record>{step(1)});
  REQUIRE_OK(lease);
  Sequence last = 1;
  Result<void> appended = outcome::success();
  while (appended && last < 1'000) {
    const Record big(last + 1, RecordKind::state_changed, WallTime{},
                     std::make_shared<const Json>(Json{{"page", std::string(100'000, 'x')}}));
    appended = store->append(lease.value(), std::vector<Record>{big}, RunStatus::running);
    if (appended) ++last;
  }
  CHECK_ERRC(Errc::io, appended);
  CHECK(appended.error().detail.find("memory") != std::string::npos);
  CHECK(store->read("run-1", {}).value().records.size() == last);
  REQUIRE_OK(server.ask({"CONFIG", "SET", "maxmemory", "100mb"}));
  REQUIRE_OK(store->append(lease.value(), std::vector<Record>{step(last + 1)}, RunStatus::running));
  CHECK(store->read("run-1", {}).value().records.size() == last + 1);
}

TEST_CASE("a Redis server can be named by an IPv6 address", "[stores][redis]") {
  const RedisServer server({"--bind", "127.0.0.1", "::1"});
  NEEDS_SERVER(server)  // And an IPv6 loopback.
  const std::string url = "redis://[::1]:" + std::to_string(server.port());
  const auto store = RedisStore::open(url + "/0?prefix=six:");
  REQUIRE_OK(store);
  REQUIRE_OK(store.value()->start({.id = "run-1"}, {}));
  const auto nobody = RedisStore::open("redis://[::1]:1");
  CHECK_ERRC(Errc::io, nobody);
  CHECK(nobody.error().detail.find("[::1]:1") != std::string::npos);
}
