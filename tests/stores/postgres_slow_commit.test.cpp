// SPDX-License-Identifier: MIT
// A connection to PostgreSQL that is lost while the server commits: the repeated statement meets
// the first one, which is still at work.
#include "stores/lost_answers.hpp"
#include "support/catch.hpp"
#include "support/needs_server.hpp"
#include "support/postgres_server.hpp"
#include "support/result.hpp"
#include "triage/orphans.hpp"
#include "triage/stores/postgres.hpp"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

using Session = std::unique_ptr<PGconn, void (*)(PGconn*)>;

// A store whose commits can be held up, each time with the loss of its connection.
class SlowCommits {
 public:
  explicit SlowCommits(const PostgresServer& server) : server_(server) {
    store_ = PostgresStore::on(
                 [this] {
                   PGconn* const made = PQconnectdb(server_.url().c_str());
                   socket_ = PQsocket(made);
                   return made;
                 },
                 {.connections = 1})
                 .value();
    const std::string trigger =
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION triage.held_up()";
    REQUIRE_OK(server_.ask(
        "CREATE FUNCTION triage.held_up() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END';"
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON triage.runs" +
        trigger + ";CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON triage.keys" +
        trigger));
  }

  [[nodiscard]] PostgresStore& store() { return *store_; }

  // Loses the connection while the first statement of `call` commits, which it does when the
  // repeated one waits for it, or when the call is over.
  void lose_during_commit(const std::function<void()>& call) {
    Session gate(PQconnectdb(server_.url().c_str()), PQfinish);
    PQclear(PQexec(gate.get(), "SELECT pg_advisory_lock(7)"));
    std::atomic<bool> over{false};
    std::thread caller([&] {
      call();
      over = true;
    });
    while (waiting() < 1 && !over) std::this_thread::yield();
    ::shutdown(socket_, SHUT_RDWR);
    while (waiting() < 2 && !over) std::this_thread::yield();
    gate.reset();
    caller.join();
    while (waiting() > 0) std::this_thread::yield();
  }

 private:
  [[nodiscard]] int waiting() const {
    return std::stoi(
        server_.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
            .value());
  }

  const PostgresServer& server_;
  std::atomic<int> socket_{-1};
  std::shared_ptr<PostgresStore> store_{};
};

}  // namespace

TEST_CASE("what PostgreSQL commits after its connection was lost is no conflict with itself",
          "[stores][postgres][faults]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  SlowCommits slow(server);
  CheckpointStore& store = slow.store();
  const std::vector<Record> first{lost_answer_record(1)};
  Result<Lease> lease = Error{};
  slow.lose_during_commit([&] { lease = store.start({.id = "run", .agent = "a"}, first); });
  REQUIRE_OK(lease);
  REQUIRE_OK(
      store.append(lease.value(), std::vector<Record>{lost_answer_record(2)}, RunStatus::running));
  REQUIRE_OK(store.release(lease.value()));

  slow.lose_during_commit([&] { lease = store.acquire("run"); });
  REQUIRE_OK(lease);
  CHECK(lease.value().epoch == 2);
  REQUIRE_OK(store.renew(lease.value()));
  REQUIRE_OK(store.release(lease.value()));

  for (const std::uint64_t version : {0U, 1U}) {
    Result<std::uint64_t> put = Error{};
    slow.lose_during_commit([&] { put = store.put_if("s", "k", version, "value"); });
    REQUIRE_OK(put);
    CHECK(put.value() == version + 1);
  }
  // The same value does not make it ours.
  CHECK_ERRC(Errc::conflict, store.put_if("s", "k", 1, "value"));
}

TEST_CASE("a run that PostgreSQL gives away after the connection was lost is free for every worker",
          "[stores][postgres][faults]") {
  const PostgresServer server({"fsync=off"});
  NEEDS_SERVER(server)
  SlowCommits slow(server);
  const auto other = PostgresStore::open(server.url()).value();
  const auto lease =
      other->start({.id = "run", .agent = "a"}, std::vector<Record>{lost_answer_record(1)});
  REQUIRE_OK(lease);
  REQUIRE_OK(other->release(lease.value()));
  Result<std::vector<Lease>> claimed = Error{};
  slow.lose_during_commit([&] { claimed = claim_orphans(slow.store(), "a", 2); });
  REQUIRE_OK(claimed);
  CHECK(claimed.value().empty());
  while (server.ask("SELECT epoch FROM triage.runs").value() != "2") std::this_thread::yield();
  REQUIRE_OK(other->acquire("run"));
}
