// SPDX-License-Identifier: MIT
// The PostgreSQL store under the conformance kit, with a real server on a free loopback port.
#include "triage/stores/postgres.hpp"

#include "stores/conforming.hpp"
#include "stores/lost_answers.hpp"
#include "stores/postgres_kit.hpp"
#include "stores/shrinking.hpp"
#include "support/catch.hpp"
#include "support/needs_server.hpp"
#include "support/postgres_server.hpp"
#include "support/result.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/testing/conformance.hpp"
#include "triage/wakes_workers.hpp"

#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

Record change(Sequence seq, int value = 0) {
  return {seq, RecordKind::state_changed, WallTime(std::chrono::milliseconds(1'000 + seq)),
          std::make_shared<const Json>(Json{{"page", seq}, {"value", value}})};
}

// The sequences of a run, in order.
std::vector<Sequence> sequences_of(CheckpointStore& store, const RunId& run) {
  const auto reading = store.read(run, {});
  REQUIRE_OK(reading);
  CHECK(reading.value().damaged.empty());
  std::vector<Sequence> found;
  for (const Record& record : reading.value().records) found.push_back(record.seq());
  return found;
}

std::vector<Sequence> counted_to(Sequence last) {
  std::vector<Sequence> all;
  for (Sequence seq = 1; seq <= last; ++seq) all.push_back(seq);
  return all;
}

// The server behind the proxy, with one connection, so that all messages have one order.
Result<std::shared_ptr<PostgresStore>> opened_behind(const FaultProxy& proxy) {
  return PostgresStore::open("postgresql://tester@127.0.0.1:" + std::to_string(proxy.port()) +
                                 "/postgres?sslmode=disable&gssencmode=disable",
                             {.connections = 1});
}

}  // namespace

TEST_CASE("the PostgreSQL store does all that it claims", "[stores][postgres][conformance]") {
  const PostgresServer server({"fsync=off"});  // There are no power cuts here.
  NEEDS_SERVER(server)
  const StoreKit kit = postgres_kit(server);
  const ConformanceReport report = conformance(kit.open, kit.options);
  expect_full(report);
  CHECK(report.count(ClauseOutcome::not_required) == 0);
}

TEST_CASE("a URL opens the PostgreSQL store, to write and to look only", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const std::string url = server.url() + "?connect_timeout=3&schema=mine&application_name=test";
  CHECK_ERRC(Errc::not_found, open_store(url, {.read_only = true}));
  {
    const auto store = open_store(url);
    REQUIRE_OK(store);
    CHECK(store.value()->capabilities().durability == Durability::process);
    REQUIRE_OK(store.value()->start({.id = "run-1", .agent = "crawler"}, {}));
  }
  CHECK(server.ask("SELECT count(*) FROM mine.runs").value() == "1");
  CHECK_ERRC(Errc::unsupported, open_store(url, {.durability = Durability::power}));
  const auto looked = open_store(url, {.read_only = true});
  REQUIRE_OK(looked);
  CHECK(looked.value()->run("run-1").value().agent == "crawler");
  CHECK_ERRC(Errc::unsupported, looked.value()->put_if("s", "k", 0, "x"));
  CHECK_ERRC(Errc::unsupported, looked.value()->start({.id = "run-2"}, {}));
}

TEST_CASE("a schema can be named in every form of a PostgreSQL URL", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const std::string port = std::to_string(server.port());
  const std::vector<std::string> urls{
      "postgresql://127.0.0.1:" + port + "/postgres?schema=s1&user=tester",
      "postgresql:///postgres?host=127.0.0.1&port=" + port + "&user=tester&schema=s2",
      server.url() + "?schema=s3&application_name=a@b"};
  for (std::size_t i = 0; i < urls.size(); ++i) {
    INFO(urls[i]);
    REQUIRE_OK(open_store(urls[i]));
    CHECK(server.ask("SELECT count(*) FROM s" + std::to_string(i + 1) + ".runs").value() == "0");
  }
}

TEST_CASE("a PostgreSQL password is used and never shown", "[stores][postgres]") {
  const PostgresServer server;
  NEEDS_SERVER(server)
  REQUIRE_OK(
      server.ask("CREATE USER clerk PASSWORD 'p@ss?word'; CREATE SCHEMA clerk; "
                 "GRANT ALL ON SCHEMA clerk TO clerk"));
  const auto url = [&](const std::string& password) {
    return "postgresql://clerk:" + password + "@127.0.0.1:" + std::to_string(server.port()) +
           "/postgres";
  };
  const auto store = PostgresStore::open(url("p%40ss%3Fword"), {.schema = "clerk"});
  REQUIRE_OK(store);
  CHECK(store.value()->capabilities().durability == Durability::power);
  const auto refused = PostgresStore::open(url("wrong-one"), {.schema = "clerk"});
  CHECK_ERRC(Errc::io, refused);
  CHECK(refused.error().detail.find("wrong-one") == std::string::npos);
  const auto no_right = PostgresStore::open(url("p%40ss%3Fword"), {.schema = "other"});
  CHECK_ERRC(Errc::unsupported, no_right);
}

TEST_CASE("a PostgreSQL URL that cannot be used is refused without quoting it",
          "[stores][postgres]") {
  for (const std::string url :
       {"postgresql://me:hunter2@host/db?no_such_thing=1", "postgresql://me:hunter2@[host",
        "mysql://me:hunter2@host", "postgresql://me:hunter2%2@host"}) {
    const auto refused = PostgresStore::open(url);
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK(refused.error().detail.find("hunter2") == std::string::npos);
  }
  CHECK_ERRC(Errc::invalid_argument, PostgresStore::open("postgresql://h", {.schema = "a\"b"}));
  CHECK_ERRC(Errc::invalid_argument, PostgresStore::open("postgresql://h", {.connections = 0}));
  CHECK_ERRC(Errc::io, PostgresStore::open("postgresql://127.0.0.1:1/db"));
}

TEST_CASE("runs of several batches are stored by one statement", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto store = PostgresStore::open(server.url(), {.connections = 1});
  REQUIRE_OK(store);
  const auto one = store.value()->start({.id = "one"}, {}).value();
  const auto two = store.value()->start({.id = "two"}, {}).value();
  const auto three = store.value()->start({.id = "three"}, {}).value();
  REQUIRE_OK(store.value()->release(three));
  const std::vector<Record> first{change(1), change(2)};
  const std::vector<Record> more{change(3)};
  const std::vector<Record> other{change(2, 7)};
  std::vector<AppendBatch> batches{{.lease = one, .records = first},
                                   {.lease = two, .records = first},
                                   {.lease = three, .records = first},
                                   {.lease = one, .records = more},
                                   {.lease = two, .records = other}};
  store.value()->append_group(batches);
  REQUIRE_OK(batches[0].outcome);
  REQUIRE_OK(batches[1].outcome);
  CHECK_ERRC(Errc::fenced, batches[2].outcome);
  REQUIRE_OK(batches[3].outcome);
  CHECK_ERRC(Errc::conflict, batches[4].outcome);
  CHECK(sequences_of(*store.value(), "one") == counted_to(3));
  CHECK(sequences_of(*store.value(), "two") == counted_to(2));
}

TEST_CASE("a PostgreSQL server that dies, or ends its sessions, costs nothing and doubles nothing",
          "[stores][postgres][faults]") {
  PostgresServer server;
  NEEDS_SERVER(server)
  const auto opened =
      PostgresStore::open(server.url(), {.timeout = std::chrono::seconds(30), .connections = 2});
  REQUIRE_OK(opened);
  CheckpointStore& store = *opened.value();
  const std::vector<Record> first{change(1)};
  const auto lease = store.start({.id = "run-1"}, first);
  REQUIRE_OK(lease);
  std::atomic<Sequence> stored{1};
  std::atomic<bool> stop{false};
  std::string problem;
  std::thread writer([&] {
    for (Sequence seq = 2; !stop; ++seq) {
      const std::vector<Record> records{change(seq)};
      const auto appended = store.append(lease.value(), records, RunStatus::running);
      if (!appended) {
        problem = appended.error().detail;
        stop = true;
        return;
      }
      stored = seq;
    }
  });
  const auto wait_for_more = [&] {
    const Sequence before = stored;
    while (stored < before + 20 && !stop) std::this_thread::yield();
  };
  for (int restart = 0; restart < 3; ++restart) {
    wait_for_more();
    server.crash();
    server.start();
    wait_for_more();
    static_cast<void>(
        server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                   "WHERE application_name = 'triage'"));
  }
  wait_for_more();
  stop = true;
  writer.join();
  CHECK(problem == "");
  CHECK(sequences_of(store, "run-1") == counted_to(stored));
}

