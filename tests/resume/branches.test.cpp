// SPDX-License-Identifier: MIT
// What a branch inherits from its origin: keys of effects, and the state to start over from.
#include "effects/effects.hpp"
#include "resume/durable.hpp"

#include "support/temp_folder.hpp"
#include "triage/stores/simple.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/stores/sqlite_receipts.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>
#include <set>

using namespace triage;
using namespace triage::test;

namespace {

// A bank that recognises charges by idempotency key and loses some of its answers.
struct Bank {
  std::set<std::string> charges{};
  int answers_lost = 0;

  int charge(const std::string& key) {
    charges.insert(key);
    if (answers_lost-- > 0) throw std::runtime_error("the answer was lost");
    return static_cast<int>(charges.size());
  }
  Reconcile look() {
    return [this](const EffectCall& call) {
      return charges.contains(call.idempotency_key) ? Reconciled::done(1) : Reconciled::not_done();
    };
  }
};

// Removes the key from all records of effects, as in a journal from before keys were recorded.
void forget_keys(CheckpointStore& store, const RunId& from, const RunId& to) {
  const JournalReading reading = store.read(from, {}).value();
  std::vector<Record> records;
  for (const Record& record : reading.records) {
    Json body = record.body().value();
    body.erase("idempotency_key");
    records.emplace_back(record.seq(), record.kind(), record.time(),
                         std::make_shared<const Json>(std::move(body)));
  }
  RunInfo info = reading.info;
  info.id = to;
  const Lease lease = store.start(info, records).value();
  REQUIRE_OK(store.append(lease, {}, reading.info.status));
  REQUIRE_OK(store.release(lease));
}

// A store of save, load and latest in memory: what a simple store keeps beyond the process.
struct SavedRuns final : SimpleStore {
  std::map<std::string, SavedCheckpoint> by_id{};
  std::map<std::string, SavedCheckpoint> newest{};
  Result<void> save(const SavedCheckpoint& checkpoint) override {
    by_id[checkpoint.id] = checkpoint;
    newest[checkpoint.run] = checkpoint;
    return outcome::success();
  }
  Result<SavedCheckpoint> load(const std::string& id) override {
    const auto found = by_id.find(id);
    if (found == by_id.end()) return Error{Errc::not_found, id};
    return found->second;
  }
  Result<std::optional<SavedCheckpoint>> latest(const std::string& run) override {
    const auto found = newest.find(run);
    if (found == newest.end()) return outcome::success(std::optional<SavedCheckpoint>());
    return outcome::success(std::optional(found->second));
  }
};

}  // namespace

TEST_CASE("a fork does not repeat an effect in doubt that happened in its origin", "[fork]") {
  Kit kit;
  Bank bank;
  bank.answers_lost = 1;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "look"});
                            return attempt.effect(
                                "charge", [&](const std::string& key) { return bank.charge(key); },
                                {.reconcile = bank.look()});
                          },
                          answers({RecoveryAction::suspend("?")}), kit.options()};
  static_cast<void>(token_of(agent.run("x", {.run_id = "origin"})));
  REQUIRE(bank.charges.size() == 1);
  const std::string parent = to_string(kit.store->checkpoints("origin").value().front().id);

  SECTION("in a branch") {
    CHECK(agent.fork(parent, {.run = {.run_id = "b"}}).value() == 1);
    CHECK(stored_journal(*kit.store, "b").effect("charge").idempotency_key ==
          *bank.charges.begin());
  }
  SECTION("in a branch of a branch, and in the origin itself") {
    const auto of_branch = [&] { return to_string(kit.store->checkpoints("b").value().back().id); };
    REQUIRE(agent.fork(parent, {.run = {.run_id = "b"}}).has_value());
    CHECK(agent.fork(of_branch(), {.run = {.run_id = "c"}}).value() == 1);
    CHECK(agent.resume_run("origin").value() == 1);
  }
  SECTION("from a journal that has no keys") {
    // Such a run computed its key from its own id.
    bank.charges.clear();
    forget_keys(*kit.store, "origin", "old");
    bank.charges.insert(detail::idempotency_key("old", "charge", 1, false));
    const std::string old_parent = to_string(kit.store->checkpoints("old").value().front().id);
    CHECK(agent.fork(old_parent, {.run = {.run_id = "b"}}).value() == 1);
    CHECK(agent.resume_run("old").value() == 1);
  }
  CHECK(bank.charges.size() == 1);
}

