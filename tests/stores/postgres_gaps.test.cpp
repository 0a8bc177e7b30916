// SPDX-License-Identifier: MIT
// What lies between two statements of the PostgreSQL store, and between the tries of one.
#include "stores/lost_answers.hpp"
#include "stores/read_while_compacted.hpp"
#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/needs_server.hpp"
#include "support/postgres_server.hpp"
#include "support/result.hpp"
#include "triage/orphans.hpp"
#include "triage/stores/postgres.hpp"
#include "triage/wakes_workers.hpp"

#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

std::shared_ptr<PostgresStore> opened_behind(const FaultProxy& proxy,
                                             std::chrono::milliseconds timeout) {
  return PostgresStore::open("postgresql://tester@127.0.0.1:" + std::to_string(proxy.port()) +
                                 "/postgres?sslmode=disable&gssencmode=disable",
                             {.timeout = timeout, .connections = 1})
      .value();
}

}  // namespace

TEST_CASE("an erasure that is cut off anywhere leaves no record without a run",
          "[stores][postgres][faults]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto direct = PostgresStore::open(server.url());
  REQUIRE_OK(direct);
  FaultProxy proxy(server.port());
  bool erased = false;
  for (int n = 1; !erased; ++n) {
    INFO("question " << n);
    REQUIRE(n < 20);
    const RunId run = "run-" + std::to_string(n);
    const auto lease =
        direct.value()->start({.id = run}, std::vector<Record>{lost_answer_record(1)});
    REQUIRE_OK(lease);
    REQUIRE_OK(direct.value()->release(lease.value()));
    const auto store = opened_behind(proxy, std::chrono::milliseconds(300));
    proxy.cut_nth(n, FaultProxy::Cut::question, false);
    erased = store->erase(run).has_value();
    proxy.heal();
    CHECK(server
              .ask("SELECT count(*) FROM triage.records r WHERE NOT EXISTS (SELECT FROM "
                   "triage.runs u WHERE u.birth = r.birth)")
              .value() == "0");
  }
  CHECK(direct.value()->run("run-1").has_value());
}

TEST_CASE("a call to PostgreSQL whose outcome nobody knows leaves no run busy",
          "[stores][postgres][faults]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto direct = PostgresStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  const auto open = [&] { return opened_behind(proxy, std::chrono::milliseconds(300)); };
  strand_nothing(proxy, open, *direct);
  start_again(proxy, *open(), *direct);
}

TEST_CASE("a worker claims no more runs than it asked for, whatever answer gets lost",
          "[stores][postgres][faults]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server) {
    const auto dies = PostgresStore::open(server.url());
    REQUIRE_OK(dies);
    for (int i = 0; i < 9; ++i) {
      REQUIRE_OK(dies.value()->start({.id = "run-" + std::to_string(i), .agent = "a"},
                                     std::vector<Record>{lost_answer_record(1)}));
    }
  }
  FaultProxy proxy(server.port());
  bool fired = true;
  for (int n = 1; fired; ++n) {
    INFO("answer " << n);
    const auto store = opened_behind(proxy, std::chrono::seconds(5));
    proxy.cut_nth(n, FaultProxy::Cut::answer);
    const auto claimed = claim_orphans(*store, "a", 2);
    fired = proxy.fired();
    proxy.heal();
    REQUIRE_OK(claimed);
    CHECK(claimed.value().size() == 2);
  }
}

TEST_CASE("a program's connections to PostgreSQL that throw are an error", "[stores][postgres]") {
  CHECK_ERRC(Errc::invalid_argument, PostgresStore::on(nullptr));
  CHECK_ERRC(Errc::io, PostgresStore::on([]() -> pg_conn* { throw std::runtime_error("no"); }));
}

TEST_CASE(
    "a PostgreSQL server that came back without acknowledged records takes none behind the hole",
    "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto store = PostgresStore::open(server.url()).value();
  const auto lease = store->start({.id = "run-1"}, std::vector<Record>{lost_answer_record(1)});
  REQUIRE_OK(lease);
  for (const Sequence seq : {2U, 3U}) {
    REQUIRE_OK(store->append(lease.value(), std::vector<Record>{lost_answer_record(seq)},
                             RunStatus::running));
  }
  // A possible state after a crash of the server, or on one that takes its place.
  REQUIRE_OK(server.ask("DELETE FROM triage.records WHERE seq > 1"));
  REQUIRE_OK(server.ask("UPDATE triage.runs SET last = 1"));
  const auto refused =
      store->append(lease.value(), std::vector<Record>{lost_answer_record(4)}, RunStatus::running);
  CHECK_ERRC(Errc::corrupt, refused);
  CHECK(refused.error().detail.find("behind 1 up to 3") != std::string::npos);
  CHECK(store->read("run-1", {}).value().records.size() == 1);
  // The next owner continues from what remains.
  REQUIRE_OK(store->release(lease.value()));
  const auto next = store->acquire("run-1");
  REQUIRE_OK(next);
  REQUIRE_OK(
      store->append(next.value(), std::vector<Record>{lost_answer_record(2)}, RunStatus::finished));
  CHECK(store->read("run-1", {}).value().records.size() == 2);
}

