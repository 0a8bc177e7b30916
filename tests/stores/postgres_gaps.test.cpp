// SPDX-License-Identifier: MIT
// What lies between two statements of the PostgreSQL store, and between the tries of one.
#include "stores/lost_answers.hpp"
#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/postgres_server.hpp"
#include "support/result.hpp"
#include "triage/orphans.hpp"
#include "triage/stores/postgres.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

#define NEEDS_SERVER(server)                                                   \
  if (!(server).ready()) {                                                     \
    WARN("the server is not installed, or does not start: nothing is tested"); \
    return;                                                                    \
  }

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