TEST_CASE("no effect in doubt is undone by both its origin and a branch", "[fork]") {
  Kit kit;
  std::map<std::string, int> charges;  // The bank: by key, each with its own number.
  std::vector<int> refunds;
  bool line_breaks = true;
  const bool arrives = GENERATE(false, true);  // Whether the request arrived before the line broke.
  const bool can_ask = GENERATE(false, true);
  EffectOptions how{.compensate = "refund"};
  if (can_ask) {
    how.reconcile = [&](const EffectCall& call) {
      const auto found = charges.find(call.idempotency_key);
      return found == charges.end() ? Reconciled::not_done() : Reconciled::done(found->second);
    };
  } else {
    how.semantics = EffectSemantics::idempotent;
  }
  AgentOptions options = kit.options();
  options.compensations["refund"] =
      Compensation([&](const EffectCall& call) { refunds.push_back(call.result.get<int>()); });
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        attempt.record_step({.action = "look"});
        attempt.effect(
            "charge",
            [&](const EffectCall& call) {
              const int number = static_cast<int>(charges.size()) + 1;
              const bool broken = std::exchange(line_breaks, false);
              if (!broken || arrives) {
                charges.emplace(call.idempotency_key, number);
              }
              if (broken) throw std::runtime_error("the line broke");
              return charges.at(call.idempotency_key);
            },
            how);
        throw std::runtime_error("no goods");
      },
      answers({RecoveryAction::suspend("?"), RecoveryAction::abort(), RecoveryAction::abort()}),
      options};
  static_cast<void>(token_of(agent.run("x", {.run_id = "origin"})));
  const std::string parent = to_string(kit.store->checkpoints("origin").value().front().id);

  CHECK_ERRC(Errc::aborted, agent.fork(parent, {.run = {.run_id = "b"}}));
  CHECK_ERRC(Errc::aborted, agent.resume_run("origin"));
  // If it certainly did not happen, each run performs its own; otherwise it is one act, which
  // belongs to the origin.
  const bool own = can_ask && !arrives;
  CHECK(charges.size() == (own ? 2 : 1));
  CHECK(refunds == (own ? std::vector{1, 2} : std::vector{1}));
}

TEST_CASE("a fork asks about an undoing in doubt by its origin's key", "[fork]") {
  Kit kit;
  std::vector<std::string> undone;
  std::string asked;
  int charges = 0;
  const bool happened = GENERATE(true, false);
  AgentOptions options = kit.options();
  options.compensations["refund"] = Compensation(
      [&](const EffectCall& call) {
        undone.push_back(call.idempotency_key);
        throw std::runtime_error("the answer was lost");
      },
      [&](const EffectCall& call) {
        if (call.key != "charge" || !undone.empty()) asked = call.idempotency_key;
        return happened ? Reconciled::done() : Reconciled::not_done();
      });
  options.compensation.max_attempts = 1;
  bool can_tell = false;
  AgentOptions blind = options;
  blind.compensations["refund"] = Compensation([&](const EffectCall& call) {
    undone.push_back(call.idempotency_key);
    throw std::runtime_error("the answer was lost");
  });
  const auto work = [&](const std::string&, Attempt& attempt) {
    attempt.record_step({.action = "look"});
    attempt.effect("charge", [&] { ++charges; }, {.compensate = "refund"});
    if (!can_tell) throw std::runtime_error("refused");
  };
  const TriageAgent first{work, answers({RecoveryAction::abort()}), blind};
  CHECK_ERRC(Errc::aborted, first.run("x", {.run_id = "origin"}));
  REQUIRE(undone.size() == 1);
  can_tell = true;
  const TriageAgent second{work, answers({RecoveryAction::abort()}), options};
  const std::string parent = to_string(kit.store->checkpoints("origin").value().front().id);
  CHECK(second.fork(parent).has_value());
  CHECK(asked == undone.front());
  CHECK(charges == (happened ? 2 : 1));
}

TEST_CASE("a fork of a run with receipts leaves one row", "[fork]") {
  const TempFolder folder;
  SQLite::Database database(folder.file("orders.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("CREATE TABLE orders(number INTEGER)");
  const auto receipts = SqliteReceipts::open(database).value();
  DurableKit kit;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "look"});
                            return receipts->effect(attempt, "order", {{"number", 42}}, [&] {
                              database.exec("INSERT INTO orders VALUES(42)");
                              return 7;
                            });
                          },
                          answers({RecoveryAction::escalate()}), kit.on_disk()};
  // Its result cannot be stored, so it is in doubt; the row exists.
  kit.durable->fail_between(kit.durable->operations() + 3, 1'000'000, FlakyStore::Fault::refuses);
  CHECK_FALSE(agent.run("x", {.run_id = "origin"}).has_value());
  kit.durable->repair();
  REQUIRE(database.execAndGet("SELECT count(*) FROM orders").getInt() == 1);
  const Checkpoint at = kit.store->latest("origin").value();
  CHECK(agent.fork(to_string(at.info.id)).value() == 7);
  CHECK(database.execAndGet("SELECT count(*) FROM orders").getInt() == 1);
}

// --- Starting over.

