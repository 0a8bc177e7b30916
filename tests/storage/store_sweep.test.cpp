// SPDX-License-Identifier: MIT
// Every store operation fails once, before or after it takes effect; then the process ends and
// others continue. Whatever failed: what was acknowledged is stored, no effect ran twice, and the
// run completes.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "support/simple_shelf.hpp"
#include "triage/stores/simple.hpp"
#include "triage/testing/flaky_store.hpp"

#include <map>

using namespace triage;
using namespace triage::test;
using testing::FaultPoint;

namespace {

// The outside world: what happened there, and what was acknowledged to it.
struct World {
  std::map<std::string, int> ran{};
  std::vector<std::string> acknowledged{};
  std::vector<CheckpointId> labels{};
  std::string token{};
};

struct SweptWork {
  std::shared_ptr<World> world;

  int operator()(const std::string&, Attempt& attempt) const {
    for (int i = attempt.state().value("i", 0) + 1; i <= 5; ++i) {
      attempt.record_step({.action = "step " + std::to_string(i)});
      if (i % 2 == 0) {
        const std::string key = "pay " + std::to_string(i);
        const auto reconcile = [world = world, key](const EffectCall&) {
          const auto ran = world->ran.find(key);
          return ran == world->ran.end() ? Reconciled::not_done() : Reconciled::done(ran->second);
        };
        attempt.effect(key, [&] { return ++world->ran[key]; }, {.reconcile = Reconcile(reconcile)});
        world->acknowledged.push_back(key);
      }
      if (i == 3) {
        if (const auto label = attempt.checkpoint("three")) world->labels.push_back(label.value());
      }
      attempt.update_state({{"i", i}});
      if (i == 4 && attempt.recovery() == nullptr) throw std::runtime_error("timeout");
    }
    return 5;
  }
};

using Agent = TriageAgent<SweptWork>;

Result<int> call(const Agent& agent, World& world) {
  Result<int> result = agent.run_or_resume("r", "x");
  if (!result && result.error().code == Errc::suspended) {
    if (const auto& waits = result.error().suspension(); waits && !waits->token.empty()) {
      world.token = waits->token;
    }
    result = agent.decide(world.token, RecoveryAction::resume());
    // The decision took effect and its answer got lost, or the token was lost.
    if (!result && result.error().code == Errc::not_found) result = agent.resume_run("r");
  }
  return result;
}

void check(CheckpointStore& store, const World& world) {
  for (const auto& [key, times] : world.ran) {
    INFO(key);
    CHECK(times == 1);
  }
  if (!store.run("r")) {  // Not even its start was stored: nothing was acknowledged.
    CHECK(world.acknowledged.empty());
    CHECK(world.labels.empty());
    return;
  }
  const Journal journal = stored_journal(store, "r");
  CHECK_FALSE(journal.broken_at());
  for (const std::string& key : world.acknowledged) {
    CHECK(journal.effects().at(key).status == EffectState::Status::completed);
  }
  for (const CheckpointId& label : world.labels) REQUIRE_OK(store.load(label));
}

}  // namespace

TEST_CASE("whatever store operation fails, once, another process brings the run to its end",
          "[durability][sweep]") {
  const bool simple = GENERATE(false, true);
  const auto point = GENERATE(FaultPoint::before, FaultPoint::after);
  const auto on_error =
      GENERATE(OnStoreError::by_default, OnStoreError::degrade, OnStoreError::fail);
  const auto mode = GENERATE(WriteMode::deferred, WriteMode::immediate);
  const bool asks = GENERATE(false, true);
  bool undisturbed = false;
  for (std::uint64_t n = 1; !undisturbed; ++n) {
    INFO("operation " << n << ", after " << (point == FaultPoint::after) << ", simple " << simple
                      << ", on error " << static_cast<int>(on_error) << ", mode "
                      << static_cast<int>(mode) << ", asks " << asks);
    REQUIRE(n < 1'000);
    Kit kit;
    const std::shared_ptr<CheckpointStore> inner =
        simple ? make_store(std::make_shared<Shelf>()) : kit.store;
    const auto world = std::make_shared<World>();
    const auto process = [&](std::uint64_t fault) {
      const auto store = testing::FlakyStore::around(inner);
      if (fault > 0) store->fail_nth(fault, point);
      AgentOptions options = kit.with(store);
      options.on_store_error = on_error;
      options.write_mode = mode;
      const Agent agent{SweptWork{world},
                        answers({asks ? RecoveryAction::suspend("may I?")
                                      : RecoveryAction::rollback({.or_start = true})}),
                        options};
      Result<int> result = call(agent, *world);
      undisturbed = store->failures() == 0;
      return result;
    };
    const Result<int> first = process(n);
    const bool was_undisturbed = undisturbed;
    check(*inner, *world);
    if (first) CHECK(inner->run("r").value().status == RunStatus::finished);
    if (was_undisturbed) REQUIRE_OK(first);
    Result<int> last = process(0);
    for (int more = 0; more < 3 && !last; ++more) last = process(0);
    INFO((last ? std::string() : last.error().detail));
    REQUIRE_OK(last);
    CHECK(last.value() == 5);
    check(*inner, *world);
    CHECK(world->ran.size() == 2);
    CHECK(inner->run("r").value().status == RunStatus::finished);
    REQUIRE_OK(inner->acquire("r"));  // No lease is left behind.
    undisturbed = was_undisturbed;
  }
}
