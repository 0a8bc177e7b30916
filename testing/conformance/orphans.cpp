// SPDX-License-Identifier: MIT
// Claiming orphaned runs: parts of ownership, concurrency and crash.
#include "orphans.hpp"

#include "triage/orphans.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace triage::inline v0_1::testing::kit {
namespace {

using enum ClauseGroup;

std::vector<Lease> claim(CheckpointStore& store, std::size_t most = 100,
                         std::string_view agent = {}) {
  return must(claim_orphans(store, agent, most), "claim_orphans()");
}

// A running run without an owner.
void leave(CheckpointStore& store, const RunId& id, const std::string& agent = "worker") {
  Story story(id);
  story.info().agent = agent;
  must(store.release(story.start(store, 1)), "release()");
}

void left_is_claimed(Trial& trial) {
  Story story("run-1");
  const Lease before = story.start(trial.store(), 1);
  must(trial.store().release(before), "release()");
  const auto claimed = claim(trial.store());
  expect_equal(claimed.size(), 1U, "number of claimed runs");
  expect_equal(claimed[0].run, RunId("run-1"), "the claimed run");
  expect(claimed[0].epoch > before.epoch, "the epoch does not grow with a claim");
  refused(Errc::fenced, trial.store().append(before, {}, RunStatus::aborted),
          "the lease before the claim");
  must(trial.store().append(claimed[0], story.steps(2), RunStatus::finished), "append()");
  must(trial.store().release(claimed[0]), "release()");
  expect_equal(all_records(trial.store(), "run-1").size(), 4U, "number of records");
}
void owned_is_not_claimed(Trial& trial) {
  Story story("run-1");
  const Lease lease = story.start(trial.store());
  expect_equal(claim(trial.store()).size(), 0U, "number of claimed runs");
  must(trial.store().append(lease, story.steps(1), RunStatus::running), "append()");
}
void claimed_is_owned(Trial& trial) {
  leave(trial.store(), "run-1");
  const auto claimed = claim(trial.store());
  expect_equal(claimed.size(), 1U, "number of claimed runs");
  expect(must(trial.store().run("run-1"), "run()").owned, "a claimed run is shown as free");
  refused(Errc::busy, trial.store().acquire("run-1"), "acquiring a claimed run");
  expect_equal(claim(trial.store()).size(), 0U, "number of runs that are claimed again");
}
void only_running_is_claimed(Trial& trial) {
  for (const RunStatus status :
       {RunStatus::finished, RunStatus::escalated, RunStatus::aborted, RunStatus::cancelled,
        RunStatus::suspended, RunStatus::failed, RunStatus::poisoned}) {
    Story story("run-" + std::string(to_string(status)));
    const Lease lease = story.start(trial.store());
    must(trial.store().append(lease, story.steps(1), status), "append()");
    must(trial.store().release(lease), "release()");
  }
  const auto claimed = claim(trial.store());
  if (!claimed.empty()) throw Broken{"it claims " + claimed[0].run};
}
void claimed_by_agent(Trial& trial) {
  leave(trial.store(), "run-1", "mine");
  leave(trial.store(), "run-2", "other");
  expect_equal(claim(trial.store(), 100, "nobody").size(), 0U, "runs of an unknown agent");
  const auto mine = claim(trial.store(), 100, "mine");
  expect_equal(mine.size(), 1U, "number of the agent's runs");
  expect_equal(mine[0].run, RunId("run-1"), "the agent's run");
  expect_equal(claim(trial.store()).size(), 1U, "number of runs of any agent");
}
void claims_as_many(Trial& trial) {
  for (int i = 0; i < 7; ++i) leave(trial.store(), "run-" + std::to_string(i));
  // Kept, because dropping the lease may free the run again.
  const auto none = claim(trial.store(), 0);
  expect_equal(none.size(), 0U, "number of runs when none is asked for");
  const auto some = claim(trial.store(), 3);
  expect_equal(some.size(), 3U, "number of runs when 3 are asked for");
  const auto others = claim(trial.store(), 100);
  expect_equal(others.size(), 4U, "number of the others");
}
void claims_nothing(Trial& trial) {
  expect_equal(claim(trial.store()).size(), 0U, "number of runs in an empty store");
}

// All remaining runs are claimed exactly once, by any store.
void shared_out(const std::vector<CheckpointStore*>& stores, std::size_t runs) {
  for (std::size_t i = 0; i < runs; ++i) leave(*stores[0], "run-" + std::to_string(i));
  std::mutex mutex;
  std::multiset<RunId> claimed;
  std::vector<Lease> kept;
  std::string wrong;
  std::vector<std::thread> threads;
  for (CheckpointStore* store : stores) {
    threads.emplace_back([&, store] {
      for (int tries = 0; tries < 5'000; ++tries) {  // Bounds the loop, whatever the store does.
        const auto some = claim_orphans(*store, "worker", 3);
        const std::scoped_lock lock(mutex);
        if (!some && some.error().code != Errc::busy) wrong = some.error().detail;
        for (std::size_t i = 0; some && i < some.value().size(); ++i) {
          claimed.insert(some.value()[i].run);
          kept.push_back(some.value()[i]);
        }
        if (!wrong.empty() || claimed.size() >= runs) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!wrong.empty()) throw Broken{"claim_orphans(): " + wrong};
  expect_equal(claimed.size(), runs, "number of claims");
  expect_equal(std::set<RunId>(claimed.begin(), claimed.end()).size(), runs,
               "number of runs that were claimed");
}
void threads_share_out(Trial& trial) {
  CheckpointStore& store = trial.store();
  shared_out({&store, &store, &store, &store}, 24);
}
void openings_share_out(Trial& trial) {
  const auto one = trial.open();
  const auto two = trial.open();
  const auto three = trial.open();
  shared_out({one.get(), two.get(), three.get()}, 24);
}

void dead_owner_is_claimed(Trial& trial) {
  trial.killed_child([](CheckpointStore& store, const auto& report) {
    for (int i = 0; i < 3; ++i) {
      Story story("run-" + std::to_string(i));
      story.info().agent = "worker";
      const Lease lease = story.start(store, 1);
      report(lease.epoch);
    }
  });
  const auto claimed = claim(trial.store());
  expect_equal(claimed.size(), 3U, "number of the dead owner's runs");
  for (const Lease& lease : claimed) expect(lease.epoch > 1, "the epoch does not grow");
}
void dead_claimer_is_claimed(Trial& trial) {
  leave(trial.store(), "run-1");
  trial.close();
  trial.killed_child([](CheckpointStore& store, const auto& report) {
    report(must(claim_orphans(store, "", 10), "claim_orphans()").size());
  });
  expect_equal(claim(trial.store()).size(), 1U, "number of runs that a dead claimer left");
}

}  // namespace

Clauses orphan_clauses() {
  return {
      {ownership, "claim", "A run that was left is claimed, with a newer epoch, and gone on with.",
       nothing, left_is_claimed},
      {ownership, "claim-owned", "What is owned is not claimed.", nothing, owned_is_not_claimed},
      {ownership, "claim-owns", "A claimed run is owned.", nothing, claimed_is_owned},
      {ownership, "claim-running", "Only what is running is claimed.", nothing,
       only_running_is_claimed},
      {ownership, "claim-agent", "An agent's runs are claimed, or those of all.", nothing,
       claimed_by_agent},
      {ownership, "claim-number", "No more runs are claimed than asked for.", nothing,
       claims_as_many},
      {ownership, "claim-nothing", "Where nothing is left, nothing is claimed.", nothing,
       claims_nothing},
      {concurrency, "claims", "Threads that claim at once share out what is left.", nothing,
       threads_share_out},
      {concurrency, "claims-openings", "Openings that claim at once share out what is left.",
       processes | reopening, openings_share_out},
      {crash, "claim-dead-owner", "What a dead process owned is claimed at once.",
       processes | reopening, dead_owner_is_claimed},
      {crash, "claim-dead-claimer", "What a dead process had claimed is claimed at once.",
       processes | reopening, dead_claimer_is_claimed},
  };
}

}  // namespace triage::inline v0_1::testing::kit