namespace {

// Forks with an edit and starts over in the branch. Returns the second attempt's initial state.
Json started_over(const AgentOptions& options, const RecoveryAction& action) {
  const auto seen = std::make_shared<Json>();
  const TriageAgent agent{
      [seen](const std::string&, Attempt& attempt) {
        if (attempt.run_id() == "origin") {
          attempt.record_step({.action = "one"});
          attempt.update_state({{"page", 1}});
          return;
        }
        *seen = {{"state", attempt.state().json()}, {"steps", attempt.trajectory().size()}};
        attempt.record_step(
            {.action = "two"});  // A checkpoint; of the second attempt, of its start.
        if (attempt.number() > 1) return;
        attempt.update_state({{"page", 2}, {"more", true}});
        throw std::runtime_error("timeout");
      },
      answers({action}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "origin"}));
  const auto parent = options.store->latest("origin").value().info.id;
  REQUIRE_OK(agent.fork(to_string(parent), {.state = {{"rate", 2}}, .run = {.run_id = "branch"}}));
  return *seen;
}

}  // namespace

TEST_CASE("a branch that starts over begins at its branch point, with the edits", "[fork]") {
  Kit kit;
  RecoveryAction to_start = RecoveryAction::rollback(
      RollbackTarget{.kind = RollbackTarget::Kind::label, .name = "none", .or_start = true});
  const auto action = GENERATE_COPY(RecoveryAction::retry(), RecoveryAction::replan(), to_start);
  INFO(to_string(action.kind));
  const Json begins{{"state", {{"page", 1}, {"rate", 2}}}, {"steps", 1}};
  AgentOptions options = kit.options();
  SECTION("with checkpoints of each step") {}
  SECTION("with labelled checkpoints only") { options.auto_checkpoint = false; }
  const bool automatic = options.auto_checkpoint;
  if (!automatic) {
    // Its origin has only the newest position as a checkpoint, which is forked.
    CHECK(started_over(options, action) == begins);
    return;
  }
  CHECK(started_over(options, action) == begins);
  CHECK(stored_journal(*kit.store, "branch").state().json() == begins["state"]);
}

TEST_CASE("the state of a branch that started over is the same from every store", "[fork]") {
  Kit kit;
  const TempFolder folder;
  const auto action = GENERATE(RecoveryAction::retry(), RecoveryAction::replan());
  const Json begins{{"page", 1}, {"rate", 2}};
  AgentOptions options = kit.options();
  SECTION("SQLite") {
    options.store = SqliteStore::open(folder.file("runs.db")).value();
    REQUIRE(started_over(options, action)["state"] == begins);
    const auto checkpoints = options.store->checkpoints("branch").value();
    CHECK(checkpoints.size() > 1);
    for (const CheckpointInfo& info : checkpoints) {
      CHECK(options.store->load_state(info.id).value().json() ==
            options.store->load(info.id).value().state.json());
    }
  }
  SECTION("a simple one, read back by another process") {
    const auto saved = std::make_shared<SavedRuns>();
    options.store = make_store(saved);
    REQUIRE(started_over(options, action)["state"] == begins);
    const auto again = make_store(saved);
    const Journal journal = stored_journal(*again, "branch");
    CHECK(journal.state().json() == begins);
    CHECK(journal.start_sequence() != 0);
  }
}

TEST_CASE("a branch begins with a checkpoint", "[fork]") {
  Kit kit;
  CHECK(started_over(kit.options(), RecoveryAction::retry())["steps"] == 1);
  const Journal branch = stored_journal(*kit.store, "branch");
  const Checkpoint start = kit.store->load({"branch", branch.start_sequence()}).value();
  CHECK(start.state.json() == Json{{"page", 1}, {"rate", 2}});
  CHECK(start.trajectory.size() == 1);
}

TEST_CASE("a refused fork gives its label back", "[fork]") {
  Kit kit;
  const TriageAgent agent{
      [](const std::string&, Attempt& attempt) { attempt.record_step({.action = "one"}); },
      answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "origin"}));
  REQUIRE_OK(agent.run("x", {.run_id = "taken"}));
  const std::string parent = to_string(kit.store->latest("origin").value().info.id);
  CHECK_ERRC(Errc::conflict, agent.fork(parent, {.label = "mine", .run = {.run_id = "taken"}}));
  CHECK(kit.store->list("triage/forks", "").value().empty());
  CHECK(agent.fork(parent, {.label = "mine"}).has_value());
}

TEST_CASE("a label that is held for a run of another label is free", "[fork]") {
  Kit kit;
  const TriageAgent agent{
      [](const std::string&, Attempt& attempt) { attempt.record_step({.action = "one"}); },
      answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "origin"}));
  // A process died between taking the label and finding out that its run exists.
  REQUIRE_OK(kit.store->put_if(triage::detail::own_space(triage::detail::OwnSpace::forks),
                               "agent/mine", 0, "origin"));
  const std::string parent = to_string(kit.store->latest("origin").value().info.id);
  CHECK(agent.fork(parent, {.label = "mine"}).has_value());
}