TEST_CASE("a PostgreSQL server that says nothing to LISTEN holds no worker up",
          "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  FaultProxy proxy(server.port());
  std::atomic<bool> asked{false};
  proxy.answer_with([&](std::string_view question) {
    const bool listens = question.find("LISTEN") != question.npos;
    if (listens) asked = true;
    return listens ? std::string("N") : std::string();  // The beginning of a notice.
  });
  int connections = 0;
  const auto store = PostgresStore::on([&] {
    const int port = ++connections == 1 ? server.port() : proxy.port();
    return PQconnectdb(("host=127.0.0.1 user=tester dbname=postgres sslmode=disable "
                        "gssencmode=disable port=" +
                        std::to_string(port))
                           .c_str());
  });
  REQUIRE_OK(store);
  wait_for_work(*store.value(), std::chrono::seconds(2), {});
  CHECK(asked);
  std::stop_source stop;
  stop.request_stop();
  wait_for_work(*store.value(), std::chrono::hours(1), stop.get_token());
}

TEST_CASE("a run in PostgreSQL that is compacted in the middle of its reading is read whole",
          "[stores][postgres][compaction]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto owner = PostgresStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  BeforeNth questions;
  BeforeNth answers;
  tell_questions(proxy, questions);
  proxy.watch_answers([&](std::string_view) { answers(); });
  const auto reader = opened_behind(proxy, std::chrono::seconds(10));
  read_while_compacted(questions, "question-", *owner, *reader, 10);
  // So large that the server is still sending rows when the first ones arrive.
  read_while_compacted(answers, "answer-", *owner, *reader, 10'000, 6);
}

TEST_CASE("a run in PostgreSQL whose keys cannot be removed stays, and is erased with them later",
          "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto store = PostgresStore::open(server.url(), {.schema = "e"}).value();
  const auto signals = detail::own_space(detail::OwnSpace::signals);
  const auto lease = store->start({.id = "job"}, {});
  REQUIRE_OK(lease);
  REQUIRE_OK(store->release(lease.value()));
  REQUIRE_OK(store->put_if(signals, "job/approved", 0, "yes"));
  REQUIRE_OK(server.ask("ALTER TABLE e.keys RENAME TO aside"));
  CHECK_FALSE(store->erase("job"));
  REQUIRE_OK(store->run("job"));
  CHECK_FALSE(store->run("job").value().owned);
  REQUIRE_OK(server.ask("ALTER TABLE e.aside RENAME TO keys"));
  REQUIRE_OK(store->erase("job"));
  CHECK(store->list(signals, "").value().empty());
  // What an erasure that was cut off left.
  REQUIRE_OK(store->put_if(signals, "job/approved", 0, "yes"));
  CHECK_ERRC(Errc::not_found, store->erase("job"));
  CHECK(store->list(signals, "").value().empty());
}

TEST_CASE("a run in PostgreSQL that is written to while it is read ends where its facts say",
          "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto direct = PostgresStore::open(server.url()).value();
  FaultProxy proxy(server.port());
  BeforeNth questions;
  tell_questions(proxy, questions);
  const auto reader = opened_behind(proxy, std::chrono::seconds(10));
  bool fired = true;
  for (int n = 1; fired; ++n) {
    INFO("question " << n);
    const RunId run = "run-" + std::to_string(n);
    const auto lease =
        direct->start({.id = run}, std::vector<Record>{lost_answer_record(1)}).value();
    questions.arm(n, [&] {
      CHECK(direct->append(lease, std::vector<Record>{lost_answer_record(2)}, RunStatus::finished));
    });
    const auto reading = reader->read(run, {});
    fired = !questions.armed();
    questions.disarm();
    REQUIRE_OK(reading);
    CHECK(reading.value().records.back().seq() == reading.value().info.last);
  }
}

TEST_CASE("a lease that ends far in the future locks no run on PostgreSQL", "[stores][postgres]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  const auto opened = [&](std::chrono::milliseconds lease) {
    return PostgresStore::open(server.url(), {.lease_timeout = lease}).value();
  };
  const auto ends_in = [&](std::chrono::milliseconds left) {
    REQUIRE_OK(
        server.ask("UPDATE triage.runs SET owner = 'another-boot/1 17 99 1234', until_ms = "
                   "(extract(epoch FROM clock_timestamp()) * 1000)::bigint + " +
                   std::to_string(left.count())));
  };
  const auto store = opened(std::chrono::seconds(30));
  REQUIRE_OK(store->start({.id = "run-1"}, std::vector<Record>{lost_answer_record(1)}));
  ends_in(std::chrono::seconds(55));
  CHECK(store->run("run-1").value().owned);
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  ends_in(std::chrono::hours(24));
  CHECK_FALSE(store->run("run-1").value().owned);
  REQUIRE_OK(store->acquire("run-1"));
  // A host with longer leases keeps its runs, whoever asks.
  const auto patient = opened(std::chrono::hours(1));
  ends_in(std::chrono::minutes(59));
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  CHECK_ERRC(Errc::busy, opened(std::chrono::seconds(30))->acquire("run-1"));
  ends_in(std::chrono::hours(24));
  CHECK_FALSE(patient->run("run-1").value().owned);
}