TEST_CASE("no state is kept in a session: every statement may meet another one",
          "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  // Like a pooler in transaction mode: session state is lost between transactions.
  const auto opened = PostgresStore::open(server.url(), {.connections = 3});
  REQUIRE_OK(opened);
  CheckpointStore& store = *opened.value();
  const auto lease = store.start({.id = "run-1"}, {}).value();
  for (Sequence seq = 1; seq <= 5; ++seq) {
    const std::vector<Record> records{change(seq)};
    REQUIRE_OK(store.append(lease, records, RunStatus::running));
    REQUIRE_OK(
        server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                   "WHERE application_name = 'triage'"));
    REQUIRE_OK(store.put_if("s", "k", seq - 1, "v"));
  }
  CHECK(sequences_of(store, "run-1") == counted_to(5));
  CHECK(server.ask("SELECT count(*) FROM pg_prepared_statements").value() == "0");
  CHECK(server.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").value() == "0");
}

TEST_CASE("many processes that make the tables at once all find a store", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  std::atomic<int> opened{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { opened += PostgresStore::open(server.url()) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(opened == 8);
}

TEST_CASE("a program's own connections can be used", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  std::atomic<int> made{0};
  const auto store = PostgresStore::on([&] {
    ++made;
    return PQconnectdb(server.url().c_str());
  });
  REQUIRE_OK(store);
  REQUIRE_OK(store.value()->start({.id = "run-1"}, {}));
  CHECK(made == 1);
  CHECK_ERRC(Errc::io, PostgresStore::on([]() -> pg_conn* { return nullptr; }));
}

TEST_CASE(
    "whatever question or answer gets lost on the way to PostgreSQL, nothing is lost or "
    "doubled",
    "[stores][postgres][faults]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  FaultProxy proxy(server.port());
  const auto store = opened_behind(proxy);
  REQUIRE_OK(store);
  lose_every_one(proxy, *store.value());
}

TEST_CASE("PostgreSQL wakes those that wait for work", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto waits = PostgresStore::open(server.url());
  REQUIRE_OK(waits);
  const auto works = PostgresStore::open(server.url());
  REQUIRE_OK(works);
  CheckpointStore& store = *waits.value();
  constexpr std::chrono::minutes long_time(2);
  const auto woken = [&] {
    const auto from = std::chrono::steady_clock::now();
    wait_for_work(store, long_time, {});
    return std::chrono::steady_clock::now() - from < long_time;
  };
  CHECK(woken());  // It may have missed one before it listened.

  const RunInfo info{.id = "r", .agent = "a", .status = RunStatus::running};
  const auto lease = works.value()->start(info, std::vector<Record>{change(1)});
  REQUIRE_OK(lease);
  REQUIRE_OK(
      works.value()->append(lease.value(), std::vector<Record>{change(2)}, RunStatus::suspended));
  CHECK(woken());
  REQUIRE_OK(works.value()->put_if(detail::own_space(detail::OwnSpace::signals), "r/go", 0, "yes"));
  CHECK(woken());

  // Other writes wake no one, and a stop ends the wait of every thread.
  REQUIRE_OK(works.value()->put_if("mine", "key", 0, "value"));
  wait_for_work(store, std::chrono::milliseconds(1), {});
  std::stop_source stop;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { wait_for_work(store, long_time, stop.get_token()); });
  }
  stop.request_stop();
  for (std::thread& thread : threads) thread.join();

  // A cut connection is re-established.
  REQUIRE_OK(
      server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                 "pg_backend_pid() AND usename IS NOT NULL"));
  CHECK(woken());  // It may have missed one meanwhile.
  REQUIRE_OK(works.value()->put_if(detail::own_space(detail::OwnSpace::signals), "r/on", 0, "yes"));
  CHECK(woken());
}

TEST_CASE(
    "runs in PostgreSQL are compacted, and put under another key, whatever gets lost on the way",
    "[stores][postgres][compaction]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  FaultProxy proxy(server.port());
  const auto store = opened_behind(proxy);
  REQUIRE_OK(store);
  shrink_and_check(store.value());
  lose_every_one_while_shrinking(proxy, *store.value());
}
