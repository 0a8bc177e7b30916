// SPDX-License-Identifier: MIT
// What is stored beside a run's journal goes with it, and fits no later run of the same id.
#include "resume/durable.hpp"

#include "support/temp_folder.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/stores/sqlite.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// A user-written store: its own erase(), the library's erase_keys().
class OwnStore final : public ForwardingStore {
 public:
  explicit OwnStore(std::shared_ptr<CheckpointStore> inner) : ForwardingStore(std::move(inner)) {}
  ~OwnStore() override { stop_queue(); }
  Result<void> erase(const RunId& run) override {
    auto before = read(run, {});
    if (!before) return std::move(before).error();
    if (auto gone = inner().erase(run); !gone) return gone;
    return erase_keys(before.value());
  }
};

std::shared_ptr<CheckpointStore> any_store(const TempFolder& folder) {
  switch (GENERATE(0, 1, 2, 3)) {
    case 0: return MemoryStore::create();
    case 1: return SqliteStore::open(folder.file("runs.db")).value();
    case 2: return std::make_shared<ForwardingStore>(MemoryStore::create());
    default: return std::make_shared<OwnStore>(MemoryStore::create());
  }
}

std::size_t keys_in(CheckpointStore& store) {
  std::size_t all = 0;
  for (const char* space : {"triage/suspensions", "triage/signals", "triage/forks"}) {
    all += store.list(space, "").value().size();
  }
  return all;
}

}  // namespace

TEST_CASE("erasing a run takes its tokens, signals and label along, and nobody else's", "[keys]") {
  Kit kit;
  const TempFolder folder;
  AgentOptions options = kit.with(any_store(folder));
  const TriageAgent agent{&fails_once, answers({asking()}), options};
  for (const char* run : {"r", "r2", "ra"}) {
    const std::string token = token_of(agent.run("x", {.run_id = run}));
    REQUIRE_OK(agent.signal(run, "approval", 1));
  }
  const auto parent = options.store->checkpoints("r").value().front().id;
  static_cast<void>(agent.fork(to_string(parent), {.label = "l", .run = {.run_id = "b"}}));
  const std::size_t before = keys_in(*options.store);
  CHECK(before >= 7);
  SECTION("erase") {
    REQUIRE_OK(options.store->erase("r"));
    CHECK(keys_in(*options.store) == before - 2);
    CHECK(options.store->list("triage/signals", "").value() ==
          std::vector<std::string>{"r2/approval", "ra/approval"});
    REQUIRE_OK(options.store->erase("b"));
    CHECK(options.store->list("triage/forks", "").value().empty());
  }
  SECTION("prune") {
    CHECK(options.store->prune({.keep_newest = 0, .only_ended = false}).value() == 4);
    CHECK(keys_in(*options.store) == 0);
  }
}

TEST_CASE("a new run of an erased run's id is not answered by an old signal", "[keys]") {
  Kit kit;
  const TempFolder folder;
  AgentOptions options = kit.with(any_store(folder));
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.wait("approval", kit.clock->wall_now()).has_value();
                          },
                          answers({RecoveryAction::escalate()}), options};
  REQUIRE_OK(agent.signal("r", "approval", "yes"));
  CHECK(agent.run("x", {.run_id = "r"}).value());
  REQUIRE_OK(agent.signal("other", "approval", "yes"));
  REQUIRE_OK(options.store->erase("r"));
  CHECK_FALSE(agent.run("x", {.run_id = "r"}).value());
}

TEST_CASE("a token decides the run it was given out for, not a later one of that id", "[keys]") {
  Kit kit;
  const TempFolder folder;
  AgentOptions options = kit.with(any_store(folder));
  const TriageAgent agent{&fails_once, answers({asking()}), options};
  const std::string old = token_of(agent.run("x", {.run_id = "r"}));
  const std::string space(triage::detail::own_space(triage::detail::OwnSpace::suspensions));
  const std::string key = options.store->list(space, "").value().front();
  const std::string ticket = options.store->get(space, key).value()->bytes;
  REQUIRE_OK(options.store->erase("r"));
  const std::string current = token_of(agent.run("x", {.run_id = "r"}));
  SECTION("its key is gone") { CHECK_ERRC(Errc::not_found, agent.decide(old, asking())); }
  SECTION("even if a store has kept its key") {
    REQUIRE_OK(options.store->put_if(
        triage::detail::own_space(triage::detail::OwnSpace::suspensions), key, 0, ticket));
    CHECK_ERRC(Errc::not_found, agent.decide(old, RecoveryAction::retry()));
  }
  CHECK(options.store->run("r").value().status == RunStatus::suspended);
  CHECK(agent.decide(current, RecoveryAction::retry()).value() == 2);
}

TEST_CASE("an answered signal goes when its run ends, however it ends", "[keys]") {
  Kit kit;
  const bool aborts = GENERATE(true, false);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            const auto answer = attempt.wait("approval", kit.clock->wall_now());
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return answer->get<int>();
                          },
                          answers({aborts ? RecoveryAction::abort() : RecoveryAction::escalate()}),
                          kit.options()};
  REQUIRE_OK(agent.signal("r", "approval", 7));
  CHECK_FALSE(agent.run("x", {.run_id = "r"}).has_value());
  CHECK(kit.store->list("triage/signals", "").value().empty());
  // It may continue: then the recorded answer holds, and no second one is accepted.
  CHECK_ERRC(Errc::conflict, agent.signal("r", "approval", 8));
  REQUIRE_OK(agent.signal("r", "approval", 7));
  CHECK(kit.store->list("triage/signals", "").value().empty());
  CHECK(agent.resume_run("r", {.revive = true}).value() == 7);
}

TEST_CASE("the answer of a wait holds at once when a run that has ended goes on", "[keys]") {
  Kit kit;
  const WallTime later = kit.clock->wall_now() + std::chrono::hours(1);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            REQUIRE(attempt.checkpoint("here"));
                            attempt.record_step({.action = "ask"});
                            return attempt.wait("approval", later)->get<int>();
                          },
                          FailurePolicy{}, kit.options()};
  REQUIRE_OK(agent.signal("r", "approval", 7));
  CHECK(agent.run("x", {.run_id = "r"}).value() == 7);
  CHECK(agent.resume_run("r", {.from = "here"}).value() == 7);
  CHECK(kit.clock->waits.empty());
}
